//! Python decisions on Tensors under torch.compile.

use ruff_python_ast::{Expr, Pattern, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{self, is_tensor};
use super::value_sizes::{self, SizeUse};
use super::{
    bool_severity, break_severity, compiles, decisions, handles_tracing, is_assumed, is_graph_assert,
    number_decisions, snippet, tensor_guards,
};
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Reports Python decisions on a Tensor in a function compiled by `torch.compile`: `if`, `while`,
    /// conditional expressions, guards of `match`, `and`, `or`, `not`, `any` and `all` of Tensors, and `torch.equal`
    /// and `torch.allclose`, which return a Python bool.
    ///
    /// ## Why is this bad?
    /// The compiler traces without values, so it cannot select a branch. It inserts a graph break: the decision runs in
    /// Python between two graphs, nothing is fused across the break, and each call synchronizes with the device. With
    /// `fullgraph=True` the compiler raises. An `assert` with a constant message is supported: it becomes a check in
    /// the graph.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def clip(x):
    ///     if x.norm() > 1:
    ///         x = x / x.norm()
    ///     return x
    ///
    /// clip(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def clip(x):
    ///     return torch.where(x.norm() > 1, x / x.norm(), x)
    ///
    /// clip(torch.ones(3))
    /// ```
    /// `torch.cond` evaluates one branch only.
    ///
    /// ## What torch reports
    /// `Data-dependent branching: Detected data-dependent branching (e.g. if my_tensor.sum() > 0:).
    /// Dynamo does not support tracing dynamic control flow.`
    pub(crate) static TORCH_GRAPH_BREAK_BRANCH = {
        code: "AG511", name: "torch-graph-break-branch",
        summary: "a Python decision on a Tensor causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for decision in decisions(ctx) {
        if is_graph_assert(&decision) {
            continue;
        }
        let severity = bool_severity(ctx, &decision, break_severity(ctx));
        let test = snippet(ctx, decision.test);
        let what = tracing::noun_phrase(decision.construct.kind);
        let (is, causes) = match severity {
            Severity::Info => ("may be", "would cause"),
            _ => ("is", "causes"),
        };
        ctx.report(
            &TORCH_GRAPH_BREAK_BRANCH,
            decision.test,
            format!("`{test}` {is} a Tensor without a value yet: {what} on it {causes} a graph break"),
        )
        .severity(severity)
        .why(decision.construct.why.clone())
        .help("use `torch.where`, or `torch.cond` to evaluate one branch only")
        .emit();
    }
    for guard in tensor_guards(ctx) {
        let severity = if is_assumed(ctx, guard) { Severity::Info } else { break_severity(ctx) };
        let message = format!(
            "`{}` is a Tensor without a value yet: a `case` with it causes a graph break",
            snippet(ctx, guard)
        );
        ctx.report(&TORCH_GRAPH_BREAK_BRANCH, guard, message)
            .severity(severity)
            .why(ctx.why(guard))
            .help("use `torch.where`, or `torch.cond` to evaluate one branch only")
            .emit();
    }
    for pattern in compared_patterns(ctx) {
        let message = "a Tensor without a value yet is compared with this pattern: it causes a graph break";
        ctx.report(&TORCH_GRAPH_BREAK_BRANCH, pattern, message)
            .severity(break_severity(ctx))
            .help("use `torch.where`, or `torch.cond` to evaluate one branch only")
            .emit();
    }
    // With `fullgraph=True` the numbers are symbolic. A decision on such a number raises an exception.
    for decision in number_decisions(ctx).into_iter().filter(|_| ctx.stage.options.full_graph) {
        ctx.report(
            &TORCH_GRAPH_BREAK_BRANCH,
            decision.test,
            format!(
                "`{}` has no value yet: {} on it cannot be traced",
                snippet(ctx, decision.number),
                decision.what
            ),
        )
        .severity(Severity::Error)
        .why(ctx.why(decision.number))
        .help("use `torch.where`, or `torch.cond` to evaluate one branch only")
        .emit();
    }
    // Without `fullgraph=True`, the operation that selects the rows already causes the graph break.
    let sizes = if ctx.stage.options.full_graph { value_sizes::uses(ctx) } else { Vec::new() };
    for SizeUse { at, what, source } in sizes {
        ctx.report(
            &TORCH_GRAPH_BREAK_BRANCH,
            at,
            format!(
                "the size of `{}` depends on values: {what} on it cannot be traced",
                snippet(ctx, source)
            ),
        )
        .severity(Severity::Error)
        .why(ctx.why(source))
        .help("use `torch.where`, which keeps the shape")
        .emit();
    }
    for expression in ctx.expressions() {
        if let Some((name, value)) = predicate(ctx, expression)
            && !handles_tracing(ctx, expression.range())
        {
            ctx.report(
                &TORCH_GRAPH_BREAK_BRANCH,
                expression,
                format!(
                    "`{name}` needs the value of `{}` to return a Python bool, which causes a graph break",
                    snippet(ctx, value)
                ),
            )
            .severity(break_severity(ctx))
            .why(ctx.why(value))
            .emit();
        }
    }
}

/// Returns the patterns with whose values `match` compares a Tensor: `2` in `match count: case 2: …`.
fn compared_patterns<'a>(ctx: &FunctionContext<'a>) -> Vec<&'a Pattern> {
    let matches = ctx.statements().into_iter().filter_map(Stmt::as_match_stmt);
    let on_tensors = matches.filter(|node| {
        is_tensor(ctx, &node.subject)
            && !is_assumed(ctx, &node.subject)
            && !handles_tracing(ctx, node.range())
    });
    on_tensors
        .filter_map(|node| {
            let mut patterns = node.cases.iter().map(|case| &case.pattern);
            patterns.find(|pattern| match pattern {
                Pattern::MatchValue(_) => true,
                Pattern::MatchOr(any) => any.patterns.first().is_some_and(|it| it.is_match_value()),
                _ => false,
            })
        })
        .collect()
}

/// Returns the name of a function that returns a Python bool, and the Tensor that it tests: `torch.equal(a, b)`,
/// `a.allclose(b)`.
pub(super) fn predicate<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<(&'static str, &'a Expr)> {
    let call = expression.as_call_expr()?;
    if let Some(name) = ctx.builtin(&call.func) {
        let known = ["all", "any"].into_iter().find(|known| *known == name)?;
        let tested = match call.arguments.args.first()? {
            Expr::Generator(generator) => &*generator.elt,
            Expr::ListComp(list) => &*list.elt,
            elements => elements,
        };
        return is_tensor(ctx, tested).then_some((known, tested));
    }
    let (name, value) = match ctx.resolve(&call.func) {
        Some(name) => {
            let function = match name.as_str() {
                "torch.equal" => "torch.equal",
                "torch.allclose" => "torch.allclose",
                "torch._assert" => "torch._assert",
                _ => return None,
            };
            (function, call.arguments.args.first()?)
        }
        None => {
            let attribute = call.func.as_attribute_expr()?;
            let method = match attribute.attr.as_str() {
                "equal" => "equal",
                "allclose" => "allclose",
                _ => return None,
            };
            (method, &*attribute.value)
        }
    };
    is_tensor(ctx, value).then_some((name, value))
}
