//! `not` of a Tensor that is not a bool.

use ruff_text_size::Ranged;

use super::branches::framework;
use super::conditions::{tested, wrong_dtype, zero};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_staging::construct::ConstructNode;

declare_rule! {
    /// ## What it does
    /// Finds `not` applied to a Tensor of numbers or strings.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts `not` on a Tensor to `tf.logical_not`, which is defined for `bool` only.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def mean(values: tf.Tensor):
    ///     count = tf.size(values)
    ///     if not count:
    ///         return 0.0
    ///     return tf.reduce_sum(values) / tf.cast(count, tf.float32)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def mean(values: tf.Tensor):
    ///     count = tf.size(values)
    ///     if count == 0:
    ///         return 0.0
    ///     return tf.reduce_sum(values) / tf.cast(count, tf.float32)
    /// ```
    ///
    /// ## Fix safety
    /// The fix replaces `not` by a comparison with zero or the empty string. It is safe: this is how Python
    /// defines `not` of a number or string.
    ///
    /// ## What TensorFlow reports
    /// > Input 'x' of 'LogicalNot' Op has type int32 that does not match expected type of bool.
    pub(crate) static NOT_NONBOOL = {
        code: "AG109", name: "not-nonbool",
        summary: "`not` of a Tensor that is not a `bool`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Always,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.staged() {
        let ConstructNode::Not(negation) = node else { continue };
        // Negations, comparisons and conjunctions are `bool`, or are checked as separate conditions.
        let operands = tested(&negation.operand);
        let [operand] = operands.as_slice() else { continue };
        let Some(dtype) = wrong_dtype(ctx, operand).filter(|_| !operand.is_named_expr()) else { continue };
        let message =
            format!("`not` of a `{}` Tensor; {} requires a `bool`", dtype.as_str(), framework(ctx),);
        let repaired = format!("{} == {}", ctx.text(operand.range()), zero(dtype));
        ctx.report(&NOT_NONBOOL, negation.range(), message)
            .why(construct.why.clone())
            .fix(
                Applicability::Safe,
                format!("Write `{repaired}`"),
                vec![Edit::replace(negation.range(), repaired.clone())],
            )
            .help("use a comparison; to test for a missing value, use `is None`")
            .emit();
    }
}
