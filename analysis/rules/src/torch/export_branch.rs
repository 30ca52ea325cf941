//! Python decisions on Tensors under torch.export.

use ruff_python_ast::{CmpOp, Expr};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{self, Origin};
use super::break_branch::predicate;
use super::ordering::comparing;
use super::trace_constant::size_in;
use super::value_sizes::{self, SizeUse};
use super::{
    bool_severity, decisions, exports, handles_tracing, is_assumed, number_decisions, records_symbolically,
    snippet, tensor_guards,
};
use ag_db::diagnostic::Severity;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;
use ruff_text_size::Ranged;

declare_rule! {
    /// ## What it does
    /// Reports in an exported module:
    ///
    /// - Python decisions on the value of a Tensor: `if`, `while`, `assert`, conditional expressions, `and`, `or`,
    ///   `not`, `torch.equal`, `any` of Tensors
    /// - decisions on Tensors converted by `.item()`, `int()`, `float()` or `bool()`
    /// - decisions on sizes that depend on values (`x[x > 0].shape[0]`), and loops over such sizes; under
    ///   `torch.fx.symbolic_trace`, decisions on all sizes, and loops over all values and their conversions
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
    predicates(ctx);
    if records_symbolically(ctx) {
        on_sizes(ctx);
    }
    for SizeUse { at, what, source } in value_sizes::uses(ctx) {
        ctx.report(
            &TORCH_EXPORT_BRANCH,
            at,
            format!(
                "the size of `{}` depends on values: {what} on it cannot be exported",
                snippet(ctx, source)
            ),
        )
        .why(ctx.why(source))
        .help(HELP)
        .emit();
    }
    for decision in number_decisions(ctx) {
        if origin(ctx, decision.number) == Origin::Assumed {
            continue;
        }
        ctx.report(
            &TORCH_EXPORT_BRANCH,
            decision.test,
            format!(
                "`{}` has no value yet: {} on it cannot be exported",
                snippet(ctx, decision.number),
                decision.what
            ),
        )
        .why(ctx.why(decision.number))
        .help(HELP)
        .emit();
    }
    for (construct, node) in ctx.decisions() {
        let tests = construct.kind != ConstructKind::For && !handles_tracing(ctx, construct.range);
        if let Some(Expr::Compare(compare)) = node.test().filter(|_| tests)
            && let ([op @ (CmpOp::In | CmpOp::NotIn)], [container]) = (&*compare.ops, &*compare.comparators)
            && tracing::is_tensor(ctx, container)
        {
            let severity = if is_assumed(ctx, container) { Severity::Warning } else { Severity::Error };
            let keyword = if *op == CmpOp::In { "in" } else { "not in" };
            ctx.report(
                &TORCH_EXPORT_BRANCH,
                compare,
                format!(
                    "`{keyword}` compares with the values of `{}`, which have no value yet",
                    snippet(ctx, container)
                ),
            )
            .severity(severity)
            .why(ctx.why(container))
            .help(HELP)
            .emit();
        }
    }
}

/// Reports decisions on the sizes of Tensors, and loops over sizes, under torch.fx. Sizes are symbolic values in its
/// graphs.
fn on_sizes(ctx: &FunctionContext) {
    let report = |at: &Expr, what: &str, size: &Expr| {
        let message =
            format!("`{}` is a symbolic value for torch.fx: {what} on it raises", snippet(ctx, size));
        ctx.report(&TORCH_EXPORT_BRANCH, at, message)
            .why(ctx.why(size))
            .help("record the module with `torch.export.export`, where sizes are known")
            .emit();
    };
    let mut reported: Vec<&Expr> = Vec::new();
    for (construct, node) in ctx.decisions() {
        let Some(test) = node.test().filter(|_| construct.binding == Binding::Python) else { continue };
        if let Some(size) = size_in(ctx, test).or_else(|| rank_in(ctx, test))
            && !reported.iter().any(|other| other.range().contains_range(test.range()))
        {
            reported.push(test);
            report(test, tracing::noun_phrase(construct.kind), size);
        }
    }
    for expression in ctx.expressions() {
        if let Expr::Call(call) = expression
            && ctx.builtin(&call.func) == Some("range")
            && let Some(size) = call.arguments.args.iter().find_map(|bound| size_in(ctx, bound))
        {
            report(expression, "a `range`", size);
        }
    }
}

/// Returns the property of a Tensor that a decision reads: `x.dim()` in `x.dim() == 4`, `x.dtype` in
/// `x.dtype == torch.float32`.
fn rank_in<'a>(ctx: &FunctionContext, test: &'a Expr) -> Option<&'a Expr> {
    let left = &*test.as_compare_expr()?.left;
    let read = match left {
        Expr::Call(call) if call.arguments.is_empty() => &*call.func,
        other => other,
    };
    let attribute = read.as_attribute_expr()?;
    let is_read = matches!(attribute.attr.as_str(), "dim" | "ndim" | "dtype" | "device");
    (is_read && tracing::is_tensor(ctx, &attribute.value)).then_some(left)
}

/// Reports calls that return a Python bool, or compare Tensors: `torch.equal(a, b)`, `any(v > 0 for v in x)`,
/// `sorted(rows, key=norm)`.
fn predicates(ctx: &FunctionContext) {
    for guard in tensor_guards(ctx) {
        let severity = if is_assumed(ctx, guard) { Severity::Info } else { Severity::Error };
        let message = format!(
            "`{}` is a Tensor without a value yet: a `case` with it cannot be exported",
            snippet(ctx, guard)
        );
        ctx.report(&TORCH_EXPORT_BRANCH, guard, message)
            .severity(severity)
            .why(ctx.why(guard))
            .help(HELP)
            .emit();
    }
    for expression in ctx.expressions() {
        let found = predicate(ctx, expression).or_else(|| comparing(ctx, expression));
        let Some((name, value)) = found else { continue };
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        let severity = if is_assumed(ctx, value) { Severity::Warning } else { Severity::Error };
        ctx.report(
            &TORCH_EXPORT_BRANCH,
            expression,
            format!("`{name}` needs the value of `{}`, which has no value yet", snippet(ctx, value)),
        )
        .severity(severity)
        .why(ctx.why(value))
        .help(HELP)
        .emit();
    }
}

/// Returns where the Tensor in `x.item()` or `int(x)` comes from.
fn origin(ctx: &FunctionContext, number: &Expr) -> Origin {
    let value = number.as_call_expr().and_then(|call| match &*call.func {
        Expr::Attribute(method) => Some(&*method.value),
        _ => call.arguments.args.first(),
    });
    value.map_or(Origin::Computed, |value| tracing::origin(ctx, value))
}
