//! An assignment expression keeps its function from being converted.

use super::unconverted;
use crate::rules::FunctionContext;
use crate::rules::declare::declare_rule;
use crate::syntax::unsupported::Unsupported;

declare_rule! {
    /// ## What it does
    /// Finds assignment expressions (`:=`) in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph's analysis does not know assignment expressions and gives up on the whole function, which then runs
    /// as plain Python: a decision on a Tensor raises. The finding stands at the first such decision; without one it
    /// is a warning at the `:=`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     if (y := x * 2.0) > 4.0:
    ///         x = y
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     y = x * 2.0
    ///     if y > 4.0:
    ///         x = y
    ///     return x
    /// ```
    ///
    /// ## What TensorFlow says
    /// > AutoGraph could not transform <function doubled> and will run it as-is.
    /// > Cause: (<gast.gast.NamedExpr object>, (y := (x * 2.0)))
    pub(crate) static WALRUS = {
        code: "AG005", name: "walrus",
        summary: "an assignment expression `:=` keeps a function from being converted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "assign in a statement of its own";
    unconverted::check(ctx, &WALRUS, Unsupported::Walrus, "`:=`", help);
}
