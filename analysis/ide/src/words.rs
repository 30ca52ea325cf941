//! Descriptions of staging. Each is a line of Markdown.

use ag_index::assumptions::{Stage, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Binding;
use ag_staging::construct::{Construct, ConstructKind};
use ag_staging::stages::root_name;

/// Describes how a function is staged: "a tf.function", "called from a jitted function".
pub(super) fn stage(stage: &Stage) -> String {
    match stage.root {
        Some(root) => format!("{} ({})", root_name(Some(root)), stage.dialect.as_str()),
        None => format!("called from {} ({})", root_name(Some(stage.mode)), stage.dialect.as_str()),
    }
}

/// Describes how the conditions and loops of a function are treated.
pub(super) fn conversion(stage: &Stage) -> &'static str {
    if stage.converts {
        return "AutoGraph converts it: a condition or loop on a Tensor becomes part of the graph.";
    }
    match (stage.unconverted, stage.dialect) {
        (Some(reason), _) => unconverted(reason),
        (None, Dialect::Torch) => {
            "It is traced: a condition on a Tensor causes a graph break, or an error if a full graph is required."
        }
        (None, _) => "It is traced: a condition or loop on a Tensor is an error.",
    }
}

fn unconverted(reason: Unconverted) -> &'static str {
    match reason {
        Unconverted::Option => "It is not converted, because of `autograph=False`.",
        Unconverted::Keras => "It is not converted: Keras 3 calls methods without converting them.",
        Unconverted::Body => "It is not converted: the library calls it without converting it.",
        Unconverted::Constructor => "It is not converted: constructors run in Python.",
        Unconverted::Protocol => "It is not converted: Python calls it.",
        Unconverted::DoNotConvert => "It is not converted, because of `do_not_convert`.",
        Unconverted::Cached => "It is not converted, because it is cached.",
        Unconverted::Syntax => "It is not converted: AutoGraph does not support its syntax.",
        Unconverted::Caller => "It is not converted: its caller is not converted.",
    }
}

/// Returns the name of a binding time in the dialect: *staged* where AutoGraph converts, *traced* for libraries that
/// only trace.
pub(super) fn binding(binding: Binding, stage: &Stage) -> &'static str {
    match binding {
        Binding::Staged if !stage.dialect.converts() => "traced",
        _ => binding.as_str(),
    }
}

/// Describes where and when a decision is evaluated.
pub(super) fn decision(construct: &Construct, stage: &Stage) -> String {
    let (kind, binding) = (construct.kind, construct.binding);
    let what = match kind {
        ConstructKind::If => "This `if`",
        ConstructKind::While => "This `while`",
        ConstructKind::For => "This `for`",
        ConstructKind::IfExp => "This conditional expression",
        ConstructKind::And => "This `and`",
        ConstructKind::Or => "This `or`",
        ConstructKind::Not => "This `not`",
        ConstructKind::CompareChain => "This chained comparison",
        ConstructKind::Assert => "This `assert`",
        ConstructKind::ComprehensionIf => "This comprehension condition",
    };
    let does = match (binding, kind.is_loop()) {
        (Binding::Staged, true) if stage.converts => "is **staged**: it becomes a loop of the graph",
        (Binding::Staged, false) if stage.converts => "is **staged**: the graph evaluates it",
        (Binding::Staged, _) if stage.dialect.converts() => {
            "is on a **staged** value, which has no Python value yet"
        }
        (Binding::Staged, _) => "is on a **traced** value, which has no Python value yet",
        (Binding::Python, _) if construct.reads_tensor && stage.mode == RootKind::TorchCompile => {
            "is on a number that is read from a Tensor: it needs a graph break, and Python evaluates it on each call"
        }
        (Binding::Python, _) if construct.reads_tensor && stage.mode == RootKind::TorchExport => {
            "is on a number that is read from a Tensor, which has no value yet"
        }
        (Binding::Python, true) => "is **python**: it runs while the graph is built and is unrolled",
        (Binding::Python, false) => "is **python**: it is evaluated once, while the graph is built",
        (Binding::Mixed, _) if stage.dialect.converts() => {
            "is **mixed**: staged for some callers, python for others"
        }
        (Binding::Mixed, _) => "is **mixed**: traced for some callers, python for others",
        (Binding::Unknown, _) => "has an **unknown** binding time",
    };
    format!("{what} {does}.")
}
