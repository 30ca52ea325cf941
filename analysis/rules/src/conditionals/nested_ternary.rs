//! A conditional expression nested in another one: AutoGraph leaves it as Python.

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_staging::construct::ConstructKind;

declare_rule! {
    /// ## What it does
    /// Finds conditional expressions on a Tensor that are nested in another conditional expression, staged or
    /// not.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts the outer conditional expression only. The inner one stays Python, and Python cannot
    /// get the truth value of a symbolic Tensor.
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
    /// ## What TensorFlow reports
    /// > Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.
    pub(crate) static NESTED_TERNARY = {
        code: "AG113", name: "nested-ternary",
        summary: "a staged conditional expression nested in another one is not converted",
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
                "this conditional expression tests a Tensor, but AutoGraph does not convert a nested conditional expression",
            )
            .label(ctx.span(outer.range), "the outer conditional expression")
            .why(construct.why.clone())
            .help("rewrite one of the two as an `if` statement, or assign the inner one to a variable first")
            .emit();
        }
    }
}
