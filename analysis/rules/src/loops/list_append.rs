//! AG210: a Python container that a staged loop mutates.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::mutation::{Change, Mutation, mutations};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a list, dict or set from outside a staged loop that is mutated in the loop's body.
    ///
    /// ## Why is this bad?
    /// Python runs the body only once, while it is traced, whatever the number of iterations is: one element is
    /// appended. If that element is a Tensor of the loop, it cannot be used outside of it.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def squares(n):
    ///     items = []
    ///     for i in tf.range(n):
    ///         items.append(i * i)
    ///     return tf.stack(items)
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
    ///     items = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    ///     for i in tf.range(n):
    ///         items = items.write(items.size(), i * i)
    ///     return items.stack()
    ///
    ///
    /// squares(tf.constant(3))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: a TensorArray has a different interface from a list.
    ///
    /// ## What TensorFlow reports
    /// Nothing if the elements are Python values. Otherwise, where the list is used:
    /// ```text
    /// InaccessibleTensorError: <tf.Tensor 'while/mul:0' shape=() dtype=int32> is out of scope and cannot be used here. Use return values, explicit Python locals or TensorFlow collections to access it.
    /// ```
    pub(crate) static LIST_APPEND = {
        code: "AG210", name: "list-append",
        summary: "a staged loop mutates a Python container once, not in each iteration",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut reported: Vec<TextRange> = Vec::new();
    let lists = ctx.stage.options.features.iter().any(|feature| matches!(feature.as_str(), "LISTS" | "ALL"));
    for staged in staged_loops(ctx).filter(|_| !lists) {
        for mutation in mutations(&staged) {
            // The mutation is reported once, for the outermost loop.
            if !reported.contains(&mutation.range) && is_reportable(&staged, &mutation) {
                reported.push(mutation.range);
                report(&staged, &mutation);
            }
        }
    }
}

/// Returns whether this rule reports the mutation. If the loop carries the item like a variable, the assignment is
/// correct. AG211 reports Tensors that are stored under other keys.
fn is_reportable(staged: &StagedLoop, mutation: &Mutation) -> bool {
    match mutation.change {
        Change::Call(..) => true,
        Change::Item { target, value } => {
            let key = staged.ctx.fact(&target.slice);
            let carried =
                QName::from_expr(&Expr::Subscript(target.clone())).is_some_and(|name| staged.carries(&name));
            !carried && !key.may_be_tensor() && !key.unknown && !staged.ctx.fact(value).may_be_tensor()
        }
    }
}

fn report(staged: &StagedLoop, mutation: &Mutation) {
    let ctx = staged.ctx;
    let name = &mutation.container;
    let once = "runs once, while this staged loop is traced, not in each iteration";
    let help = "collect Tensors in a `tf.TensorArray`, which the loop carries";
    let Change::Call(call, method) = mutation.change else {
        let text = ctx.text(mutation.range);
        ctx.report(&LIST_APPEND, mutation.range, format!("this assignment to `{text}` {once}"))
            .label(ctx.span(staged.head()), "the staged loop")
            .why(staged.construct.why.clone())
            .severity(Severity::Warning)
            .emit();
        return;
    };
    let tensor = call.arguments.args.iter().any(|argument| ctx.fact(argument).may_be_tensor());
    let range = if tensor { used_after(staged, name) } else { None };
    let report = match range {
        Some(used) => ctx
            .report(
                &LIST_APPEND,
                used,
                format!("`{name}` holds Tensors of a staged loop, which cannot be used outside of it"),
            )
            .label(ctx.span(mutation.range), format!("`{name}.{method}(…)` {once}"))
            .severity(Severity::Error),
        None => ctx
            .report(&LIST_APPEND, mutation.range, format!("`{name}.{method}(…)` {once}"))
            .label(ctx.span(staged.head()), "the staged loop")
            .severity(Severity::Warning),
    };
    let report = report.why(staged.construct.why.clone()).help(help);
    match tensor_array(staged, name, call, method) {
        Some(edits) => {
            report.fix(Applicability::Unsafe, format!("Make `{name}` a `tf.TensorArray`"), edits).emit();
        }
        None => report.emit(),
    }
}

/// Returns the first TensorFlow operation after the loop that has the list as its first argument.
fn used_after(staged: &StagedLoop, name: &QName) -> Option<TextRange> {
    let uses = Uses::of(staged.ctx, name);
    let end = staged.construct.range.end();
    let takes = |call: &&&ExprCall| call.start() >= end && staged.is_always_reached_after(call.range());
    uses.operations.iter().find(takes).map(|call| call.range())
}

/// Returns the edits that replace a list by a TensorArray; `None` unless the list is used only in `items = []`, one
/// `items.append(x)` and one `tf.stack(items)`.
fn tensor_array(staged: &StagedLoop, name: &QName, append: &ExprCall, method: &str) -> Option<Vec<Edit>> {
    let ctx = staged.ctx;
    let module = ctx.imports.local_name_of("tensorflow")?;
    let before = staged.before(name);
    let [definition] = before.as_slice() else { return None };
    let start = ctx.value_of(definition)?;
    let empty = start.as_list_expr().is_some_and(|list| list.elts.is_empty());
    let [element] = &*append.arguments.args else { return None };
    let dtype = ctx.python_fact(element).dtype()?.as_str();
    let uses = Uses::of(ctx, name);
    let [stack] = uses.operations.as_slice() else { return None };
    let stacks = ctx.resolve(&stack.func)? == "tensorflow.stack" && stack.arguments.len() == 1;
    if !empty
        || !stacks
        || method != "append"
        || uses.reads != 2
        || !uses.statements.contains(&append.range())
    {
        return None;
    }
    let element = ctx.text(element);
    Some(vec![
        Edit::replace(
            start.range(),
            format!("{module}.TensorArray({module}.{dtype}, size=0, dynamic_size=True)"),
        ),
        Edit::replace(append.range(), format!("{name} = {name}.write({name}.size(), {element})")),
        Edit::replace(stack.range(), format!("{name}.stack()")),
    ])
}

/// How a function uses a name.
struct Uses<'n, 'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    name: &'n QName,
    reads: usize,
    /// The TensorFlow operations that have the name as their first argument.
    operations: Vec<&'a ExprCall>,
    /// The calls that are whole statements.
    statements: Vec<TextRange>,
}

impl<'n, 'c, 'a> Uses<'n, 'c, 'a> {
    fn of(ctx: &'c FunctionContext<'a>, name: &'n QName) -> Self {
        let mut uses = Self { ctx, name, reads: 0, operations: Vec::new(), statements: Vec::new() };
        uses.visit_body(&ctx.def().body);
        uses
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_, '_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(expression) = statement {
            self.statements.push(expression.value.range());
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if self.name.is(&name.id) && name.ctx.is_load() => self.reads += 1,
            Expr::Call(call) => {
                let takes = call.arguments.args.first().and_then(QName::from_expr);
                let resolved = self.ctx.resolve(&call.func);
                if takes.as_ref() == Some(self.name)
                    && resolved.is_some_and(|function| function.starts_with("tensorflow."))
                {
                    self.operations.push(call);
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
