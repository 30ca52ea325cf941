//! A `for` with an `else` prevents conversion of the function.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `for … else` in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph cannot convert the `else` of a loop. It logs a warning and runs the *whole* function as plain
    /// Python: an `if`, `while` or `for` on a Tensor in the function, or in functions that it calls, raises.
    ///
    /// If the function contains a decision on a Tensor, the finding is an error at the first such decision,
    /// where TensorFlow raises. Otherwise it is a warning at the `else`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_above(values: tf.Tensor, limit: tf.Tensor):
    ///     found = limit
    ///     for value in values:
    ///         if value > limit:
    ///             found = value
    ///             break
    ///     else:
    ///         found = limit - 1.0
    ///     return found
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_above(values: tf.Tensor, limit: tf.Tensor):
    ///     found = limit - 1.0
    ///     for value in values:
    ///         if value > limit:
    ///             found = value
    ///             break
    ///     return found
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > for/else statement not yet supported
    pub(crate) static FOR_ELSE = {
        code: "AG001", name: "for-else",
        summary: "a `for … else` prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "set a flag in the loop and test it after the loop";
    drop(unconverted::check(ctx, &FOR_ELSE, Unsupported::ForElse, "the `else` of a `for`", help));
}
