//! Code that reads the memory of a Tensor under torch.export: NumPy arrays, addresses, number formats.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::{exports, handles_tracing, snippet};

declare_rule! {
    /// ## What it does
    /// Reports code that reads the memory of a Tensor in an exported module: `x.numpy()`, `x.data_ptr()`,
    /// `copy.deepcopy(x)`, `torch.tensor([x.sum(), 1.0])`, and a number format such as `f"{x:.3f}"`.
    ///
    /// ## Why is this bad?
    /// While `torch.export` traces, Tensors have no memory that can be read, so it raises.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Double(nn.Module):
    ///     def forward(self, x):
    ///         return torch.from_numpy(x.relu().numpy() * 2)
    ///
    /// torch.export.export(Double(), (torch.ones(3),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Double(nn.Module):
    ///     def forward(self, x):
    ///         return x.relu() * 2
    ///
    /// torch.export.export(Double(), (torch.ones(3),))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: .numpy() is not supported for tensor subclasses.`
    pub(crate) static TORCH_EXPORT_HOST = {
        code: "AG524", name: "torch-export-host",
        summary: "an exported module reads the memory of a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !exports(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        let Some((what, value, help)) = read(ctx, expression) else { continue };
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        ctx.report(
            &TORCH_EXPORT_HOST,
            expression,
            format!("{what} needs the value of `{}`, which has no value yet", snippet(ctx, value)),
        )
        .why(ctx.why(value))
        .help(help)
        .emit();
    }
}

/// Returns the expression that reads the memory of a Tensor, the Tensor, and a description of the replacement.
fn read<'a>(
    ctx: &FunctionContext<'a>,
    expression: &'a Expr,
) -> Option<(&'static str, &'a Expr, &'static str)> {
    match expression {
        Expr::FString(text) => {
            let mut values = text.value.elements().filter_map(|element| element.as_interpolation());
            let value = values.find(|value| {
                value.format_spec.as_ref().is_some_and(|format| !format.elements.is_empty())
                    && is_tensor(ctx, &value.expression)
            })?;
            Some(("the number format", &value.expression, "format it outside the exported module"))
        }
        Expr::Call(call) => {
            let argument = call.arguments.args.first();
            match ctx.resolve(&call.func).as_deref() {
                Some("torch.tensor" | "torch.as_tensor") => {
                    let list = argument?.as_list_expr()?;
                    let value = list.elts.iter().find(|element| is_tensor(ctx, element))?;
                    Some(("`torch.tensor`", value, "use `torch.stack`"))
                }
                Some("copy.copy" | "copy.deepcopy") => {
                    let value = argument.filter(|value| is_tensor(ctx, value))?;
                    Some(("a copy", value, "use `.clone()`"))
                }
                Some(_) => None,
                None => {
                    let method =
                        call.func.as_attribute_expr().filter(|method| is_tensor(ctx, &method.value))?;
                    match method.attr.as_str() {
                        "numpy" => {
                            Some(("`.numpy()`", &method.value, "use the equivalent PyTorch operation"))
                        }
                        "data_ptr" => Some(("`.data_ptr()`", &method.value, "compare Tensors with `is`")),
                        _ => None,
                    }
                }
            }
        }
        _ => None,
    }
}
