//! Python decisions on Tensors under torch.export.

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing;
use super::{bool_severity, decisions, exports, handles_tracing, host_value, is_assumed, snippet};
use ag_db::diagnostic::Severity;
use ag_index::facts::Binding;

declare_rule! {
    /// ## What it does
    /// Reports Python decisions on the value of a Tensor in an exported module: `if`, `while`, `assert`,
    /// conditional expressions, `and`, `or`, `not`; also after a conversion by `.item()`, `int()`, `float()` or
    /// `bool()`.
    ///
    /// ## Why is this bad?
    /// `torch.export` produces a single graph. It traces without values and cannot select a branch, so it
    /// raises.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Clip(nn.Module):
    ///     def forward(self, x):
    ///         if x.norm() > 1:
    ///             x = x / x.norm()
    ///         return x
    ///
    /// torch.export.export(Clip(), (torch.ones(3),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Clip(nn.Module):
    ///     def forward(self, x):
    ///         return torch.where(x.norm() > 1, x / x.norm(), x)
    ///
    /// torch.export.export(Clip(), (torch.ones(3),))
    /// ```
    /// `torch.cond` evaluates one branch only; `torch._check` replaces an `assert`.
    ///
    /// ## What torch reports
    /// `GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)`
    pub(crate) static TORCH_EXPORT_BRANCH = {
        code: "AG521", name: "torch-export-branch",
        summary: "a Python decision on a Tensor cannot be exported",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

const HELP: &str = "use `torch.where`, or `torch.cond` to evaluate one branch only";

fn check(ctx: &FunctionContext) {
    if !exports(ctx) {
        return;
    }
    for decision in decisions(ctx) {
        let severity = bool_severity(ctx, &decision, Severity::Error);
        let test = snippet(ctx, decision.test);
        let is = if severity == Severity::Info { "may be" } else { "is" };
        let what = tracing::noun_phrase(decision.construct.kind);
        ctx.report(
            &TORCH_EXPORT_BRANCH,
            decision.test,
            format!("`{test}` {is} a Tensor without a value yet: {what} on it cannot be exported"),
        )
        .severity(severity)
        .why(decision.construct.why.clone())
        .help(HELP)
        .emit();
    }
    for (construct, node) in ctx.decisions() {
        if construct.binding != Binding::Python || handles_tracing(ctx, construct.range) {
            continue;
        }
        let Some(test) = node.test().filter(|test| !construct.kind.is_loop() || !test.is_call_expr()) else {
            continue;
        };
        let mut numbers = Numbers { ctx, found: None };
        numbers.visit_expr(test);
        let Some((what, value)) = numbers.found else { continue };
        if is_assumed(ctx, value) {
            continue;
        }
        ctx.report(
            &TORCH_EXPORT_BRANCH,
            test,
            format!(
                "{what} of `{}` has no value yet: {} on it cannot be exported",
                snippet(ctx, value),
                tracing::noun_phrase(construct.kind)
            ),
        )
        .why(ctx.why(value))
        .help(HELP)
        .emit();
    }
}

/// Finds the first `x.item()` or `int(x)`.
struct Numbers<'a, 'c> {
    ctx: &'c FunctionContext<'a>,
    found: Option<(String, &'a Expr)>,
}

impl<'a> SourceOrderVisitor<'a> for Numbers<'a, '_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if self.found.is_none() {
            self.found = host_value(self.ctx, expression);
            source_order::walk_expr(self, expression);
        }
    }
}
