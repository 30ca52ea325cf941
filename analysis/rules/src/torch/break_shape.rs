//! Shapes that depend on values, under torch.compile.

use ruff_python_ast::{Expr, ExprContext};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{is_mask, is_tensor};
use super::{break_severity, compiles, handles_tracing, snippet};

declare_rule! {
    /// ## What it does
    /// Reports operations in a function compiled by `torch.compile` whose output size depends on the values: a
    /// boolean mask as index, `nonzero`, `masked_select`, `argwhere`, `unique`, `bincount`, `repeat_interleave` by a
    /// Tensor, `one_hot` without the number of classes, `torch.where` with only a condition.
    ///
    /// ## Why is this bad?
    /// The compiler needs to know all shapes. If a shape is unknown, it inserts a graph break: PyTorch runs the
    /// operation eagerly between two graphs.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def positive_sum(x):
    ///     return x[x > 0].sum()
    ///
    /// positive_sum(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def positive_sum(x):
    ///     return torch.where(x > 0, x, 0.0).sum()
    ///
    /// positive_sum(torch.ones(3))
    /// ```
    /// With `torch._dynamo.config.capture_dynamic_output_shape_ops = True`, or `fullgraph=True`, the size stays
    /// symbolic in the graph. `one_hot` without the number of classes is an error with `fullgraph=True`.
    ///
    /// ## What torch reports
    /// `Dynamic shape operator: Operator aten.nonzero.default's output shape depends on input Tensor
    /// data.`
    pub(crate) static TORCH_GRAPH_BREAK_SHAPE = {
        code: "AG512", name: "torch-graph-break-shape",
        summary: "a shape that depends on values causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// Functions and methods for which the values of a Tensor determine the size of the output.
const SIZED_BY_VALUES: [&str; 6] =
    ["argwhere", "bincount", "masked_select", "nonzero", "unique", "unique_consecutive"];

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        let Some((what, value)) = sized_by_values(ctx, expression) else { continue };
        // With `fullgraph=True`, the sizes are symbolic and cause no graph break, except the number of classes.
        if ctx.stage.options.full_graph && !is_one_hot(ctx, expression) {
            continue;
        }
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        ctx.report(
            &TORCH_GRAPH_BREAK_SHAPE,
            expression,
            format!(
                "the size of {what} depends on the values of `{}`, which causes a graph break",
                snippet(ctx, value)
            ),
        )
        .severity(break_severity(ctx))
        .why(ctx.why(value))
        .help(match is_one_hot(ctx, expression) {
            true => "pass `num_classes`",
            false => "use `torch.where(mask, x, fill)`, which keeps the shape",
        })
        .emit();
    }
}

pub(super) fn is_one_hot(ctx: &FunctionContext, expression: &Expr) -> bool {
    let call = expression.as_call_expr();
    call.and_then(|call| ctx.resolve(&call.func)).is_some_and(|name| name.ends_with(".one_hot"))
}

/// Returns a description of an operation for which values determine the size of the output, and the Tensor with these
/// values.
pub(super) fn sized_by_values<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    match expression {
        Expr::Subscript(subscript) => {
            let reads = subscript.ctx == ExprContext::Load && is_tensor(ctx, &subscript.value);
            let parts = match &*subscript.slice {
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                other => std::slice::from_ref(other),
            };
            let mask = parts.iter().find(|part| reads && is_mask(ctx, part))?;
            Some((format!("`{}`", snippet(ctx, expression)), mask))
        }
        Expr::Call(call) => match ctx.resolve(&call.func) {
            Some(name) => {
                let function = name.strip_prefix("torch.nn.functional.").or(name.strip_prefix("torch."))?;
                let value = call.arguments.args.first().filter(|value| is_tensor(ctx, value))?;
                let alone = call.arguments.len() == 1;
                let repeats = || call.arguments.args.get(1).is_some_and(|repeats| is_tensor(ctx, repeats));
                (SIZED_BY_VALUES.contains(&function)
                    || matches!(function, "where" | "one_hot") && alone
                    || function == "repeat_interleave"
                        && (alone || repeats() && call.arguments.find_keyword("output_size").is_none()))
                .then(|| (format!("`torch.{function}(…)`"), value))
            }
            None => {
                let attribute = call.func.as_attribute_expr()?;
                let method = attribute.attr.as_str();
                let repeats = method == "repeat_interleave"
                    && call.arguments.find_keyword("output_size").is_none()
                    && call.arguments.args.first().is_some_and(|repeats| is_tensor(ctx, repeats));
                ((SIZED_BY_VALUES.contains(&method) || repeats) && is_tensor(ctx, &attribute.value))
                    .then(|| (format!("`.{method}(…)`"), &*attribute.value))
            }
        },
        _ => None,
    }
}
