//! AG302: a `while` loop whose condition becomes a Tensor after the first round.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::rounds::{Round, Rounds};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_flow::Def;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructNode;

declare_rule! {
    /// ## What it does
    /// Reports a `while` loop that starts with a Python condition and then depends on a Tensor: by a
    /// name that the body binds to a Tensor, or by a `break` under a Tensor condition.
    ///
    /// ## Why is this bad?
    /// The condition of the first round decides how the loop runs. A Python value lets Python run it,
    /// while the graph is built, and Python cannot go on when the condition becomes a Tensor.
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
    /// Unsafe: in a staged loop the variables become Tensors, and keep their dtypes and shapes.
    ///
    /// ## What TensorFlow says
    /// ```text
    /// NotImplementedError: The condition of while loop started as non-Tensor, then changed to Tensor. This may happen either because variables changed type, or when a break or return statement inside the loop depends on a Tensor condition.
    /// ```
    pub(crate) static WHILE_BECOMES_TENSOR = {
        code: "AG302", name: "while-becomes-tensor",
        summary: "the condition of a `while` loop becomes a Tensor after the first round",
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
        let rounds = Rounds { ctx, construct, stmt };
        if rounds.binding(&statement.test, Round::First) != Binding::Python {
            continue;
        }
        if rounds.binding(&statement.test, Round::Later) == Binding::Staged {
            by_name(&rounds, &statement.test);
        } else if construct.binding == Binding::Python {
            by_break(&rounds, &statement.body);
        }
    }
}

/// `while large: … large = x > 1.0`.
fn by_name(rounds: &Rounds, test: &Expr) {
    let ctx = rounds.ctx;
    let becoming = rounds.becoming(test);
    let Some(definition) = becoming.first() else { return };
    let name = &definition.name;
    let certain = becoming.iter().any(|definition| rounds.is_certain(definition));
    let report = ctx
        .report(
            &WHILE_BECOMES_TENSOR,
            head(rounds),
            format!("`{name}` is a Python value in the first round of this loop and a Tensor from then on"),
        )
        .label(ctx.span(definition.range), format!("`{name}` becomes a Tensor here"))
        .severity(if certain { Severity::Error } else { Severity::Warning })
        .help(format!("start `{name}` as a Tensor, so that the loop is staged from the first round"));
    let report = match ctx.value_of(definition) {
        Some(value) => report.why(ctx.why(value)),
        None => report,
    };
    match started(rounds, definition) {
        Some((start, edit)) => {
            report.fix(Applicability::Unsafe, format!("Start from `{start}`"), vec![edit]).emit();
        }
        None => report.emit(),
    }
}

/// The literal that the name starts from, as a Tensor.
fn started(rounds: &Rounds, definition: &Def) -> Option<(String, Edit)> {
    let ctx = rounds.ctx;
    let before = ctx.flow.definitions_before(rounds.stmt, &definition.name);
    let [start] = before.as_slice() else { return None };
    let literal = ctx
        .value_of(start)
        .filter(|value| value.is_boolean_literal_expr() || value.is_number_literal_expr())?;
    let module = ctx.imports.local_name_of("tensorflow")?;
    let text = format!("{module}.constant({})", ctx.text(literal));
    Some((text.clone(), Edit::replace(literal.range(), text)))
}

/// `while True: … if x > 1.0: break`.
fn by_break(rounds: &Rounds, body: &[Stmt]) {
    let ctx = rounds.ctx;
    let mut breaks = Breaks::default();
    breaks.visit_body(body);
    for range in breaks.found {
        let start = rounds.construct.range.start();
        let within: Vec<_> =
            ctx.enclosing(range).take_while(|construct| construct.range.start() != start).collect();
        let Some(condition) = within.iter().find(|construct| construct.binding == Binding::Staged) else {
            continue;
        };
        let certain = within.iter().all(|construct| construct.binding == Binding::Staged);
        ctx.report(
            &WHILE_BECOMES_TENSOR,
            head(rounds),
            format!(
                "this loop starts as Python's, but the Tensor `{}` is to end it",
                ctx.text(condition.test_range)
            ),
        )
        .label(ctx.span(range), "`break` depends on a Tensor")
        .why(condition.why.clone())
        .severity(if certain { Severity::Error } else { Severity::Warning })
        .help("put the condition after `while`, or stage the loop: `while tf.constant(True):`")
        .emit();
        return;
    }
}

fn head(rounds: &Rounds) -> TextRange {
    TextRange::new(rounds.construct.range.start(), rounds.construct.test_range.end())
}

/// The `break`s of a loop's body that end this loop.
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
