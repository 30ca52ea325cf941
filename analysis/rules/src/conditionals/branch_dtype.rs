//! Branches of a staged `if` or conditional expression with different dtypes.

use super::branches::{Outcome, condition, framework, outcomes};
use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_index::facts::DType;

declare_rule! {
    /// ## What it does
    /// Finds values whose dtype at the end of one branch of a staged `if` or conditional expression differs from their
    /// dtype at the end of the other branch.
    ///
    /// ## Why is this bad?
    /// Every output of a staged `if` is one Tensor, and a Tensor has one dtype. TensorFlow does not convert the values
    /// of the branches to a common dtype, not even Python numbers: `1` is an `int32`, and `2.0` is a `float32`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def step_size(loss: tf.Tensor):
    ///     if loss > 1.0:
    ///         rate = 1
    ///     else:
    ///         rate = 0.1
    ///     return rate
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def step_size(loss: tf.Tensor):
    ///     if loss > 1.0:
    ///         rate = 1.0
    ///     else:
    ///         rate = 0.1
    ///     return rate
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > 'rate' has dtype int32 in the main branch, but dtype float32 in the else branch
    pub(crate) static BRANCH_DTYPE = {
        code: "AG104", name: "branch-dtype",
        summary: "the branches of a staged `if` have different dtypes",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for Outcome { construct, range, subject, main, orelse } in outcomes(ctx) {
        let Some((first, second)) = different(&main.value, &orelse.value) else { continue };
        let is_whole = matches!(main.value, Value::Leaf(_));
        let message = format!(
            "{subject} {} `{}` when {} holds, but `{}` otherwise; {} requires the same dtype in both branches",
            if is_whole { "is" } else { "contains" },
            first.as_str(),
            condition(ctx, construct),
            second.as_str(),
            framework(ctx),
        );
        let mut report = ctx.report(&BRANCH_DTYPE, range, message).why(construct.why.clone());
        for (side, dtype) in [(&main, first), (&orelse, second)] {
            for origin in side.origins.iter().filter(|_| is_whole) {
                report = report.label(ctx.span(*origin), format!("`{}` here", dtype.as_str()));
            }
        }
        let help = match first.is_float() != second.is_float() && first.is_integer() != second.is_integer() {
            true => "write the number as a float (`1.0`), or convert one of the two with `tf.cast`",
            false => "convert one of the two with `tf.cast`",
        };
        report.help(help).emit();
    }
}

/// Returns the first pair of different dtypes in two structures of the same shape.
fn different(main: &Value, orelse: &Value) -> Option<(DType, DType)> {
    match (main, orelse) {
        (Value::Leaf(Some(a)), Value::Leaf(Some(b))) => (a != b).then_some((*a, *b)),
        (Value::Sequence { class: a, items: first }, Value::Sequence { class: b, items: second }) => {
            let alike = a == b && first.len() == second.len();
            first.iter().zip(second).filter(|_| alike).find_map(|(a, b)| different(a, b))
        }
        (Value::Mapping(first), Value::Mapping(second)) => {
            let alike = first.keys().eq(second.keys());
            first.values().zip(second.values()).filter(|_| alike).find_map(|(a, b)| different(a, b))
        }
        _ => None,
    }
}
