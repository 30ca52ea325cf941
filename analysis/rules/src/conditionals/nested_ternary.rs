//! A conditional expression within another one: AutoGraph leaves it as Python.

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_staging::construct::ConstructKind;

declare_rule! {
    /// ## What it does
    /// Finds conditional expressions on a Tensor that stand within another conditional expression, whatever that one
    /// tests.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts the outer conditional expression and does not look into it. The inner one stays Python, and
    /// Python cannot ask a Tensor of a graph whether it is true.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def sign(x: tf.Tensor):
    ///     return 1 if x > 0.0 else (-1 if x < 0.0 else 0)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def sign(x: tf.Tensor):
    ///     if x > 0.0:
    ///         return 1
    ///     else:
    ///         return -1 if x < 0.0 else 0
    /// ```
    ///
    /// ## What TensorFlow says
    /// > Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.
    pub(crate) static NESTED_TERNARY = {
        code: "AG113", name: "nested-ternary",
        summary: "a staged conditional expression within another one is not converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, _) in ctx.staged().filter(|(construct, _)| construct.kind == ConstructKind::IfExp) {
        let outer = ctx.constructs.iter().find(|outer| {
            outer.kind == ConstructKind::IfExp
                && outer.range != construct.range
                && outer.range.contains_range(construct.range)
        });
        if let Some(outer) = outer {
            ctx.report(
                &NESTED_TERNARY,
                construct.range,
                "AutoGraph does not convert a conditional expression within another one, but this one tests a Tensor",
            )
            .label(ctx.span(outer.range), "the outer conditional expression")
            .why(construct.why.clone())
            .help("write one of the two as an `if` statement, or bind the inner one to a name first")
            .emit();
        }
    }
}
