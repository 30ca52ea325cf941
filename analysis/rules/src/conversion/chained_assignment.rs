//! With the optional feature LISTS, `a = b = x` prevents conversion of the function.

use ruff_python_ast::Stmt;
use ruff_text_size::{Ranged, TextRange};

use super::unconverted;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_syntax::unsupported::Unsupported;
use ag_syntax::{edits, statements};

declare_rule! {
    /// ## What it does
    /// Finds assignments with several targets in functions converted with the optional feature `LISTS` (or `ALL`).
    ///
    /// ## Why is this bad?
    /// The conversion of lists does not support them. AutoGraph runs the whole function as plain Python: a
    /// decision on a Tensor raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def positive(x: tf.Tensor):
    ///     a = b = x
    ///     if a < 0.0:
    ///         b = tf.zeros_like(x)
    ///     return b
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def positive(x: tf.Tensor):
    ///     a = x
    ///     b = x
    ///     if a < 0.0:
    ///         b = tf.zeros_like(x)
    ///     return b
    /// ```
    ///
    /// ## Fix safety
    /// Safe: the value is computed once, and the targets are bound in the same order.
    ///
    /// ## What TensorFlow reports
    /// > multiple assignment
    pub(crate) static CHAINED_ASSIGNMENT = {
        code: "AG012", name: "chained-assignment",
        summary: "with `Feature.LISTS`, `a = b = x` prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let phrase = "a chained assignment (`a = b = …`) with `Feature.LISTS`";
    let help = "write one assignment per line";
    let kind = Unsupported::ChainedAssignment;
    let Some((report, range)) = unconverted::check(ctx, &CHAINED_ASSIGNMENT, kind, phrase, help) else {
        return;
    };
    match split(ctx, range) {
        Some(edit) => report.fix(Applicability::Safe, "Write one assignment per line", vec![edit]).emit(),
        None => report.emit(),
    }
}

/// `a = b = f(x)` -> `a = f(x)`, `b = a`.
fn split(ctx: &FunctionContext, range: TextRange) -> Option<Edit> {
    let text = &ctx.ast.text;
    let assign = statements::of_function(ctx.def())
        .into_iter()
        .filter_map(Stmt::as_assign_stmt)
        .find(|assign| assign.range() == range)?;
    let (first, others) = assign.targets.split_first().filter(|(first, _)| first.is_name_expr())?;
    let indentation = edits::indentation(text, range.start())?;
    let mut lines = format!("{} = {}", ctx.text(first), ctx.text(assign.value.as_ref()));
    for other in others {
        lines.push_str(&format!("\n{indentation}{} = {}", ctx.text(other), ctx.text(first)));
    }
    Some(Edit::replace(range, lines))
}
