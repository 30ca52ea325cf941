//! A Variable is made in each trace.

use ruff_text_size::Ranged;

use super::every_trace;
use crate::rules::FunctionContext;
use crate::rules::declare::declare_rule;
use crate::staging::dialect::RootKind;

declare_rule! {
    /// ## What it does
    /// Finds `tf.Variable(…)` in a `tf.function` where it is evaluated in every trace.
    ///
    /// ## Why is this bad?
    /// A `tf.function` may create variables only in its first trace. TensorFlow checks that by tracing twice on the first
    /// call, and raises when the second trace creates a variable too.
    ///
    /// A variable made under a Python condition, as in `if self.v is None:`, is not reported.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def counted(x: tf.Tensor):
    ///     count = tf.Variable(0.0)
    ///     count.assign_add(1.0)
    ///     return x + count
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    /// count = tf.Variable(0.0)
    ///
    ///
    /// @tf.function
    /// def counted(x: tf.Tensor):
    ///     count.assign_add(1.0)
    ///     return x + count
    /// ```
    ///
    /// ## What TensorFlow says
    /// > tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only
    /// > created once or created outside tf.function.
    pub(crate) static VARIABLE_CREATION = {
        code: "AG406", name: "variable-creation",
        summary: "a `tf.function` makes a variable in every trace",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if ctx.root() != Some(RootKind::Function) {
        return;
    }
    every_trace::calls(ctx, &mut |call| {
        if ctx.resolve(&call.func).is_some_and(|name| name == "tensorflow.Variable") {
            let (name, text) = (ctx.def().name.as_str(), ctx.text(call.func.as_ref()));
            ctx.report(
                &VARIABLE_CREATION,
                call.range(),
                format!("`{text}` makes a variable in every trace of `{name}`, which raises"),
            )
            .help("make the variable once, outside of the function")
            .emit();
        }
    });
}
