//! NumPy under torch.export.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::{exports, handles_tracing, snippet};

declare_rule! {
    /// ## What it does
    /// Reports `x.numpy()` in an exported module.
    ///
    /// ## Why is this bad?
    /// While `torch.export` traces, Tensors have no values that could be converted to NumPy arrays, so it raises.
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
        summary: "a Tensor in an exported module is converted to a NumPy array",
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
        let Expr::Call(call) = expression else { continue };
        let Expr::Attribute(attribute) = &*call.func else { continue };
        if attribute.attr.as_str() != "numpy"
            || !is_tensor(ctx, &attribute.value)
            || handles_tracing(ctx, expression.range())
        {
            continue;
        }
        ctx.report(
            &TORCH_EXPORT_HOST,
            expression,
            format!(
                "`.numpy()` needs the value of `{}`, which has no value yet",
                snippet(ctx, &attribute.value)
            ),
        )
        .why(ctx.why(&attribute.value))
        .help("use the equivalent PyTorch operation")
        .emit();
    }
}
