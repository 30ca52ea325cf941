//! AG214: a write to a TensorArray whose result is discarded.

use ruff_python_ast::Stmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_index::facts::TensorKind;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a write to a TensorArray whose result is discarded.
    ///
    /// ## Why is this bad?
    /// In a graph a TensorArray is immutable. `array.write(i, v)` returns another array that contains `v`; if
    /// the result is discarded the write is lost, silently or with an error where the array is read.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n):
    ///     found = tf.TensorArray(tf.int32, size=n)
    ///     for i in tf.range(n):
    ///         found.write(i, i * i)
    ///     return found.stack()
    ///
    ///
    /// squares(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n):
    ///     found = tf.TensorArray(tf.int32, size=n)
    ///     for i in tf.range(n):
    ///         found = found.write(i, i * i)
    ///     return found.stack()
    ///
    ///
    /// squares(tf.constant(3))
    /// ```
    ///
    /// ## Fix safety
    /// Safe: in eager execution the write returns the array itself.
    ///
    /// ## What TensorFlow reports
    /// Nothing in a loop: unwritten elements are zeros. At the line that reads an element outside of a loop:
    /// ```text
    /// InvalidArgumentError: Trying to access element 0 in a list with 0 elements.
    /// ```
    pub(crate) static TENSORARRAY_UNUSED = {
        code: "AG214", name: "tensorarray-unused",
        summary: "the result of a write to a TensorArray is discarded",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    Statements { ctx }.visit_body(&ctx.def().body);
}

struct Statements<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
}

impl<'a> StatementVisitor<'a> for Statements<'_, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Expr(_) => dropped_write(self.ctx, statement),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

fn dropped_write(ctx: &FunctionContext, statement: &Stmt) {
    let call = statement.as_expr_stmt().and_then(|statement| statement.value.as_call_expr());
    let Some(method) = call.and_then(|call| call.func.as_attribute_expr()) else { return };
    let writes = matches!(method.attr.as_str(), "write" | "scatter" | "unstack" | "split");
    if !writes || ctx.python_fact(&method.value).tensor_kind() != Some(TensorKind::TensorArray) {
        return;
    }
    let array = ctx.text(&*method.value);
    let kept = QName::from_expr(&method.value).map_or("array", |_| array);
    let report = ctx
        .report(
            &TENSORARRAY_UNUSED,
            statement,
            format!(
                "`{}` does not modify `{array}`; it returns a new TensorArray, which is discarded here",
                method.attr
            ),
        )
        .help(format!("assign the result: `{kept} = {kept}.{}(…)`", method.attr));
    match QName::from_expr(&method.value) {
        Some(name) => report
            .fix(
                Applicability::Safe,
                format!("Assign the result to `{name}`"),
                vec![Edit::insert(statement.start(), format!("{array} = "))],
            )
            .emit(),
        None => report.emit(),
    }
}
