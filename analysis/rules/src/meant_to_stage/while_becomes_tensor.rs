//! AG302: a `while` loop whose condition becomes a Tensor after the first iteration.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::iterations::{Iteration, Iterations};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_flow::Def;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructNode;

declare_rule! {
    /// ## What it does
    /// Reports a `while` loop that starts with a Python condition and later depends on a Tensor: through a name
    /// that the body binds to a Tensor, or through a `break` under a Tensor condition.
    ///
    /// ## Why is this bad?
    /// The condition of the first iteration determines how the loop runs. If that condition is a Python value, Python
    /// runs the loop while the graph is built, and cannot continue once the condition is a Tensor.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def halve(x):
    ///     large = True
    ///     while large:
    ///         x = x / 2.0
    ///         large = x > 1.0
    ///     return x
    ///
    ///
    /// halve(tf.constant(8.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def halve(x):
    ///     large = tf.constant(True)
    ///     while large:
    ///         x = x / 2.0
    ///         large = x > 1.0
    ///     return x
    ///
    ///
    /// halve(tf.constant(8.0))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: in a staged loop the variables become Tensors with a fixed dtype and shape.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: The condition of while loop started as non-Tensor, then changed to Tensor. This may happen either because variables changed type, or when a break or return statement inside the loop depends on a Tensor condition.
    /// ```
    pub(crate) static WHILE_BECOMES_TENSOR = {
        code: "AG302", name: "while-becomes-tensor",
        summary: "the condition of a `while` loop becomes a Tensor after the first iteration",
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
        let ConstructNode::While(statement) = node else { continue };
        let Some(stmt) = ctx.flow.cfg.statement_at(construct.range.start()) else { continue };
        let iterations = Iterations { ctx, construct, stmt };
        if iterations.binding(&statement.test, Iteration::First) != Binding::Python {
            continue;
        }
        if iterations.binding(&statement.test, Iteration::Later) == Binding::Staged {
            by_name(&iterations, &statement.test);
        } else if construct.binding == Binding::Python {
            by_break(&iterations, &statement.body);
        }
    }
}

/// Reports a name that becomes a Tensor: `while large: … large = x > 1.0`.
fn by_name(iterations: &Iterations, test: &Expr) {
    let ctx = iterations.ctx;
    let tensor_definitions = iterations.tensor_definitions(test);
    let Some(definition) = tensor_definitions.first() else { return };
    let name = &definition.name;
    let certain = tensor_definitions.iter().any(|definition| iterations.is_certain(definition));
    let report = ctx
        .report(
            &WHILE_BECOMES_TENSOR,
            iterations.construct.head(),
            format!(
                "`{name}` is a Python value in the first iteration of this loop and a Tensor in later ones"
            ),
        )
        .label(ctx.span(definition.range), format!("`{name}` becomes a Tensor here"))
        .severity(if certain { Severity::Error } else { Severity::Warning })
        .help(format!("initialize `{name}` with a Tensor to stage the loop"));
    let report = match ctx.value_of(definition) {
        Some(value) => report.why(ctx.why(value)),
        None => report,
    };
    match tensor_initializer(iterations, definition) {
        Some((start, edit)) => {
            report.fix(Applicability::Unsafe, format!("Initialize with `{start}`"), vec![edit]).emit();
        }
        None => report.emit(),
    }
}

/// Returns the literal with which the name is initialized, converted to a Tensor, and the edit that replaces it.
fn tensor_initializer(iterations: &Iterations, definition: &Def) -> Option<(String, Edit)> {
    let ctx = iterations.ctx;
    let before = ctx.flow.definitions_before(iterations.stmt, &definition.name);
    let [start] = before.as_slice() else { return None };
    let literal = ctx
        .value_of(start)
        .filter(|value| value.is_boolean_literal_expr() || value.is_number_literal_expr())?;
    let module = ctx.imports.local_name_of("tensorflow")?;
    let text = format!("{module}.constant({})", ctx.text(literal));
    Some((text.clone(), Edit::replace(literal.range(), text)))
}

/// Reports a `break` under a Tensor condition: `while True: … if x > 1.0: break`.
fn by_break(iterations: &Iterations, body: &[Stmt]) {
    let ctx = iterations.ctx;
    let mut breaks = Breaks::default();
    breaks.visit_body(body);
    for range in breaks.found {
        let start = iterations.construct.range.start();
        let within: Vec<_> =
            ctx.enclosing(range).take_while(|construct| construct.range.start() != start).collect();
        let Some(condition) = within.iter().find(|construct| construct.binding == Binding::Staged) else {
            continue;
        };
        let certain = within.iter().all(|construct| construct.binding == Binding::Staged);
        ctx.report(
            &WHILE_BECOMES_TENSOR,
            iterations.construct.head(),
            format!("this Python loop cannot exit on the Tensor `{}`", ctx.text(condition.test_range)),
        )
        .label(ctx.span(range), "`break` depends on a Tensor")
        .why(condition.why.clone())
        .severity(if certain { Severity::Error } else { Severity::Warning })
        .help(
            "use the condition as the test of the `while`, or stage the loop with `while tf.constant(True):`",
        )
        .emit();
        return;
    }
}

/// The `break` statements that exit this loop.
#[derive(Default)]
struct Breaks {
    found: Vec<TextRange>,
}

impl<'a> StatementVisitor<'a> for Breaks {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::For(_) | Stmt::While(_) => {}
            Stmt::Break(node) => self.found.push(node.range()),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}
