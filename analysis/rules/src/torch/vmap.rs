//! Values that torch.vmap does not have.

use ruff_python_ast::{self as ast, Expr};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{self, is_tensor};
use super::break_branch::predicate;
use super::break_shape::sized_by_values;
use super::{bool_severity, decisions, host_value, is_assumed, snippet};
use ag_db::diagnostic::Severity;
use ag_index::dialect::RootKind;

declare_rule! {
    /// ## What it does
    /// Reports code that needs the value of a Tensor in a function that `torch.vmap` maps: Python decisions, `.item()`,
    /// `int()`, `.numpy()`, and operations whose output size depends on the values.
    ///
    /// ## Why is this bad?
    /// The function runs once for the whole batch. Its Tensors stand for all rows, which may have different values, so
    /// torch raises. Arguments that are not mapped (`in_dims=None`) are not affected.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// def normalized(row):
    ///     if row.sum() > 0:
    ///         return row / row.sum()
    ///     return torch.zeros_like(row)
    ///
    /// torch.vmap(normalized)(torch.ones(3, 4))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// def normalized(row):
    ///     return torch.where(row.sum() > 0, row / row.sum(), 0.0)
    ///
    /// torch.vmap(normalized)(torch.ones(3, 4))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow.`
    pub(crate) static TORCH_VMAP = {
        code: "AG602", name: "torch-vmap",
        summary: "a mapped function needs the value of a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

const HELP: &str = "use `torch.where`, which selects for each row";

fn check(ctx: &FunctionContext) {
    if ctx.stage.mode != RootKind::TorchVmap {
        return;
    }
    for decision in decisions(ctx) {
        let severity = bool_severity(ctx, &decision, Severity::Error);
        let is = if severity == Severity::Info { "may differ" } else { "differs" };
        let message = format!(
            "`{}` {is} between the rows of the batch: {} on it raises",
            snippet(ctx, decision.test),
            tracing::noun_phrase(decision.construct.kind)
        );
        report(ctx, decision.test, message, severity, HELP);
    }
    for expression in ctx.expressions() {
        if let Some((what, value, help)) = needed(ctx, expression) {
            let severity = if is_assumed(ctx, value) { Severity::Warning } else { Severity::Error };
            let message =
                format!("{what} needs one value of `{}`, which has one for each row", snippet(ctx, value));
            report(ctx, expression, message, severity, help);
        } else if let Some((what, value)) =
            sized_by_values(ctx, expression).filter(|_| !is_mapped_by_torch(expression))
        {
            let severity = if is_assumed(ctx, value) { Severity::Warning } else { Severity::Error };
            let message = format!("the size of {what} would differ between the rows of the batch");
            report(
                ctx,
                expression,
                message,
                severity,
                "use `torch.where(mask, x, fill)`, which keeps the shape",
            );
        }
    }
}

fn report(ctx: &FunctionContext, at: &Expr, message: String, severity: Severity, help: &'static str) {
    ctx.report(&TORCH_VMAP, at, message).severity(severity).why(ctx.why(at)).help(help).emit();
}

/// The operation that needs a Tensor as a Python value, the Tensor, and the help.
fn needed<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr, &'static str)> {
    if let Some((name, value)) = predicate(ctx, expression) {
        return Some((format!("`{name}`"), value, HELP));
    }
    let compute = "compute with the Tensor itself";
    if let Some((what, value)) = host_value(ctx, expression) {
        return Some((what, value, compute));
    }
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    let name = method.attr.as_str();
    (matches!(name, "tolist" | "numpy") && is_tensor(ctx, &method.value))
        .then(|| (format!("`.{name}()`"), &*method.value, compute))
}

/// Whether torch maps the operation although the size of its result depends on values.
fn is_mapped_by_torch(expression: &Expr) -> bool {
    let Expr::Call(ast::ExprCall { func, .. }) = expression else { return false };
    let name = match &**func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    matches!(name, "bincount" | "one_hot" | "repeat_interleave")
}
