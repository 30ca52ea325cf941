//! A staged condition that is not a bool.

use ruff_text_size::Ranged;

use super::branches::framework;
use super::conditions::{staged_tests, tested, wrong_dtype, zero};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_index::facts::DType;

declare_rule! {
    /// ## What it does
    /// Finds staged conditions, and operands of `and` and `or` in them, that are Tensors of numbers or strings.
    ///
    /// ## Why is this bad?
    /// In Python every object has a truth value. In a graph the condition of a staged `if`, `while` or
    /// conditional expression must be a `bool` Tensor.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def drop_empty(mask: tf.Tensor, x: tf.Tensor):
    ///     used = tf.math.count_nonzero(mask)
    ///     if used:
    ///         x = x / tf.cast(used, tf.float32)
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def drop_empty(mask: tf.Tensor, x: tf.Tensor):
    ///     used = tf.math.count_nonzero(mask)
    ///     if used != 0:
    ///         x = x / tf.cast(used, tf.float32)
    ///     return x
    /// ```
    ///
    /// ## Fix safety
    /// The fix adds a comparison with zero or the empty string. It is safe: this is how Python defines the
    /// truth value of a number or string.
    ///
    /// ## What TensorFlow reports
    /// > condition of if statement expected to be `tf.bool` scalar, got Tensor("count_nonzero/Sum:0", shape=(),
    /// > dtype=int64); to use as boolean Tensor, use `tf.cast`; to check for None, use `is not None`
    pub(crate) static COND_DTYPE = {
        code: "AG107", name: "cond-dtype",
        summary: "a staged condition is not a `bool`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for (construct, test) in staged_tests(ctx) {
        for operand in tested(test) {
            let Some(dtype) = wrong_dtype(ctx, operand) else { continue };
            let text = ctx.text(operand.range());
            let message = format!(
                "this condition is {} `{}` Tensor; {} requires a `bool`",
                article(dtype),
                dtype.as_str(),
                framework(ctx),
            );
            let mut report = ctx.report(&COND_DTYPE, operand.range(), message).why(construct.why.clone());
            if !operand.is_named_expr() {
                let repaired = format!("{text} != {}", zero(dtype));
                let edit = Edit::insert(operand.end(), format!(" != {}", zero(dtype)));
                report = report.fix(Applicability::Safe, format!("Write `{repaired}`"), vec![edit]);
            }
            report.help("add a comparison; to test for a missing value, use `is not None`").emit();
        }
    }
}

fn article(dtype: DType) -> &'static str {
    if dtype.as_str().starts_with('i') { "an" } else { "a" }
}
