//! A `while` with an `else` prevents conversion of the function.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `while … else` in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph cannot convert the `else` of a loop. It logs a warning and runs the *whole* function as plain
    /// Python: a decision on a Tensor anywhere in it raises. The finding is reported at the first such decision. If
    /// there is none, it is a warning at the `else`.
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
    /// ## What TensorFlow reports
    /// > while/else statement not yet supported
    pub(crate) static WHILE_ELSE = {
        code: "AG002", name: "while-else",
        summary: "a `while … else` prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "move the `else` body after the loop if there is no `break`; otherwise set a flag in the loop";
    drop(unconverted::check(ctx, &WHILE_ELSE, Unsupported::WhileElse, "the `else` of a `while`", help));
}
