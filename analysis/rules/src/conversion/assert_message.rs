//! With the optional feature ASSERT_STATEMENTS, a computed message prevents conversion of the function.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `assert` statements whose message is not a plain literal, in functions converted with the optional feature
    /// `ASSERT_STATEMENTS` (or `ALL`).
    ///
    /// ## Why is this bad?
    /// Only literal messages are converted. With any other message AutoGraph runs the whole function as plain
    /// Python, and an `assert` on a Tensor raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
    /// def root(x: tf.Tensor):
    ///     assert x >= 0.0, f"negative: {x}"
    ///     return tf.sqrt(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
    /// def root(x: tf.Tensor):
    ///     assert x >= 0.0, "negative"
    ///     return tf.sqrt(x)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > can only convert string messages for now.
    pub(crate) static ASSERT_MESSAGE = {
        code: "AG013", name: "assert-message",
        summary: "with `Feature.ASSERT_STATEMENTS`, a computed `assert` message prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "use a string literal, or call `tf.debugging.Assert`";
    drop(unconverted::check(
        ctx,
        &ASSERT_MESSAGE,
        Unsupported::AssertMessage,
        "the computed message of an `assert`",
        help,
    ));
}
