//! Branches of a staged `if` or conditional expression with different nested structures.

use super::branches::{Outcome, condition, framework, outcomes};
use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds values whose structure differs between the branches of a staged `if` or conditional expression: a
    /// tuple and a single Tensor, a list and a tuple, tuples of different lengths, dicts with different keys.
    ///
    /// ## Why is this bad?
    /// A staged `if` outputs the flattened Tensors of a structure. Python rebuilds the structure while tracing,
    /// once for both branches, so both must have the same structure.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def bounds(x: tf.Tensor):
    ///     if tf.reduce_min(x) < 0.0:
    ///         limits = (-1.0, 1.0)
    ///     else:
    ///         limits = 1.0
    ///     return limits
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def bounds(x: tf.Tensor):
    ///     if tf.reduce_min(x) < 0.0:
    ///         limits = (-1.0, 1.0)
    ///     else:
    ///         limits = (0.0, 1.0)
    ///     return limits
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > 'limits' must have the same nested structure in the main and else branches
    pub(crate) static BRANCH_STRUCTURE = {
        code: "AG105", name: "branch-structure",
        summary: "the branches of a staged `if` have different nested structures",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for Outcome { construct, range, subject, main, orelse } in outcomes(ctx) {
        if main.value.holds_none() || orelse.value.holds_none() {
            continue;
        }
        let Some((first, second)) = different(&main.value, &orelse.value) else { continue };
        let message = format!(
            "{subject} is {first} when {} holds, but {second} otherwise; {} requires the same structure in both branches",
            condition(ctx, construct),
            framework(ctx),
        );
        let mut report = ctx.report(&BRANCH_STRUCTURE, range, message).why(construct.why.clone());
        for (side, structure) in [(&main, first), (&orelse, second)] {
            for origin in &side.origins {
                report = report.label(ctx.span(*origin), format!("{structure} here"));
            }
        }
        report.help("use the same tuples, lists and keys in both branches").emit();
    }
}

/// Returns the first difference between two structures, from the outside in.
fn different(main: &Value, orelse: &Value) -> Option<(String, String)> {
    match (main, orelse) {
        (Value::Unknown | Value::Unsupported(_) | Value::None, _)
        | (_, Value::Unknown | Value::Unsupported(_) | Value::None) => None,
        (Value::Leaf(_), Value::Leaf(_)) => None,
        (Value::Sequence { class: a, items: first }, Value::Sequence { class: b, items: second })
            if a == b =>
        {
            if first.len() == second.len() {
                first.iter().zip(second).find_map(|(a, b)| different(a, b)).map(within(a))
            } else {
                Some((described(main), described(orelse)))
            }
        }
        (Value::Mapping(first), Value::Mapping(second)) => {
            if first.keys().eq(second.keys()) {
                first.values().zip(second.values()).find_map(|(a, b)| different(a, b)).map(within("dict"))
            } else {
                Some((described(main), described(orelse)))
            }
        }
        _ if class(main) == class(orelse) => None,
        _ => Some((described(main), described(orelse))),
    }
}

fn within(class: &str) -> impl Fn((String, String)) -> (String, String) {
    move |(first, second)| (format!("a {class} with {first}"), format!("a {class} with {second}"))
}

fn class(value: &Value) -> &str {
    match value {
        Value::Sequence { class, .. } => class,
        Value::Mapping(_) => "dict",
        Value::Container(class) => class,
        _ => "",
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Sequence { class, items } => format!("a {class} of {}", items.len()),
        Value::Mapping(items) if items.is_empty() => "an empty dict".to_owned(),
        Value::Mapping(items) => {
            let keys: Vec<&str> = items.keys().map(String::as_str).collect();
            format!("a dict with {}", keys.join(", "))
        }
        Value::Container(class) => format!("a {class}"),
        _ => "a single value".to_owned(),
    }
}
