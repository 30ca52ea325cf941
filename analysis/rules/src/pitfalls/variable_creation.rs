//! A Variable is created in each trace.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::every_trace;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_index::dialect::RootKind;

declare_rule! {
    /// ## What it does
    /// Finds `tf.Variable(…)`, and Keras layers that are created and called in one expression, in a
    /// `tf.function` if every trace evaluates them.
    ///
    /// ## Why is this bad?
    /// A `tf.function` may create variables only in its first trace. TensorFlow verifies that by tracing twice
    /// on the first call, and raises if the second trace creates a variable too.
    ///
    /// A variable created under a Python condition, as in `if self.v is None:`, is not reported.
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
    /// ## What TensorFlow reports
    /// > tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only
    /// > created once or created outside tf.function.
    pub(crate) static VARIABLE_CREATION = {
        code: "AG406", name: "variable-creation",
        summary: "a `tf.function` creates a variable in every trace",
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
        let created = match call.func.as_ref() {
            // `keras.layers.Dense(2)(x)`
            Expr::Call(layer) => ctx.resolve(&layer.func).filter(|name| has_weights(name)).map(|_| layer),
            _ => ctx.resolve(&call.func).filter(|name| *name == "tensorflow.Variable").map(|_| call),
        };
        if let Some(created) = created {
            let (name, text) = (ctx.def().name.as_str(), ctx.text(created.func.as_ref()));
            ctx.report(
                &VARIABLE_CREATION,
                call.range(),
                format!("`{text}` creates variables in every trace of `{name}`, which raises"),
            )
            .help("create it once, outside the function")
            .emit();
        }
    });
}

/// Keras layers that create weights when they are first called.
fn has_weights(name: &str) -> bool {
    const LAYERS: [&str; 14] = [
        "BatchNormalization",
        "Conv1D",
        "Conv2D",
        "Conv2DTranspose",
        "Conv3D",
        "Dense",
        "DepthwiseConv2D",
        "EinsumDense",
        "Embedding",
        "GRU",
        "LSTM",
        "LayerNormalization",
        "SeparableConv2D",
        "SimpleRNN",
    ];
    name.strip_prefix("keras.layers.").is_some_and(|layer| LAYERS.contains(&layer))
}
