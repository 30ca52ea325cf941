//! Tensors where Python needs a concrete number, under torch.export.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::{exports, handles_tracing, is_assumed, snippet};
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Reports `int(x)` and `range(x)` of a Tensor in an exported module.
    ///
    /// ## Why is this bad?
    /// Both need a concrete number, and `torch.export` traces without values, so it raises. (`x.item()` alone
    /// is accepted; its result stays symbolic.)
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

fn check(ctx: &FunctionContext) {
    if !exports(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        let Expr::Call(call) = expression else { continue };
        let Some(name @ ("int" | "range")) = ctx.builtin(&call.func) else { continue };
        let Some(value) = call.arguments.args.iter().find(|value| is_tensor(ctx, value)) else { continue };
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        let severity = if is_assumed(ctx, value) { Severity::Warning } else { Severity::Error };
        ctx.report(
            &TORCH_EXPORT_ITEM,
            expression,
            format!("`{name}()` needs the value of `{}`, which has no value yet", snippet(ctx, value)),
        )
        .severity(severity)
        .why(ctx.why(value))
        .help("use `.item()` with `torch._check` to constrain the number, or use the size of a Tensor")
        .emit();
    }
}
