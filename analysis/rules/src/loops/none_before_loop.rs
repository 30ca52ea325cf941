//! AG202: a loop-carried variable that is `None` before the loop.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::values;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::Severity;
use ag_flow::BlockVariable;
use ag_index::facts::Binding;
use ag_staging::construct::{Construct, ConstructKind};

declare_rule! {
    /// ## What it does
    /// Reports a name that is `None` before a staged loop, if the body of the loop reads the name, or binds it only
    /// under a staged `if`.
    ///
    /// ## Why is this bad?
    /// A graph has no `None`. TensorFlow traces the body once with `None` to infer the type of the value, and
    /// initializes the real loop with a *zero* of that type. So a test for `None` in the body is false in every
    /// iteration, and the zero takes part in the computation: a maximum that starts at zero is wrong for
    /// negative numbers, and no error is raised. If the trial trace fails on the `None`, TensorFlow raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def largest(values):
    ///     best = None
    ///     for v in values:
    ///         if best is None or v > best:
    ///             best = v
    ///     return best
    ///
    ///
    /// largest(tf.constant([-3, -1]))  # 0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def largest(values):
    ///     best = values[0]
    ///     for v in values:
    ///         if v > best:
    ///             best = v
    ///     return best
    ///
    ///
    /// largest(tf.constant([-3, -1]))  # -1
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing if the trial trace succeeds. Otherwise:
    /// ```text
    /// ValueError: 'best' is not allowed to be None before the loop
    /// ```
    pub(crate) static NONE_BEFORE_LOOP = {
        code: "AG202", name: "none-before-loop",
        summary: "a loop-carried variable is `None` before a staged loop",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx) {
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            let before = staged.before(&variable.name);
            let is_none = |definition: &&ag_flow::Def| ctx.fact_of(definition).is_none();
            if !before.is_empty() && before.iter().all(is_none) {
                carried_none(&staged, variable, before[0].range);
            }
        }
    }
}

fn carried_none(staged: &StagedLoop, variable: &BlockVariable, bound: TextRange) {
    let ctx = staged.ctx;
    let name = &variable.name;
    // These are the reads in the first iteration that no test for `None` guards.
    let seen = |read: &TextRange| {
        let definitions = ctx.flow.definitions_of(*read, name);
        definitions.iter().any(|definition| definition.range == bound)
    };
    let reads: Vec<TextRange> = staged.reads(name).into_iter().filter(seen).collect();
    let report = |message: String| {
        ctx.report(&NONE_BEFORE_LOOP, staged.head(), message)
            .label(ctx.span(bound), format!("`{name}` is `None` here"))
            .why(staged.construct.why.clone())
    };
    if let Some(operation) = operand_of(staged, &reads) {
        report(format!(
            "`{name}` is `None` before this staged loop, and its first iteration computes with it"
        ))
        .label(ctx.span(operation), "computed here")
        .help(format!("initialize `{name}` with a Tensor or a number"))
        .severity(severity(staged, operation))
        .emit();
    } else if let Some(what) = uncarriable_after(staged, variable) {
        report(format!(
            "`{name}` is `None` before this staged loop and {what} after an iteration; a staged loop can carry neither"
        ))
        .emit();
    } else if may_remain_none(staged, variable, bound) {
        report(format!(
            "`{name}` is `None` before this staged loop, and may still be after an iteration; a graph has no `None`"
        ))
        .help(format!("initialize `{name}` with a placeholder of its later type, such as `-1` or `0.0`"))
        .emit();
    } else if let Some(read) = reads.first() {
        report(format!(
            "`{name}` is `None` before this staged loop, but the graph initializes it with zero, never with `None`"
        ))
        .label(ctx.span(*read), "read here, where it is a Tensor even in the first iteration")
        .help(format!("initialize `{name}` with a value that the first iteration replaces"))
        .severity(Severity::Warning)
        .emit();
    }
}

/// Returns whether the name may still be `None` after an iteration, depending on values that only the graph computes:
///
/// ```python
/// for i in tf.range(n):
///     if x[i] == target:
///         found = i
/// ```
///
/// Returns false if Python decides one of the tests, or if a test reads the name, because the trial trace may then take
/// another branch.
fn may_remain_none(staged: &StagedLoop, variable: &BlockVariable, bound: TextRange) -> bool {
    let ctx = staged.ctx;
    let name = &variable.name;
    let reads = staged.reads(name);
    let inner: Vec<_> =
        ctx.decisions().map(|(construct, _)| construct).filter(|it| staged.encloses(it)).collect();
    let decides_in_graph = |construct: &Construct| {
        construct.binding == Binding::Staged
            && !reads.iter().any(|read| construct.test_range.contains_range(*read))
    };
    ctx.flow.definitions_after_body(staged.stmt, name).iter().any(|definition| definition.range == bound)
        && inner.iter().any(|construct| construct.kind == ConstructKind::If)
        && inner.into_iter().all(decides_in_graph)
}

/// Returns the severity: an error only if every trace reaches `range`.
fn severity(staged: &StagedLoop, range: TextRange) -> Severity {
    if staged.certainly_traces(range) { Severity::Error } else { Severity::Warning }
}

/// Returns a description of the value after an iteration, if a graph cannot carry it.
fn uncarriable_after(staged: &StagedLoop, variable: &BlockVariable) -> Option<String> {
    let definitions = staged.after(&variable.name);
    let described: Option<Vec<String>> =
        definitions.iter().map(|definition| values::without_zero(staged.ctx, definition)).collect();
    described?.into_iter().next()
}

/// Returns the first use of a value that may still be `None`: an arithmetic operation, an ordering comparison, an item
/// or an attribute in the body with an operand among `reads`.
fn operand_of(staged: &StagedLoop, reads: &[TextRange]) -> Option<TextRange> {
    let mut operations = Operations { staged, reads, found: None };
    operations.visit_body(staged.body());
    operations.found
}

struct Operations<'s, 'c, 'a> {
    staged: &'s StagedLoop<'c, 'a>,
    reads: &'s [TextRange],
    found: Option<TextRange>,
}

impl Operations<'_, '_, '_> {
    fn is_none(&self, operand: &Expr) -> bool {
        self.reads.contains(&operand.range()) && self.staged.ctx.python_fact(operand).may_be_none()
    }
}

impl<'a> SourceOrderVisitor<'a> for Operations<'_, '_, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::AugAssign(assign) if self.is_none(&assign.target) => {
                self.found.get_or_insert(assign.range());
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let computes = match expression {
            Expr::BinOp(operation) => self.is_none(&operation.left) || self.is_none(&operation.right),
            Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::USub, operand, .. }) => self.is_none(operand),
            Expr::Compare(compare) => {
                let orders = |op: &CmpOp| matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE);
                compare.ops.iter().all(orders)
                    && (self.is_none(&compare.left)
                        || compare.comparators.iter().any(|operand| self.is_none(operand)))
            }
            Expr::Subscript(subscript) => self.is_none(&subscript.value),
            Expr::Attribute(attribute) => self.is_none(&attribute.value),
            Expr::Lambda(_) => return,
            _ => false,
        };
        if computes {
            self.found.get_or_insert(expression.range());
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
