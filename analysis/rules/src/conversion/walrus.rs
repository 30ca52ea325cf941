//! An assignment expression prevents conversion of the function.

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
    /// Finds assignment expressions (`:=`) in functions that AutoGraph converts.
    ///
    /// ## Why is this bad?
    /// AutoGraph does not support assignment expressions: it runs the whole function as plain Python, and a
    /// decision on a Tensor raises. The finding is reported at the first such decision. If there is none, it is a
    /// warning at the `:=`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     if (y := x * 2.0) > 4.0:
    ///         x = y
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x: tf.Tensor):
    ///     y = x * 2.0
    ///     if y > 4.0:
    ///         x = y
    ///     return x
    /// ```
    ///
    /// ## Fix safety
    /// Safe: the fix is offered only if the test evaluates the assignment first.
    ///
    /// ## What TensorFlow reports
    /// > AutoGraph could not transform <function doubled> and will run it as-is.
    /// > Cause: (<gast.gast.NamedExpr object>, (y := (x * 2.0)))
    pub(crate) static WALRUS = {
        code: "AG005", name: "walrus",
        summary: "an assignment expression `:=` prevents conversion of the function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let help = "assign in a separate statement";
    let Some((report, range)) = unconverted::check(ctx, &WALRUS, Unsupported::Walrus, "`:=`", help) else {
        return;
    };
    match own_statement(ctx, range) {
        Some(edits) => report.fix(Applicability::Safe, "Assign before the `if`", edits).emit(),
        None => report.emit(),
    }
}

/// Returns the edits `if (y := f(x)) > 0:` -> `y = f(x)`, `if (y) > 0:`; `None` unless the test evaluates the
/// assignment first.
fn own_statement(ctx: &FunctionContext, range: TextRange) -> Option<Vec<Edit>> {
    let node = statements::of_function(ctx.def())
        .into_iter()
        .filter_map(Stmt::as_if_stmt)
        .find(|node| node.test.range().contains_range(range))?;
    let named = ctx.expression_at(range)?.as_named_expr()?;
    let before = ctx.ast.text.get(usize::from(node.test.start())..usize::from(range.start()))?;
    // Nothing but parentheses may precede the assignment in the test.
    if !before.chars().all(|c| c == '(' || c.is_whitespace()) {
        return None;
    }
    let line = format!("{} = {}", ctx.text(named.target.as_ref()), ctx.text(named.value.as_ref()));
    let assignment = edits::line_before(&ctx.ast.text, node.start(), &line)?;
    Some(vec![assignment, Edit::replace(range, ctx.text(named.target.as_ref()))])
}
