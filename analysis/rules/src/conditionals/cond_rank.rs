//! A staged condition with more than one element.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::branches::framework;
use super::conditions::staged_tests;
use super::shapes::has_many;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_staging::construct::{Construct, ConstructNode};

declare_rule! {
    /// ## What it does
    /// Finds staged conditions that certainly have more than one element, judging from this function alone:
    /// comparisons of `tf.constant([…])`, `tf.range(3)`, `tf.zeros([2, 3])` and values computed from them.
    ///
    /// ## Why is this bad?
    /// The elements may differ, but only one branch can be taken. (NumPy rejects such conditions for the same
    /// reason.) For `and`, `or`, conditional expressions and chained comparisons TensorFlow reports the error
    /// only when the graph runs, without a source line.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def positive_grid():
    ///     grid = tf.linspace(-1.0, 1.0, 5)
    ///     if grid > 0.0:
    ///         grid = grid * 2.0
    ///     return grid
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def positive_grid():
    ///     grid = tf.linspace(-1.0, 1.0, 5)
    ///     return tf.where(grid > 0.0, grid * 2.0, grid)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > condition of if statement expected to be `tf.bool` scalar, got Tensor("Greater:0", shape=(5,), dtype=bool); to
    /// > check for None, use `is not None`
    pub(crate) static COND_RANK = {
        code: "AG108", name: "cond-rank",
        summary: "a staged condition has more than one element",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    let mut tests: Vec<(&Construct, &Expr)> = staged_tests(ctx).collect();
    for (construct, node) in ctx.staged() {
        match node {
            // The value of the last operand is the result; it is not tested.
            ConstructNode::BoolOp(operation) => {
                let tested = operation.values.split_last().map_or(&[][..], |(_, tested)| tested);
                tests.extend(tested.iter().map(|operand| (construct, operand)));
            }
            ConstructNode::Compare(compare) => {
                let operands = compare.comparators.split_last().map_or(&[][..], |(_, tested)| tested);
                let tested =
                    std::iter::once(&*compare.left).chain(operands).find(|operand| has_many(ctx, operand));
                tests.extend(tested.map(|operand| (construct, operand)));
            }
            _ => {}
        }
    }
    for (construct, test) in tests {
        if has_many(ctx, test) {
            let message = format!(
                "this condition has more than one element; {} can only branch on a single value",
                framework(ctx),
            );
            ctx.report(&COND_RANK, test.range(), message)
                .why(construct.why.clone())
                .help("use `tf.where` to select elementwise, or reduce the condition with `tf.reduce_all` or `tf.reduce_any`")
                .emit();
        }
    }
}
