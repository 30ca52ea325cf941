//! AG206: a variable of a staged loop that does not keep its structure.

use super::carried::{StagedLoop, staged_loops};
use super::structures::{Structure, grows};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::{Def, DefKind};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a variable of a staged loop that is one structure of values before the loop and another
    /// after a round: a longer list or tuple, a dict with other keys, a tuple in the place of a number.
    ///
    /// ## Why is this bad?
    /// A staged loop carries a fixed number of Tensors. A list that grows by one element each round
    /// would need one Tensor more each round.
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
    /// A TensorArray is one value, whatever its length.
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
    /// ## What TensorFlow says
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
            .label(ctx.span(start.range), format!("`{name}` starts here"))
            .why(staged.construct.why.clone())
            .help("collect values in a `tf.TensorArray`, or give the structure all its items before the loop")
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
            let message = format!("`{name}` is a {class} that grows in each round of this staged loop");
            return report(definition, message);
        }
        let after = of_definition(staged, definition);
        if entry.differs(&after) {
            let message = format!(
                "`{name}` is {} before this staged loop and {} after a round",
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
