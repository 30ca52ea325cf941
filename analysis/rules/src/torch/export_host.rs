//! NumPy under torch.export.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::{exports, is_provided_for, shown};

declare_rule! {
    /// ## What it does
    /// Reports `x.numpy()` in an exported module.
    ///
    /// ## Why is this bad?
    /// While `torch.export` traces, Tensors have no values that NumPy could have: it raises.
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
    /// ## What torch says
    /// `RuntimeError: .numpy() is not supported for tensor subclasses.`
    pub(crate) static TORCH_EXPORT_HOST = {
        code: "AG524", name: "torch-export-host",
        summary: "a Tensor of an exported module is given to NumPy",
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
            || is_provided_for(ctx, expression.range())
        {
            continue;
        }
        ctx.report(
            &TORCH_EXPORT_HOST,
            expression,
            format!("`{}` has no value yet that NumPy could have", shown(ctx, &attribute.value)),
        )
        .why(ctx.why(&attribute.value))
        .help("Use the operation of PyTorch")
        .emit();
    }
}
