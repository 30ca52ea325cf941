//! Indentation that mixes tabs and spaces prevents conversion of a method.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds methods and nested functions whose indentation mixes tabs and spaces.
    ///
    /// ## Why is this bad?
    /// Python accepts a mixture that is the same on each line of a block. To convert a method AutoGraph must
    /// dedent its source, and it rejects mixed indentation. The method then runs as plain Python: a decision on
    /// a Tensor raises.
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
    /// ## What TensorFlow reports
    /// > code mixing tabs and spaces for indentation is not allowed
    pub(crate) static MIXED_INDENTATION = {
        code: "AG010", name: "mixed-indentation",
        summary: "mixed tabs and spaces in the indentation prevent conversion of a function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "indent with spaces only";
    drop(unconverted::check(
        ctx,
        &MIXED_INDENTATION,
        Unsupported::MixedIndentation,
        "tabs and spaces mixed in its indentation",
        help,
    ));
}
