//! Private names (`self.__x`) prevent conversion of the function.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds attributes with two leading and no trailing underscores in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// Python mangles such names with the name of the class. Converted code is compiled outside the class,
    /// where the mangled name is lost; so AutoGraph rejects the whole function and runs it as plain Python. A
    /// decision on a Tensor then raises. The finding is reported at the first such decision. If there is none, it is a
    /// warning at the name.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Clip:
    ///     def __init__(self, limit: float):
    ///         self.__limit = limit
    ///
    ///     @tf.function
    ///     def clip(self, x: tf.Tensor):
    ///         if x > self.__limit:
    ///             x = tf.zeros_like(x) + self.__limit
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Clip:
    ///     def __init__(self, limit: float):
    ///         self._limit = limit
    ///
    ///     @tf.function
    ///     def clip(self, x: tf.Tensor):
    ///         if x > self._limit:
    ///             x = tf.zeros_like(x) + self._limit
    ///         return x
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > mangled names are not yet supported
    pub(crate) static MANGLED_NAME = {
        code: "AG004", name: "mangled-name",
        summary: "a private name like `self.__x` prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "use a single leading underscore";
    drop(unconverted::check(
        ctx,
        &MANGLED_NAME,
        Unsupported::MangledName,
        "a private name (two leading underscores)",
        help,
    ));
}
