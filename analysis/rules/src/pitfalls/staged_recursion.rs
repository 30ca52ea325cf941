//! A recursion that only the value of a Tensor could end, so that tracing it never ends.

use ruff_text_size::{Ranged, TextRange};

use super::every_trace;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_staging::construct::Construct;

declare_rule! {
    /// ## What it does
    /// Finds functions that call themselves in code guarded by conditions on Tensors only.
    ///
    /// ## Why is this bad?
    /// Both branches of a staged `if` are traced. So tracing follows the recursive call whatever the value of the
    /// Tensor is, until Python's recursion limit raises. Several recursive calls below one condition are reported as
    /// one finding, with a label for each call.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def factorial(n: tf.Tensor):
    ///     if n <= 1:
    ///         return tf.ones_like(n)
    ///     else:
    ///         return n * factorial(n - 1)
    ///
    ///
    /// @tf.function
    /// def main(n: tf.Tensor):
    ///     return factorial(n)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def factorial(n: tf.Tensor):
    ///     product = tf.ones_like(n)
    ///     while n > 1:
    ///         product = product * n
    ///         n = n - 1
    ///     return product
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > RecursionError: maximum recursion depth exceeded while calling a Python object
    pub(crate) static STAGED_RECURSION = {
        code: "AG408", name: "staged-recursion",
        summary: "a recursion that only the value of a Tensor could end",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    // There is one finding for each decision, with a label for each recursive call that it guards.
    let mut guarded: Vec<(&Construct, Vec<TextRange>)> = Vec::new();
    every_trace::calls(ctx, &mut |call| {
        let is_itself = ctx.callee(call).is_some_and(|callee| std::ptr::eq(callee, ctx.ast));
        let Some(decision) = decision_of(ctx, call.range()).filter(|_| is_itself) else { return };
        match guarded.iter_mut().find(|(known, _)| std::ptr::eq(*known, decision)) {
            Some((_, calls)) => calls.push(call.range()),
            None => guarded.push((decision, vec![call.range()])),
        }
    });
    let name = ctx.def().name.as_str();
    for (decision, calls) in guarded {
        let message = format!(
            "this condition on a Tensor cannot end the recursion: `{name}` calls itself in every trace"
        );
        let mut report =
            ctx.report(&STAGED_RECURSION, decision.test_range, message).why(decision.why.clone());
        for call in calls {
            report = report.label(ctx.span(call), "traced whatever the condition is");
        }
        report.help("use a `while` loop, or end the recursion with a condition on a Python value").emit();
    }
}

/// Returns the staged decision that appears to guard `range`: the decision around it, or else the last one before it.
fn decision_of<'a>(ctx: &FunctionContext<'a>, range: TextRange) -> Option<&'a Construct> {
    let staged = || ctx.staged().map(|(construct, _)| construct);
    let around = staged().filter(|construct| {
        construct.range.contains_range(range) && !construct.test_range.contains_range(range)
    });
    around.last().or_else(|| staged().filter(|construct| construct.range.end() <= range.start()).last())
}
