//! AG215: an assignment to an item of a Tensor.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{Expr, ExprSubscript, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::context::Report;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use ag_db::diagnostic::{Applicability, Edit};
use ag_flow::Role;
use ag_index::facts::{Alternative, Binding};
use ag_staging::construct::Construct;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports `x[i] = v` where `x` is a Tensor.
    ///
    /// ## Why is this bad?
    /// Tensors are immutable. TensorFlow has operations that return a modified copy; a `tf.Variable` is updated
    /// by `x[i].assign(v)`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def without_first(x):
    ///     x[0] = 0.0
    ///     return x
    ///
    ///
    /// without_first(tf.constant([1.0, 2.0]))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def without_first(x):
    ///     x = tf.tensor_scatter_nd_update(x, [[0]], [0.0])
    ///     return x
    ///
    ///
    /// without_first(tf.constant([1.0, 2.0]))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: the operation does not broadcast the value and does not accept negative indices.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: 'SymbolicTensor' object does not support item assignment
    /// ```
    pub(crate) static TENSOR_SETITEM = {
        code: "AG215", name: "tensor-setitem",
        summary: "an assignment to an item of a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let lists = ctx.stage.options.features.iter().any(|feature| matches!(feature.as_str(), "LISTS" | "ALL"));
    let mut statements = Statements { ctx, reported: Vec::new() };
    if !lists {
        statements.visit_body(&ctx.def().body);
    }
}

struct Statements<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    /// The constructs that have been reported. TensorFlow stops at the first error.
    reported: Vec<TextRange>,
}

impl<'a> StatementVisitor<'a> for Statements<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.target(statement, target)),
            Stmt::AugAssign(assign) => self.target(statement, &assign.target),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

impl<'a> Statements<'_, 'a> {
    fn target(&mut self, statement: &'a Stmt, target: &'a Expr) {
        let ctx = self.ctx;
        let Expr::Subscript(item) = target else { return };
        // `x["boxes"] = …` shows that `x` is a dict, whatever type is inferred for it.
        let is_text = |key: &Alternative| matches!(key, Alternative::Str(_));
        if !ctx.python_fact(&item.value).is_tensor()
            || item.slice.is_string_literal_expr()
            || ctx.fact(&item.slice).alternatives.iter().any(is_text)
            // The index is a constant of another file whose type is unknown. It may be the key of a dictionary.
            || item.slice.is_attribute_expr() && ctx.fact(&item.slice).alternatives.is_empty()
            || is_guarded(ctx, statement.range())
        {
            return;
        }
        let text = ctx.text(item);
        let base = ctx.text(&*item.value);
        let report = match self.carrying_construct(target) {
            // AutoGraph assigns the item when it restores the state of the statement, and that assignment raises first.
            Some(construct) => {
                let head = construct.head();
                if self.reported.contains(&head) {
                    return;
                }
                self.reported.push(head);
                ctx.report(
                    &TENSOR_SETITEM,
                    head,
                    format!(
                        "`{text}` is assigned in this staged `{}`, but `{base}` is a Tensor, which does not support item assignment",
                        construct.kind.as_str()
                    ),
                )
                .label(ctx.span(statement.range()), "assigned here")
            }
            None => ctx.report(
                &TENSOR_SETITEM,
                statement,
                format!("`{base}` is a Tensor, which does not support item assignment"),
            ),
        };
        let report = report
            .why(ctx.why(&item.value))
            .help("use `tf.tensor_scatter_nd_update`, or `x[i].assign(v)` on a `tf.Variable`");
        repaired(ctx, report, statement, item);
    }

    /// Returns the outermost staged statement that carries the item as a variable.
    fn carrying_construct(&self, target: &Expr) -> Option<&'a Construct> {
        let name = QName::from_expr(target)?;
        let carries = |construct: &&Construct| {
            let is_staged = construct.binding == Binding::Staged;
            let variables = is_staged.then(|| self.ctx.variables(construct)).flatten();
            variables
                .as_ref()
                .and_then(|variables| variables.get(&name))
                .is_some_and(|variable| variable.role != Role::Local)
        };
        self.ctx.enclosing(target.range()).filter(carries).last().filter(|_| self.ctx.converts())
    }
}

/// Adds the fix `x = tf.tensor_scatter_nd_update(x, [[i]], [v])`.
fn repaired(ctx: &FunctionContext, report: Report, statement: &Stmt, item: &ExprSubscript) {
    let (operation, value) = match statement {
        Stmt::Assign(assign) if assign.targets.len() == 1 => ("update", &assign.value),
        Stmt::AugAssign(assign) if assign.op == Operator::Add => ("add", &assign.value),
        Stmt::AugAssign(assign) if assign.op == Operator::Sub => ("sub", &assign.value),
        _ => return report.emit(),
    };
    let simple = match &*item.slice {
        Expr::Slice(_)
        | Expr::Tuple(_)
        | Expr::UnaryOp(_)
        | Expr::EllipsisLiteral(_)
        | Expr::NoneLiteral(_) => false,
        index => !ctx.text(index).contains('\n'),
    };
    let name = QName::from_expr(&item.value).filter(|_| simple);
    let (Some(name), Some(module)) = (name, ctx.imports.local_name_of("tensorflow")) else {
        return report.emit();
    };
    let (index, value) = (ctx.text(&*item.slice), ctx.text(&**value));
    let text = format!("{name} = {module}.tensor_scatter_nd_{operation}({name}, [[{index}]], [{value}])");
    report
        .fix(Applicability::Unsafe, "Use `tensor_scatter_nd`", vec![Edit::replace(statement.range(), text)])
        .emit();
}
