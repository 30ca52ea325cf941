//! Functions and other Python objects as outputs of a staged `if`.

use ruff_text_size::TextRange;

use super::branches::{Outcome, framework, outcomes};
use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds names that a branch of a staged `if` binds to an object that a graph cannot represent (a function,
    /// class or module, a set, an instance of a plain class) and that are used after the `if`.
    ///
    /// ## Why is this bad?
    /// Which branch is taken is known only when the graph runs, and a graph can select Tensors, not Python
    /// objects.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def activate(x: tf.Tensor):
    ///     if tf.reduce_mean(x) > 0.0:
    ///         f = tf.nn.relu
    ///     else:
    ///         f = tf.nn.tanh
    ///     return f(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def activate(x: tf.Tensor):
    ///     if tf.reduce_mean(x) > 0.0:
    ///         y = tf.nn.relu(x)
    ///     else:
    ///         y = tf.nn.tanh(x)
    ///     return y
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None
    /// > values; found return value of type function, which is not a Tensor or ExtensionType.
    pub(crate) static BRANCH_TYPE = {
        code: "AG106", name: "branch-type",
        summary: "a branch of a staged `if` outputs a value that is not a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // Only the innermost `if` is reported: TensorFlow rejects it first.
    let mut reported: Vec<(String, TextRange)> = Vec::new();
    for Outcome { construct, range, subject, main, orelse } in outcomes(ctx).into_iter().rev() {
        if main.value.holds_none() || orelse.value.holds_none() {
            continue;
        }
        let (side, unsupported) = match (&main.value, &orelse.value) {
            (Value::Unsupported(unsupported), _) => (&main, unsupported),
            (_, Value::Unsupported(unsupported)) => (&orelse, unsupported),
            _ => continue,
        };
        if reported.iter().any(|(name, range)| *name == subject && construct.range.contains_range(*range)) {
            continue;
        }
        let message = format!(
            "{subject} is {unsupported}; a staged `if` of {} can only output Tensors and structures of Tensors",
            framework(ctx),
        );
        let mut report = ctx.report(&BRANCH_TYPE, range, message).why(construct.why.clone());
        for origin in side.origins.iter().filter(|origin| **origin != range) {
            report = report.label(ctx.span(*origin), format!("{unsupported} here"));
        }
        report.help("move the code that uses it into both branches").emit();
        reported.push((subject, construct.range));
    }
}
