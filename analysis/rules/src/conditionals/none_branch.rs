//! `None` as an output of a branch of a staged `if` or conditional expression.

use ruff_text_size::TextRange;

use super::branches::{Outcome, condition, framework, outcomes};
use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds values that are `None` at the end of a branch of a staged `if` (`x = None`, `return None`), and
    /// staged conditional expressions with a `None` operand.
    ///
    /// ## Why is this bad?
    /// The outputs of a staged `if` are Tensors, and `None` is not a Tensor: which branch is taken is known
    /// only when the graph runs, and a graph has no `is None`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_positive(x: tf.Tensor):
    ///     if tf.reduce_any(x > 0.0):
    ///         return tf.argmax(x > 0.0)
    ///     return None
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_positive(x: tf.Tensor):
    ///     if tf.reduce_any(x > 0.0):
    ///         return tf.argmax(x > 0.0)
    ///     return tf.constant(-1, tf.int64)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > 'retval_' is None at the end of the else branch.
    pub(crate) static NONE_BRANCH = {
        code: "AG103", name: "none-branch",
        summary: "a branch of a staged `if` outputs `None`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // Only the innermost `if` is reported: TensorFlow rejects it first.
    let mut reported: Vec<(String, TextRange)> = Vec::new();
    for Outcome { construct, range, subject, main, orelse } in outcomes(ctx).into_iter().rev() {
        let (side, holds) = match (main.value.holds_none(), orelse.value.holds_none()) {
            (true, _) => (&main, "holds"),
            (_, true) => (&orelse, "does not hold"),
            _ => continue,
        };
        if reported.iter().any(|(name, range)| *name == subject && construct.range.contains_range(*range)) {
            continue;
        }
        let verb = if side.value == Value::None { "is" } else { "contains" };
        let message = format!(
            "{subject} {verb} `None` when {} {holds}; {} requires Tensors from both branches",
            condition(ctx, construct),
            framework(ctx),
        );
        let mut report = ctx.report(&NONE_BRANCH, range, message).why(construct.why.clone());
        for origin in side.origins.iter().filter(|origin| **origin != range) {
            report = report.label(ctx.span(*origin), "`None` comes from here");
        }
        report.help("use a placeholder of the other branch's type, such as `-1` or `0.0`").emit();
        reported.push((subject, construct.range));
    }
}
