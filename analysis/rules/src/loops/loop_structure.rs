//! AG206: a loop-carried variable that changes its structure.

use super::carried::{StagedLoop, staged_loops};
use super::structures::{Structure, grows};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::{Def, DefKind};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a loop-carried variable of a staged loop whose nested structure differs before the loop and
    /// after an iteration: a longer list or tuple, a dict with other keys, a tuple instead of a number.
    ///
    /// ## Why is this bad?
    /// A staged loop carries a fixed number of Tensors. A list that grows by one element in each iteration
    /// would add one Tensor in each iteration.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n):
    ///     items = [0]
    ///     for i in tf.range(n):
    ///         items = items + [i * i]
    ///     return tf.stack(items)
    ///
    ///
    /// squares(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// A TensorArray is a single value of any length.
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n):
    ///     items = tf.TensorArray(tf.int32, size=n)
    ///     for i in tf.range(n):
    ///         items = items.write(i, i * i)
    ///     return items.stack()
    ///
    ///
    /// squares(tf.constant(3))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: 'items' does not have the same nested structure after one iteration.
    /// ```
    pub(crate) static LOOP_STRUCTURE = {
        code: "AG206", name: "loop-structure",
        summary: "a variable of a staged loop changes its structure",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx) {
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            check_variable(&staged, &variable.name);
        }
    }
}

fn check_variable(staged: &StagedLoop, name: &QName) {
    let ctx = staged.ctx;
    let before = staged.before(name);
    let [start] = before.as_slice() else { return };
    let entry = of_definition(staged, start);
    let report = |definition: &Def, message: String| {
        ctx.report(&LOOP_STRUCTURE, staged.head(), message)
            .label(ctx.span(definition.range), "changed here")
            .label(ctx.span(start.range), format!("`{name}` is initialized here"))
            .why(staged.construct.why.clone())
            .help("collect values in a `tf.TensorArray`, or add all items to the structure before the loop")
            .emit();
    };
    for definition in staged.after(name) {
        let in_place = definition.kind == DefKind::AugAssign;
        let kept = staged.directly_contains(definition.range)
            || in_place && staged.certainly_traces(definition.range);
        if !kept {
            continue;
        }
        if let Structure::Sequence { class, .. } = &entry
            && grows(staged, name, definition)
        {
            let message = format!("`{name}` is a {class} that grows in each iteration of this staged loop");
            return report(definition, message);
        }
        let after = of_definition(staged, definition);
        if entry.differs(&after) {
            let message = format!(
                "`{name}` is {} before this staged loop and {} after an iteration",
                entry.described(),
                after.described()
            );
            return report(definition, message);
        }
    }
}

fn of_definition(staged: &StagedLoop, definition: &Def) -> Structure {
    match (definition.kind, staged.ctx.value_of(definition)) {
        (DefKind::Assign, Some(value)) => Structure::of(staged.ctx, value),
        _ => Structure::Unknown,
    }
}
