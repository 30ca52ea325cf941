//! AG214: a TensorArray that is written, and the written one thrown away.

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
    /// Reports a write to a TensorArray whose result is not kept.
    ///
    /// ## Why is this bad?
    /// In a graph a TensorArray does not change. `array.write(i, v)` gives another array that also has
    /// `v`; without it the write is lost, silently or with an error where the array is read.
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
    /// Safe: run eagerly, the write returns the array itself.
    ///
    /// ## What TensorFlow says
    /// Nothing in a loop: unwritten elements are zeros. Where an element is read:
    /// ```text
    /// InvalidArgumentError: Trying to access element 0 in a list with 0 elements.
    /// ```
    pub(crate) static TENSORARRAY_UNUSED = {
        code: "AG214", name: "tensorarray-unused",
        summary: "the result of a write to a TensorArray is not kept",
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
            format!("`{array}` itself does not change: the result of `{}` is the written array", method.attr),
        )
        .help(format!("keep the result: `{kept} = {kept}.{}(…)`", method.attr));
    match QName::from_expr(&method.value) {
        Some(name) => report
            .fix(
                Applicability::Safe,
                format!("Keep the result in `{name}`"),
                vec![Edit::insert(statement.start(), format!("{array} = "))],
            )
            .emit(),
        None => report.emit(),
    }
}
