//! With the optional feature LISTS, `a = b = x` keeps its function from being converted.

use super::unconverted;
use crate::rules::FunctionContext;
use crate::rules::declare::declare_rule;
use crate::syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds assignments with several targets in functions converted with the optional feature `LISTS` (or `ALL`).
    ///
    /// ## Why is this bad?
    /// The conversion of lists does not know them. AutoGraph runs the whole function as plain Python: a decision on a
    /// Tensor raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def positive(x: tf.Tensor):
    ///     a = b = x
    ///     if a < 0.0:
    ///         b = tf.zeros_like(x)
    ///     return b
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def positive(x: tf.Tensor):
    ///     a = x
    ///     b = x
    ///     if a < 0.0:
    ///         b = tf.zeros_like(x)
    ///     return b
    /// ```
    ///
    /// ## What TensorFlow says
    /// > multiple assignment
    pub(crate) static CHAINED_ASSIGNMENT = {
        code: "AG012", name: "chained-assignment",
        summary: "with `Feature.LISTS`, `a = b = x` keeps a function from being converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "write one assignment a line";
    unconverted::check(ctx, &CHAINED_ASSIGNMENT, Unsupported::ChainedAssignment, "a chained assignment (`a = b = …`) with `Feature.LISTS`", help);
}
