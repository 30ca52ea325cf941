//! A `match` prevents conversion of the function.

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds `match` statements in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph cannot convert `match`, even if the subject is a plain Python value. It runs the whole
    /// function as plain Python: a decision on a Tensor raises. The finding is reported at the first such decision. If
    /// there is none, it is a warning at the `match`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def activate(x: tf.Tensor, kind: str):
    ///     match kind:
    ///         case "relu":
    ///             if x < 0.0:
    ///                 x = tf.zeros_like(x)
    ///         case "tanh":
    ///             x = tf.tanh(x)
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def activate(x: tf.Tensor, kind: str):
    ///     if kind == "relu":
    ///         if x < 0.0:
    ///             x = tf.zeros_like(x)
    ///     elif kind == "tanh":
    ///         x = tf.tanh(x)
    ///     return x
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > AutoGraph could not transform <function activate> and will run it as-is.
    /// > Cause: name node, kind, outside of any statement?
    pub(crate) static MATCH_STATEMENT = {
        code: "AG006", name: "match-statement",
        summary: "a `match` statement prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "use `if` and `elif`";
    drop(unconverted::check(ctx, &MATCH_STATEMENT, Unsupported::Match, "a `match` statement", help));
}
