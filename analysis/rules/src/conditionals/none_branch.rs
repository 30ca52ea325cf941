//! `None` as what a branch of a staged `if` or ternary gives.

use ruff_text_size::TextRange;

use super::branches::{Outcome, condition, framework, outcomes};
use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds values that are `None` at the end of a branch of a staged `if` (a name bound to `None`, `return None`), and
    /// staged conditional expressions with a `None`.
    ///
    /// ## Why is this bad?
    /// What a staged `if` gives are Tensors, and `None` is not one: which branch is taken is known only when the graph
    /// runs, when there is no Python left to ask `is None`.
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
    /// ## What TensorFlow says
    /// > 'retval_' is None at the end of the else branch.
    pub(crate) static NONE_BRANCH = {
        code: "AG103", name: "none-branch",
        summary: "a branch of a staged `if` gives `None`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // The innermost `if` is the one that is refused.
    let mut blamed: Vec<(String, TextRange)> = Vec::new();
    for Outcome { construct, place, subject, main, orelse } in outcomes(ctx).into_iter().rev() {
        let (side, holds) = match (main.value.holds_none(), orelse.value.holds_none()) {
            (true, _) => (&main, "holds"),
            (_, true) => (&orelse, "does not hold"),
            _ => continue,
        };
        if blamed.iter().any(|(name, range)| *name == subject && construct.range.contains_range(*range)) {
            continue;
        }
        let verb = if side.value == Value::None { "is" } else { "contains" };
        let message = format!(
            "{subject} {verb} `None` when {} {holds}; {} needs Tensors from both branches",
            condition(ctx, construct),
            framework(ctx),
        );
        let mut report = ctx.report(&NONE_BRANCH, place, message).why(construct.why.clone());
        for origin in side.origins.iter().filter(|origin| **origin != place) {
            report = report.label(ctx.span(*origin), "`None` comes from here");
        }
        report
            .help("use a value of the other branch's type that stands for nothing, such as `-1` or `0.0`")
            .emit();
        blamed.push((subject, construct.range));
    }
}
