//! What breaks the graph of torch.compile, what torch.export refuses, what TorchScript does not compile.

pub(super) mod break_branch;
pub(super) mod break_builtin;
pub(super) mod break_item;
pub(super) mod break_shape;
pub(super) mod export_branch;
pub(super) mod export_host;
pub(super) mod export_item;
pub(super) mod export_state;
pub(super) mod script_branch_type;
pub(super) mod script_container;
pub(super) mod script_global;
pub(super) mod script_loop_type;
pub(super) mod script_none;
pub(super) mod script_return;
mod script_types;
pub(super) mod script_undefined;
pub(super) mod script_unsupported;
pub(super) mod script_untyped;

use ruff_python_ast::{Expr, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::tracing::{self, Certainty, Decision, Origin};
use ag_db::diagnostic::Severity;
use ag_index::dialect::RootKind;
use ag_index::index::last_name;
use ag_staging::construct::{ConstructKind, ConstructNode};

/// torch.compile traces it, and splits the graph where it cannot go on.
fn compiles(ctx: &FunctionContext) -> bool {
    matches!(ctx.stage.mode, RootKind::TorchCompile | RootKind::Configured)
}

/// torch.export traces it, and gives up where it cannot go on.
fn exports(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::TorchExport
}

/// The TorchScript compiler reads its source.
fn scripts(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::TorchScript
}

/// With `fullgraph=True` a graph break is an exception.
fn break_severity(ctx: &FunctionContext) -> Severity {
    if ctx.stage.options.full_graph { Severity::Error } else { Severity::Warning }
}

/// How bad it is when Python needs the truth of a Tensor, given what a certain case is worth. A
/// parameter of unknown type may be a Python value, the more so when nothing is done to it.
fn needs_truth(ctx: &FunctionContext, decision: &Decision, certain: Severity) -> Severity {
    let origin = tracing::origin(ctx, decision.test);
    let severity = match origin {
        // What a module has beside its attributes are parameters and buffers, as a rule.
        Origin::Outside if ctx.fact(decision.test).unknown => certain.min(Severity::Warning),
        _ if ctx.fact(decision.test).unknown => Severity::Info,
        Origin::Assumed if is_bare(decision.test) => Severity::Info,
        Origin::Assumed => certain.min(Severity::Warning),
        Origin::Computed | Origin::Outside => certain,
    };
    match decision.certainty {
        Certainty::Always => severity,
        Certainty::Reached => severity.min(Severity::Warning),
        Certainty::Sometimes => Severity::Info,
    }
}

fn is_bare(test: &Expr) -> bool {
    match test {
        Expr::Name(_) | Expr::Attribute(_) => true,
        Expr::UnaryOp(operation) => operation.op == UnaryOp::Not && is_bare(&operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().any(is_bare),
        _ => false,
    }
}

/// The decisions on Tensors that tracing runs into.
fn decisions<'a>(ctx: &FunctionContext<'a>) -> Vec<Decision<'a>> {
    let mut decisions = tracing::decisions(ctx);
    decisions.retain(|decision| !is_provided_for(ctx, decision.test.range()));
    decisions
}

/// An `assert` without a computed message becomes a check in the graph of torch.compile.
fn is_graph_assert(decision: &Decision) -> bool {
    match decision.node {
        ConstructNode::Assert(node) => {
            node.msg.as_ref().is_none_or(|message| message.is_string_literal_expr())
        }
        _ => false,
    }
}

/// The author asks how the code is run, around `range` or anywhere in a function that asks whether it
/// is compiled. The question is known by its name: packages wrap it, since it has moved between modules.
fn is_provided_for(ctx: &FunctionContext, range: TextRange) -> bool {
    let asks = ctx.expressions().into_iter().any(|expression| {
        last_name(expression).is_some_and(|name| {
            matches!(name.trim_start_matches('_'), "is_compiling" | "is_dynamo_compiling" | "is_exporting")
        })
    });
    asks || asks_around(ctx, range)
}

/// `if not torch.jit.is_scripting(): …` around `range`.
fn asks_around(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.constructs.iter().any(|construct| {
        matches!(construct.kind, ConstructKind::If | ConstructKind::IfExp)
            && construct.range.contains_range(range)
            && ["is_scripting", "is_tracing"].iter().any(|name| ctx.text(construct.test_range).contains(name))
    })
}

fn shown(ctx: &FunctionContext, expression: &Expr) -> String {
    tracing::shown(ctx.text(expression))
}

/// A Tensor whose value Python asks for: `x.item()`, `int(x)`; and how it asks.
fn host_value<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let call = expression.as_call_expr()?;
    if let Some(name) = ctx.builtin(&call.func) {
        let [value] = &*call.arguments.args else { return None };
        let converts = matches!(name, "int" | "float" | "bool" | "complex");
        return (converts && tracing::is_tensor(ctx, value)).then(|| (format!("`{name}()`"), value));
    }
    let attribute = call.func.as_attribute_expr()?;
    (attribute.attr.as_str() == "item" && tracing::is_tensor(ctx, &attribute.value))
        .then(|| ("`.item()`".to_owned(), &*attribute.value))
}

/// A parameter of unknown type that nothing was done to may be a Python number.
fn is_assumed(ctx: &FunctionContext, value: &Expr) -> bool {
    tracing::origin(ctx, value) == Origin::Assumed
}
