//! AG209: a `break` or `return` in a loop over a distributed dataset.

use super::carried::staged_loops;
use super::distributed;
use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Reports a `break` or `return` in a staged loop over a distributed dataset.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts such a loop to a reduction of the dataset over all replicas. A reduction consumes
    /// every element and cannot end early.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    /// strategy = tf.distribute.MirroredStrategy(["cpu:0"])
    /// batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    ///
    ///
    /// @tf.function
    /// def total_until(dataset, limit):
    ///     total = tf.constant(0, tf.int64)
    ///     for batch in dataset:
    ///         if total > limit:
    ///             break
    ///         total += tf.reduce_sum(batch)
    ///     return total
    ///
    ///
    /// total_until(batches, tf.constant(1, tf.int64))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    /// strategy = tf.distribute.MirroredStrategy(["cpu:0"])
    /// batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    ///
    ///
    /// @tf.function
    /// def total_until(dataset, limit):
    ///     total = tf.constant(0, tf.int64)
    ///     for batch in dataset:
    ///         if total <= limit:
    ///             total += tf.reduce_sum(batch)
    ///     return total
    ///
    ///
    /// total_until(batches, tf.constant(1, tf.int64))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: break and return statements are not yet supported in for ... in distributed input loops.
    /// ```
    pub(crate) static BREAK_IN_DISTRIBUTED_LOOP = {
        code: "AG209", name: "break-in-distributed-loop",
        summary: "a `break` or `return` in a staged loop over a distributed dataset",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx).filter(distributed::iterates) {
        let exits = staged.variables.body;
        let word = match (exits.breaks, exits.returns) {
            (true, _) => "break",
            (_, true) => "return",
            _ => continue,
        };
        ctx.report(
            &BREAK_IN_DISTRIBUTED_LOOP,
            staged.head(),
            format!("`{word}` cannot end a staged loop over a distributed dataset"),
        )
        .why(staged.construct.why.clone())
        .help("guard the body with an `if`, or iterate over `iter(…)` of the dataset")
        .emit();
    }
}
