//! AG207: a loop-carried variable that cannot be converted to a Tensor.

use ruff_text_size::TextRange;

use super::carried::{StagedLoop, staged_loops};
use super::values;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::{BlockVariable, Def, Definedness};

declare_rule! {
    /// ## What it does
    /// Reports a staged loop that rebinds a name to an object, a function or a set that is used in the next
    /// iteration or after the loop.
    ///
    /// ## Why is this bad?
    /// A staged loop carries Tensors, in lists, tuples and dicts. An instance of a plain class is not a Tensor,
    /// and a graph cannot select a function.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Point:
    ///     def __init__(self, x):
    ///         self.x = x
    ///
    ///
    /// @tf.function
    /// def walk(n):
    ///     point = Point(0)
    ///     for i in tf.range(n):
    ///         point = Point(i)
    ///     return point.x
    ///
    ///
    /// walk(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// Assign the attribute, not the object: a staged loop carries `point.x`.
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Point:
    ///     def __init__(self, x):
    ///         self.x = x
    ///
    ///
    /// @tf.function
    /// def walk(n):
    ///     point = Point(0)
    ///     for i in tf.range(n):
    ///         point.x = i
    ///     return point.x
    ///
    ///
    /// walk(tf.constant(3))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: Failed to convert elements of <Point object> to Tensor. Consider casting elements to a supported type.
    /// TypeError: To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None values
    /// ```
    pub(crate) static LOOP_TYPE = {
        code: "AG207", name: "loop-type",
        summary: "a staged loop carries a value that is not a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx) {
        let defined =
            |variable: &&BlockVariable| variable.modified_in_body && variable.before == Definedness::Always;
        for variable in staged.carried().filter(defined) {
            let name = &variable.name;
            let before = staged.before(name);
            // AG202 reports a `None` before the loop.
            if before.iter().any(|definition| ctx.fact_of(definition).may_be_none()) {
                continue;
            }
            let found =
                unsupported(&staged, &before).or_else(|| unsupported(&staged, &after(&staged, variable)));
            let Some((what, range)) = found else {
                continue;
            };
            ctx.report(
                &LOOP_TYPE,
                staged.head(),
                format!("this staged loop cannot carry `{name}`, which is {what}, not a Tensor"),
            )
            .label(ctx.span(range), format!("`{name}` is {what} here"))
            .why(staged.construct.why.clone())
            .help("assign the Tensors that it contains to separate variables or attributes")
            .emit();
        }
    }
}

/// Returns the definitions that reach the end of every traced iteration.
fn after<'a>(staged: &StagedLoop<'_, 'a>, variable: &BlockVariable) -> Vec<&'a Def> {
    let mut definitions = staged.after(&variable.name);
    definitions.retain(|definition| staged.directly_contains(definition.range));
    definitions
}

/// Returns a description of the values that the definitions bind, if a graph cannot carry any of them.
fn unsupported(staged: &StagedLoop, definitions: &[&Def]) -> Option<(String, TextRange)> {
    let described: Option<Vec<String>> =
        definitions.iter().map(|definition| values::uncarriable(staged.ctx, definition)).collect();
    Some((described?.into_iter().next()?, definitions.first()?.range))
}
