//! A `while` with an `else` keeps its function from being converted.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `while … else` in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph has no conversion for the `else` of a loop. It warns, and runs the *whole* function as plain
    /// Python: a decision on a Tensor anywhere in it raises. The finding stands at the first such decision; without
    /// one it is a warning at the `else`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     while x < 10.0:
    ///         x = x * 2.0
    ///     else:
    ///         x = x + 1.0
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     while x < 10.0:
    ///         x = x * 2.0
    ///     x = x + 1.0
    ///     return x
    /// ```
    ///
    /// ## What TensorFlow says
    /// > while/else statement not yet supported
    pub(crate) static WHILE_ELSE = {
        code: "AG002", name: "while-else",
        summary: "a `while … else` keeps a function from being converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "without a `break` the `else` always runs: put it after the loop; else set a flag";
    drop(unconverted::check(ctx, &WHILE_ELSE, Unsupported::WhileElse, "the `else` of a `while`", help));
}
