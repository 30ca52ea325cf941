//! Tensors where Python needs a number, under torch.compile.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::{compiles, handles_tracing, host_value, is_assumed, snippet};
use ag_db::diagnostic::Severity;
use ag_index::facts::Alternative;

declare_rule! {
    /// ## What it does
    /// Reports conversions of a Tensor to a Python number in a function compiled by `torch.compile`:
    /// `x.item()`, `int(x)`, `float(x)`, `bool(x)`, `x.tolist()`, `range(x)`, an index of a Python list, a
    /// value in an f-string.
    ///
    /// ## Why is this bad?
    /// The compiler traces without values. It inserts a graph break and waits for the device to compute the
    /// number.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def normalise(x):
    ///     return x / x.sum().item()
    ///
    /// normalise(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def normalise(x):
    ///     return x / x.sum()
    ///
    /// normalise(torch.ones(3))
    /// ```
    /// With `torch._dynamo.config.capture_scalar_outputs = True`, or `fullgraph=True`, the numbers stay
    /// symbolic in the graph.
    ///
    /// ## What torch reports
    /// `Unsupported Tensor.item() call with capture_scalar_outputs=False`
    pub(crate) static TORCH_GRAPH_BREAK_ITEM = {
        code: "AG513", name: "torch-graph-break-item",
        summary: "a Tensor used as a Python number causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // With `fullgraph=True`, the numbers stay symbolic and cause no graph break.
    if !compiles(ctx) || ctx.stage.options.full_graph {
        return;
    }
    for expression in ctx.expressions() {
        let Some((what, value)) = number(ctx, expression) else { continue };
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        let severity = if is_assumed(ctx, value) { Severity::Info } else { Severity::Warning };
        ctx.report(
            &TORCH_GRAPH_BREAK_ITEM,
            expression,
            format!("{what} needs the value of `{}`, which causes a graph break", snippet(ctx, value)),
        )
        .severity(severity)
        .why(ctx.why(value))
        .help("keep the Tensor; operators and indexing accept Tensors")
        .emit();
    }
}

fn number<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    if let Some(found) = host_value(ctx, expression) {
        return Some(found);
    }
    match expression {
        Expr::Call(call) => {
            if ctx.builtin(&call.func) == Some("range") {
                let bound = call.arguments.args.iter().find(|bound| is_tensor(ctx, bound))?;
                return Some(("`range()`".to_owned(), bound));
            }
            if ctx.resolve(&call.func).is_some_and(|name| name == "torch.arange") {
                let bound = call.arguments.args.iter().find(|bound| is_tensor(ctx, bound))?;
                return Some(("`torch.arange`".to_owned(), bound));
            }
            let attribute = call.func.as_attribute_expr()?;
            (attribute.attr.as_str() == "tolist" && is_tensor(ctx, &attribute.value))
                .then(|| ("`.tolist()`".to_owned(), &*attribute.value))
        }
        Expr::Subscript(subscript) => {
            let fact = ctx.fact(&subscript.value);
            let is_list = matches!(fact.alternatives.as_slice(), [Alternative::Container { class, .. }] if class == "list" || class == "tuple");
            (is_list && !fact.unknown && is_tensor(ctx, &subscript.slice))
                .then(|| ("the index of a Python sequence".to_owned(), &*subscript.slice))
        }
        Expr::FString(text) if is_used(ctx, expression) => {
            let mut values = text.value.elements().filter_map(|element| element.as_interpolation());
            let formatted = values.find(|value| is_tensor(ctx, &value.expression))?;
            Some(("the f-string".to_owned(), &*formatted.expression))
        }
        _ => None,
    }
}

/// Returns whether the value is assigned or returned, and so certainly needed. The text of an error message, for
/// example, is not always evaluated.
fn is_used(ctx: &FunctionContext, expression: &Expr) -> bool {
    ctx.statements().into_iter().any(|statement| {
        matches!(statement, Stmt::Assign(_) | Stmt::Return(_))
            && statement.range().contains_range(expression.range())
    })
}
