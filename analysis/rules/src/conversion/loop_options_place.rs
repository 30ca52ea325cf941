//! `set_loop_options` must be the first statement of a loop.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds calls of `tf.autograph.experimental.set_loop_options` that are not the first statement of a loop's body.
    ///
    /// ## Why is this bad?
    /// The call is a directive for the loop that contains it. Anywhere else it belongs to no loop: AutoGraph rejects
    /// the whole function and runs it as plain Python, which raises at the loop over a Tensor.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def ones(n: tf.Tensor):
    ///     row = tf.zeros([0])
    ///     for _ in tf.range(n):
    ///         row = tf.concat([row, [1.0]], 0)
    ///         tf.autograph.experimental.set_loop_options(
    ///             shape_invariants=[(row, tf.TensorShape([None]))]
    ///         )
    ///     return row
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def ones(n: tf.Tensor):
    ///     row = tf.zeros([0])
    ///     for _ in tf.range(n):
    ///         tf.autograph.experimental.set_loop_options(
    ///             shape_invariants=[(row, tf.TensorShape([None]))]
    ///         )
    ///         row = tf.concat([row, [1.0]], 0)
    ///     return row
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > "set_loop_options" must be the first statement in the loop block
    ///
    /// > "set_loop_options" must be used inside a statement
    pub(crate) static LOOP_OPTIONS_PLACE = {
        code: "AG011", name: "loop-options-place",
        summary: "`set_loop_options` is not the first statement of a loop",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "move `set_loop_options` to the start of the loop's body";
    drop(unconverted::check(
        ctx,
        &LOOP_OPTIONS_PLACE,
        Unsupported::LoopOptions,
        "a `set_loop_options` that is not the first statement of a loop",
        help,
    ));
}
