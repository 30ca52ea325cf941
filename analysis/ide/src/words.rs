//! How staging is said to people, in one line of Markdown each.

use ag_index::assumptions::{Stage, Unconverted};
use ag_index::dialect::Dialect;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;
use ag_staging::stages::root_name;

/// "a tf.function", "called from a jitted function".
pub(super) fn stage(stage: &Stage) -> String {
    match stage.root {
        Some(root) => format!("{} ({})", root_name(Some(root)), stage.dialect.as_str()),
        None => format!("called from {} ({})", root_name(Some(stage.mode)), stage.dialect.as_str()),
    }
}

/// What becomes of its conditions and loops.
pub(super) fn conversion(stage: &Stage) -> &'static str {
    if stage.converts {
        return "AutoGraph converts it: a condition or loop on a Tensor goes into the graph.";
    }
    match (stage.unconverted, stage.dialect) {
        (Some(reason), _) => unconverted(reason),
        (None, Dialect::Torch) => {
            "It is traced: a condition on a Tensor breaks the graph, or is an error where the graph must be whole."
        }
        (None, _) => "It is traced: a condition or loop on a Tensor is an error.",
    }
}

fn unconverted(reason: Unconverted) -> &'static str {
    match reason {
        Unconverted::Option => "It is not converted, because of `autograph=False`.",
        Unconverted::Keras => "It is not converted: Keras 3 calls its methods as they are.",
        Unconverted::Body => "It is not converted: the library calls it as it is.",
        Unconverted::Constructor => "It is not converted: objects are made by Python.",
        Unconverted::Protocol => "It is not converted: Python itself calls it.",
        Unconverted::DoNotConvert => "It is not converted, because of `do_not_convert`.",
        Unconverted::Cached => "It is not converted, because it is cached.",
        Unconverted::Syntax => "It is not converted: AutoGraph does not know its syntax.",
        Unconverted::Caller => "It is not converted: its caller is not.",
    }
}

/// What a decision of that binding does.
pub(super) fn decision(kind: ConstructKind, binding: Binding, stage: &Stage) -> String {
    let what = match kind {
        ConstructKind::If => "This `if`",
        ConstructKind::While => "This `while`",
        ConstructKind::For => "This `for`",
        ConstructKind::IfExp => "This conditional expression",
        ConstructKind::And => "This `and`",
        ConstructKind::Or => "This `or`",
        ConstructKind::Not => "This `not`",
        ConstructKind::CompareChain => "This chain of comparisons",
        ConstructKind::Assert => "This `assert`",
        ConstructKind::ComprehensionIf => "This condition of a comprehension",
    };
    let does = match (binding, kind.is_loop()) {
        (Binding::Staged, true) if stage.converts => "is **staged**: it becomes a loop of the graph",
        (Binding::Staged, false) if stage.converts => "is **staged**: the graph decides",
        (Binding::Staged, _) => "is on a **staged** value, which has no Python value yet",
        (Binding::Python, true) => "is **python**: it runs while the graph is made, once for each turn",
        (Binding::Python, false) => "is **python**: it is decided once, while the graph is made",
        (Binding::Mixed, _) => "is **mixed**: now staged, now python",
        (Binding::Unknown, _) => "is of **unknown** binding time",
    };
    format!("{what} {does}.")
}
