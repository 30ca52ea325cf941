//! Generators are not converted.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds generators that are staged, and generators that contain a decision on a Tensor and that staged code calls.
    ///
    /// ## Why is this bad?
    /// AutoGraph does not convert generators. A generator may be called, but its body runs as plain Python: an
    /// `if` on a Tensor raises. A generator that is itself a `tf.function` returns a generator object, which is
    /// not a Tensor.
    ///
    /// A `yield` in a *nested* function also prevents conversion of the enclosing function.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def clipped(values: list[tf.Tensor]):
    ///     for value in values:
    ///         if value > 1.0:
    ///             value = tf.constant(1.0)
    ///         yield value
    ///
    ///
    /// @tf.function
    /// def total(values: tf.Tensor):
    ///     sum = tf.constant(0.0)
    ///     for value in clipped(tf.unstack(values, num=3)):
    ///         sum += value
    ///     return sum
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def clipped(value: tf.Tensor):
    ///     if value > 1.0:
    ///         value = tf.constant(1.0)
    ///     return value
    ///
    ///
    /// @tf.function
    /// def total(values: tf.Tensor):
    ///     sum = tf.constant(0.0)
    ///     for value in tf.unstack(values, num=3):
    ///         sum += clipped(value)
    ///     return sum
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > generators are not supported
    ///
    /// > To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or
    /// > None values; in compilation of <function generator>, found return value of type generator, which is not a
    /// > Tensor or ExtensionType.
    pub(crate) static GENERATOR = {
        code: "AG003", name: "generator",
        summary: "a generator is not converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "write the values into a `tf.TensorArray`, or yield them from a `tf.data.Dataset`";
    drop(unconverted::check(ctx, &GENERATOR, Unsupported::Yield, "its `yield`", help));
}
