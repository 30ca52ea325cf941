//! AG218: a TensorArray without a size.

use ruff_python_ast::Expr;

use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds `tf.TensorArray(dtype)` without `size=` in traced functions.
    ///
    /// ## Why is this bad?
    /// A TensorArray needs an initial size, also with `dynamic_size=True`. TensorFlow raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n: tf.Tensor):
    ///     rows = tf.TensorArray(tf.int32, dynamic_size=True)
    ///     for i in tf.range(n):
    ///         rows = rows.write(i, i * i)
    ///     return rows.stack()
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n: tf.Tensor):
    ///     rows = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    ///     for i in tf.range(n):
    ///         rows = rows.write(i, i * i)
    ///     return rows.stack()
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > ValueError: Argument `size` must be provided if argument `flow` is not provided.
    pub(crate) static TENSORARRAY_SIZE = {
        code: "AG218", name: "tensorarray-size",
        summary: "a TensorArray is created without a size",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let arguments = &call.arguments;
        let is_array = ctx.resolve(&call.func).is_some_and(|name| name == "tensorflow.TensorArray");
        let is_open = arguments.args.iter().any(Expr::is_starred_expr)
            || arguments.keywords.iter().any(|keyword| {
                keyword.arg.as_ref().is_none_or(|name| matches!(name.as_str(), "size" | "flow" | "handle"))
            });
        if is_array && arguments.args.len() < 2 && !is_open {
            ctx.report(&TENSORARRAY_SIZE, call, "this TensorArray is created without `size`, which raises")
                .help("pass `size=0, dynamic_size=True`")
                .emit();
        }
    }
}
