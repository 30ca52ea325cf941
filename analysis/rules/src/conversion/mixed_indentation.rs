//! Tabs within blanks, or blanks within tabs, keep a method from being converted.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds methods and nested functions whose lines are indented with both tabs and blanks.
    ///
    /// ## Why is this bad?
    /// Python accepts a mixture that is the same on each line of a block. To convert a method on its own AutoGraph has
    /// to move it to the left, and it refuses to do so with a mixture. The method then runs as plain Python: a decision
    /// on a Tensor raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Clip:
    ///     @tf.function
    ///     def clip(self, x: tf.Tensor):
    ///     	if x < 0.0:
    ///     		x = tf.zeros_like(x)
    ///     	return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Clip:
    ///     @tf.function
    ///     def clip(self, x: tf.Tensor):
    ///         if x < 0.0:
    ///             x = tf.zeros_like(x)
    ///         return x
    /// ```
    ///
    /// ## What TensorFlow says
    /// > code mixing tabs and spaces for indentation is not allowed
    pub(crate) static MIXED_INDENTATION = {
        code: "AG010", name: "mixed-indentation",
        summary: "tabs and blanks mixed in the indentation keep a function from being converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "indent with blanks only";
    drop(unconverted::check(
        ctx,
        &MIXED_INDENTATION,
        Unsupported::MixedIndentation,
        "tabs and blanks mixed in its indentation",
        help,
    ));
}
