//! AG208: a `return` in a staged loop.

use ruff_python_ast::Stmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::distributed;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::Severity;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;

declare_rule! {
    /// ## What it does
    /// Reports a `return` in the body of a staged loop.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts `return v` to a loop-carried variable that is undefined until an iteration returns. A
    /// graph cannot carry an undefined value.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_above(values, limit):
    ///     for v in values:
    ///         if v > limit:
    ///             return v
    ///     return limit
    ///
    ///
    /// first_above(tf.constant([1, 2]), tf.constant(1))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def first_above(values, limit):
    ///     found = limit
    ///     for v in values:
    ///         if v > limit:
    ///             found = v
    ///             break
    ///     return found
    ///
    ///
    /// first_above(tf.constant([1, 2]), tf.constant(1))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: a return statement cannot be placed inside this TensorFlow loop; this may happen if a return statement depends on a static Python condition such as a hyperparameter
    /// ```
    pub(crate) static RETURN_IN_LOOP = {
        code: "AG208", name: "return-in-loop",
        summary: "a `return` in a staged loop",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut reported: Option<TextRange> = None;
    for staged in staged_loops(ctx) {
        // A loop nested in a reported loop is not reached.
        if reported.is_some_and(|outer| outer.contains_range(staged.construct.range))
            || distributed::iterates(&staged)
        {
            continue;
        }
        let mut returns = Returns::default();
        returns.visit_body(staged.body());
        if let Some((range, severity)) = most_severe(&staged, &returns.ranges) {
            reported = Some(staged.construct.range);
            ctx.report(
                &RETURN_IN_LOOP,
                staged.head(),
                "a `return` in this staged loop: the return value is undefined until an iteration returns, and a graph cannot carry an undefined value",
            )
            .label(ctx.span(range), "returns here")
            .why(staged.construct.why.clone())
            .help("assign the result to a variable, use `break`, and return it after the loop")
            .severity(severity)
            .emit();
        }
    }
}

/// Returns the `return` with the highest severity, and this severity. A `return` that every iteration reaches does not
/// fail. A `return` under a Python condition fails only while the condition is false.
fn most_severe(staged: &StagedLoop, returns: &[TextRange]) -> Option<(TextRange, Severity)> {
    let severity = |range: TextRange| {
        let around: Vec<_> = staged
            .ctx
            .enclosing(range)
            .take_while(|construct| construct.range.start() != staged.construct.range.start())
            .collect();
        let branch = around.iter().find(|construct| construct.kind == ConstructKind::If)?;
        let both = staged
            .ctx
            .variables(branch)
            .is_some_and(|blocks| blocks.body.always_returns() && blocks.orelse.always_returns());
        match branch.binding {
            Binding::Staged if both => None,
            Binding::Staged if staged.certainly_traces(range) => Some(Severity::Error),
            _ => Some(Severity::Warning),
        }
    };
    returns.iter().filter_map(|&range| Some((range, severity(range)?))).max_by_key(|(_, severity)| *severity)
}

#[derive(Default)]
struct Returns {
    ranges: Vec<TextRange>,
}

impl<'a> StatementVisitor<'a> for Returns {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Return(node) => self.ranges.push(node.range()),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}
