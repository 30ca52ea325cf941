//! Python decisions on Tensors under torch.compile.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{self, is_tensor};
use super::{break_severity, compiles, decisions, is_graph_assert, is_provided_for, needs_truth, shown};
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Reports decisions that Python takes on a Tensor in a function compiled by `torch.compile`: `if`,
    /// `while`, conditional expressions, `and`, `or`, `not`, and `torch.equal` and `torch.allclose`,
    /// whose answer is a Python bool.
    ///
    /// ## Why is this bad?
    /// The compiler traces without values, so it cannot know which way to go. It ends the graph there,
    /// lets Python decide, and begins another graph: nothing is fused across the break, and each call
    /// waits for the device. With `fullgraph=True` it raises. An `assert` with a constant message is
    /// fine; it becomes a check in the graph.
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
    /// `torch.cond` evaluates one side only.
    ///
    /// ## What torch says
    /// `Data-dependent branching: Detected data-dependent branching (e.g. if my_tensor.sum() > 0:).
    /// Dynamo does not support tracing dynamic control flow.`
    pub(crate) static TORCH_GRAPH_BREAK_BRANCH = {
        code: "AG511", name: "torch-graph-break-branch",
        summary: "a Python decision on a Tensor breaks the graph",
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
        let severity = needs_truth(ctx, &decision, break_severity(ctx));
        let test = shown(ctx, decision.test);
        let what = tracing::spelled(decision.construct.kind);
        let (may, breaks) = match severity {
            Severity::Info => ("may be", "would break"),
            _ => ("is", "breaks"),
        };
        ctx.report(
            &TORCH_GRAPH_BREAK_BRANCH,
            decision.test,
            format!("`{test}` {may} a Tensor without a value yet: {what} on it {breaks} the graph"),
        )
        .severity(severity)
        .why(decision.construct.why.clone())
        .help("Use `torch.where`, or `torch.cond` when only one side should be computed")
        .emit();
    }
    for expression in ctx.expressions() {
        if let Some((name, value)) = answer(ctx, expression)
            && !is_provided_for(ctx, expression.range())
        {
            ctx.report(
                &TORCH_GRAPH_BREAK_BRANCH,
                expression,
                format!("`{name}` answers with a Python bool, which needs the values of `{}`: it breaks the graph", shown(ctx, value)),
            )
            .severity(break_severity(ctx))
            .why(ctx.why(value))
            .emit();
        }
    }
}

/// `torch.equal(a, b)`, `a.allclose(b)`.
fn answer<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<(&'static str, &'a Expr)> {
    let call = expression.as_call_expr()?;
    let (name, value) = match ctx.resolve(&call.func) {
        Some(name) => {
            let function = match name.as_str() {
                "torch.equal" => "torch.equal",
                "torch.allclose" => "torch.allclose",
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
