//! AG301: a Python loop whose exit depends on a Tensor.

use ruff_python_ast::Stmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_index::facts::Binding;
use ag_staging::construct::{Construct, ConstructKind, ConstructNode};

declare_rule! {
    /// ## What it does
    /// Reports a `break` or `return` under a Tensor condition in a Python loop: over `range`, a list, `zip`,
    /// `enumerate`.
    ///
    /// ## Why is this bad?
    /// A Python loop runs while the graph is built, and the number of iterations must be known then. The Tensor
    /// is known only when the graph runs.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def double_until(x, limit):
    ///     for _ in range(10):
    ///         x = x * 2
    ///         if x > limit:
    ///             break
    ///     return x
    ///
    ///
    /// double_until(tf.constant(1), tf.constant(5))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def double_until(x, limit):
    ///     for _ in tf.range(10):
    ///         x = x * 2
    ///         if x > limit:
    ///             break
    ///     return x
    ///
    ///
    /// double_until(tf.constant(1), tf.constant(5))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: in a staged loop the variables become Tensors with a fixed dtype and shape.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: break and return statements which depend on a TF condition are not supported in Python for loops. Did you intend to make it a TF loop?
    /// ValueError: the else branch must also have a return statement.
    /// ```
    pub(crate) static PYTHON_LOOP_EXIT = {
        code: "AG301", name: "python-loop-tensor-exit",
        summary: "the exit of a Python loop depends on a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.decisions() {
        let body = match node {
            ConstructNode::For(statement) => &statement.body,
            ConstructNode::While(statement) => &statement.body,
            _ => continue,
        };
        if construct.binding != Binding::Python {
            continue;
        }
        let mut exits = Exits::default();
        exits.visit_body(body);
        let is_for = construct.kind == ConstructKind::For;
        let own_break =
            exits.breaks.iter().find_map(|range| tensor_exit(ctx, construct, *range)).filter(|_| is_for);
        let own_return = exits.returns.iter().find_map(|range| tensor_exit(ctx, construct, *range));
        match (own_break, own_return) {
            (Some(exit), _) => report_loop(ctx, construct, node, &exit, "break"),
            (None, Some(exit)) if exit.both && is_for => report_loop(ctx, construct, node, &exit, "return"),
            (None, Some(exit)) if !exit.both => report_condition(ctx, construct, &exit),
            _ => {}
        }
    }
}

/// An exit of a loop that depends on a Tensor.
struct Exit<'a> {
    range: TextRange,
    /// The innermost staged condition around the exit.
    condition: &'a Construct,
    /// Whether both branches of this condition return.
    both: bool,
    severity: Severity,
}

/// Returns the exit at `range` if it depends on a Tensor and belongs to the loop `around`, not to a nested one.
fn tensor_exit<'a>(ctx: &FunctionContext<'a>, around: &Construct, range: TextRange) -> Option<Exit<'a>> {
    let within: Vec<_> = ctx
        .enclosing(range)
        .take_while(|construct| construct.range.start() != around.range.start())
        .collect();
    if within.iter().any(|construct| construct.kind.is_loop()) {
        return None;
    }
    let condition = *within.iter().find(|construct| construct.binding == Binding::Staged)?;
    let both = ctx
        .variables(condition)
        .is_some_and(|blocks| blocks.body.always_returns() && blocks.orelse.always_returns());
    let certain = within.iter().all(|construct| construct.binding == Binding::Staged);
    let severity = if certain { Severity::Error } else { Severity::Warning };
    Some(Exit { range, condition, both, severity })
}

fn report_loop(ctx: &FunctionContext, construct: &Construct, node: ConstructNode, exit: &Exit, word: &str) {
    let head = construct.head();
    let test = ctx.text(exit.condition.test_range);
    let report = ctx
        .report(
            &PYTHON_LOOP_EXIT,
            head,
            format!("this Python loop cannot exit on the Tensor `{test}`: it runs while the graph is built"),
        )
        .label(ctx.span(exit.range), format!("`{word}` depends on a Tensor"))
        .why(exit.condition.why.clone())
        .severity(exit.severity)
        .help("iterate over a Tensor: `tf.range(…)` instead of `range(…)`, `tf.stack(…)` for a list");
    let range = match node {
        ConstructNode::For(statement) => statement.iter.as_call_expr().map(|call| &*call.func),
        _ => None,
    };
    let range = range.filter(|function| ctx.builtin(function) == Some("range"));
    match (range, ctx.imports.local_name_of("tensorflow")) {
        (Some(range), Some(module)) => {
            let edit = Edit::replace(range.range(), format!("{module}.range"));
            report
                .fix(Applicability::Unsafe, format!("Stage the loop with `{module}.range`"), vec![edit])
                .emit();
        }
        _ => report.emit(),
    }
}

fn report_condition(ctx: &FunctionContext, construct: &Construct, exit: &Exit) {
    let condition = exit.condition;
    let head = condition.head();
    ctx.report(
        &PYTHON_LOOP_EXIT,
        head,
        "this Tensor condition cannot return from a Python loop, which runs while the graph is built",
    )
    .label(ctx.span(construct.head()), "the Python loop")
    .why(condition.why.clone())
    .severity(exit.severity)
    .help("stage the loop with `tf.range(…)`, assign the result to a variable and use `break`")
    .emit();
}

/// The exits in the body of a loop: its own `break` statements, and all `return` statements.
#[derive(Default)]
struct Exits {
    breaks: Vec<TextRange>,
    returns: Vec<TextRange>,
    loops: u32,
}

impl<'a> StatementVisitor<'a> for Exits {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Break(node) if self.loops == 0 => self.breaks.push(node.range()),
            Stmt::Return(node) => self.returns.push(node.range()),
            Stmt::For(_) | Stmt::While(_) => {
                self.loops += 1;
                statement_visitor::walk_stmt(self, statement);
                self.loops -= 1;
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}
