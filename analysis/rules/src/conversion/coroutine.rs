//! Coroutines are not converted.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `async def` functions that are staged.
    ///
    /// ## Why is this bad?
    /// The body of a coroutine runs when it is awaited, which does not happen while a graph is traced. As a
    /// `tf.function` it returns a coroutine object, which is not a Tensor; called from a `tf.function`, it is
    /// not converted.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// async def positive(x: tf.Tensor):
    ///     if x < 0.0:
    ///         x = tf.zeros_like(x)
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def positive(x: tf.Tensor):
    ///     if x < 0.0:
    ///         x = tf.zeros_like(x)
    ///     return x
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > Unknown node type <gast.gast.AsyncFunctionDef object>
    pub(crate) static COROUTINE = {
        code: "AG007", name: "coroutine",
        summary: "an `async def` is not converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "make it a plain `def`";
    drop(unconverted::check(ctx, &COROUTINE, Unsupported::Async, "`async def`", help));
}
