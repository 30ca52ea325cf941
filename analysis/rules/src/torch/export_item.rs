//! Tensors where Python needs a concrete number, under torch.export.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::break_item::scalar_index;
use super::break_shape::is_one_hot;
use super::{exports, handles_tracing, host_values, is_assumed, records_symbolically, snippet};
use ag_db::diagnostic::Severity;
use ag_index::facts::Alternative;

declare_rule! {
    /// ## What it does
    /// Reports code that needs the value of a Tensor as a Python number in an exported module: `int(x)`, `float(x)` and
    /// `range(x)`. For the result of `x.item()`, it reports these uses, the use as the index of a list, and the use as
    /// an argument of functions such as `math.sqrt`.
    ///
    /// ## Why is this bad?
    /// This code needs a concrete number, but `torch.export` traces without values, so it raises. (`x.item()` alone is
    /// accepted; its result stays symbolic.)
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Zeros(nn.Module):
    ///     def forward(self, x):
    ///         return torch.zeros(int(x.max()))
    ///
    /// torch.export.export(Zeros(), (torch.tensor([2, 3]),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Zeros(nn.Module):
    ///     def forward(self, x):
    ///         size = x.max().item()
    ///         torch._check(size >= 0)
    ///         return torch.zeros(size)
    ///
    /// torch.export.export(Zeros(), (torch.tensor([2, 3]),))
    /// ```
    ///
    /// ## What torch reports
    /// `GuardOnDataDependentSymNode: Could not extract specialized integer from data-dependent
    /// expression u0`
    pub(crate) static TORCH_EXPORT_ITEM = {
        code: "AG522", name: "torch-export-item",
        summary: "a Tensor used as a Python integer cannot be exported",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// The functions of `math` that convert to a Python float.
const FLOAT_FUNCTIONS: [&str; 9] = ["cos", "exp", "isfinite", "isnan", "log", "log2", "sin", "sqrt", "tanh"];

fn check(ctx: &FunctionContext) {
    if !exports(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        if let Some((what, value)) = needed(ctx, expression, &|value| host_values::number(ctx, value))
            && !handles_tracing(ctx, expression.range())
        {
            let severity = if is_assumed(ctx, value) { Severity::Warning } else { Severity::Error };
            ctx.report(
                &TORCH_EXPORT_ITEM,
                expression,
                format!("{what} needs the value of `{}`, which has no value yet", snippet(ctx, value)),
            )
            .severity(severity)
            .why(ctx.why(value))
            .help("use `.item()` with `torch._check` to constrain the number, or use the size of a Tensor")
            .emit();
        }
    }
}

/// Returns the operation that needs a Python number, and its operand: a Tensor, or a number that is read from a Tensor.
fn needed<'a>(
    ctx: &FunctionContext<'a>,
    expression: &'a Expr,
    number: &dyn Fn(&'a Expr) -> Option<&'a Expr>,
) -> Option<(String, &'a Expr)> {
    match expression {
        Expr::Call(call) => {
            let values = &*call.arguments.args;
            if let Some(name @ ("int" | "float" | "range")) = ctx.builtin(&call.func) {
                let value = values.iter().find_map(|value| {
                    let direct = is_tensor(ctx, value).then_some(value);
                    direct.or_else(|| is_read(value).then(|| number(value)).flatten())
                })?;
                return Some((format!("`{name}()`"), value));
            }
            if is_one_hot(ctx, expression)
                && call.arguments.len() == 1
                && let Some(value) = values.first().filter(|value| is_tensor(ctx, value))
                && !records_symbolically(ctx)
            {
                return Some(("`one_hot` without `num_classes`".to_owned(), value));
            }
            let name = ctx.resolve(&call.func)?;
            let function =
                name.strip_prefix("math.").filter(|function| FLOAT_FUNCTIONS.contains(function))?;
            let value = values.iter().find_map(|value| {
                let direct = is_tensor(ctx, value).then_some(value);
                direct.or_else(|| is_read(value).then(|| number(value)).flatten())
            })?;
            Some((format!("`math.{function}`"), value))
        }
        Expr::Subscript(subscript) => {
            if let Some(found) = scalar_index(ctx, expression).filter(|_| !records_symbolically(ctx)) {
                return Some(found);
            }
            let sequence = matches!(&*subscript.value, Expr::List(_) | Expr::Tuple(_))
                || matches!(
                    ctx.fact(&subscript.value).alternatives.as_slice(),
                    [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "tuple" | "dict")
                );
            let value = number(&subscript.slice).filter(|_| sequence && is_read(&subscript.slice))?;
            Some(("the index of a Python container".to_owned(), value))
        }
        _ => None,
    }
}

/// Returns whether a value is a conversion such as `x.item()`, or a name that is bound to one.
fn is_read(value: &Expr) -> bool {
    value.is_name_expr() || value.is_call_expr()
}
