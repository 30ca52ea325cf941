//! AG201: a loop-carried variable that is undefined before the loop.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::values;
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::names::Names;
use ag_db::diagnostic::{Applicability, Severity};
use ag_flow::{BlockVariable, DefKind, Definedness};
use ag_index::facts::Binding;
use ag_index::facts::{Alternative, DType, Fact};
use ag_staging::construct::ConstructKind;
use ag_syntax::edits;

declare_rule! {
    /// ## What it does
    /// Reports a name that is first assigned inside a staged loop, if the loop reads the name before that assignment.
    /// Also reports a name that is used after the loop if its value is neither a Tensor nor a number, or if only one
    /// branch of a staged `if` binds it.
    ///
    /// ## Why is this bad?
    /// A staged loop carries its variables from one iteration to the next, so each must be defined before the
    /// first iteration. TensorFlow initializes an undefined variable with a zero whose type it infers from a
    /// trial trace of the body. The trial trace fails if the body reads the name first, and there is no zero
    /// for an object.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def sum_to(n):
    ///     for i in tf.range(n):
    ///         total += i
    ///     return total
    ///
    ///
    /// sum_to(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def sum_to(n):
    ///     total = 0
    ///     for i in tf.range(n):
    ///         total += i
    ///     return total
    ///
    ///
    /// sum_to(tf.constant(3))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: the fix initializes a sum with zero, which may not be the intended value.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// ValueError: 'total' must be defined before the loop
    /// Note: AutoGraph tried to define it automatically, but ran into a UnboundLocalError: 'total' is used before assignment
    /// ```
    pub(crate) static UNDEFINED_LOOP_VAR = {
        code: "AG201", name: "undefined-loop-var",
        summary: "a loop-carried variable is undefined before a staged loop",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx) {
        for variable in staged.carried().filter(|variable| variable.before == Definedness::Never) {
            if !read_first(&staged, variable) && !bound_in_one_branch(&staged, variable) {
                report_missing_zero(&staged, variable);
            }
        }
    }
}

/// Returns whether the first iteration reads an undefined name: `total += i`.
fn read_first(staged: &StagedLoop, variable: &BlockVariable) -> bool {
    let ctx = staged.ctx;
    let name = &variable.name;
    let undefined = |read: &TextRange| {
        ctx.flow.definitions_of(*read, name).iter().any(|definition| !definition.kind.defines())
    };
    let Some(read) = staged.reads(name).into_iter().find(undefined) else { return false };
    let certain = staged.certainly_traces(read);
    let message = format!("`{name}` is undefined before this staged loop, but its first iteration reads it");
    let report = ctx
        .report(&UNDEFINED_LOOP_VAR, staged.head(), message)
        .label(ctx.span(read), format!("`{name}` is read here"))
        .why(staged.construct.why.clone())
        .help(format!("define `{name}` before the loop, with the type it has after an iteration"))
        .severity(if certain { Severity::Error } else { Severity::Warning });
    let zero = zero(staged, variable).map(|zero| format!("{name} = {zero}"));
    let edit = zero.and_then(|line| {
        edits::line_before(&ctx.ast.text, staged.construct.range.start(), &line).map(|edit| (line, edit))
    });
    match edit {
        Some((line, edit)) => {
            report.fix(Applicability::Unsafe, format!("Initialize with `{line}`"), vec![edit]).emit();
        }
        None => report.emit(),
    }
    true
}

/// Returns the zero of the type of the values that `total += i` adds.
fn zero(staged: &StagedLoop, variable: &BlockVariable) -> Option<&'static str> {
    let definitions = staged.after(&variable.name);
    let [definition] = definitions.as_slice() else { return None };
    if definition.kind != DefKind::AugAssign {
        return None;
    }
    let value = staged.ctx.value_of(definition)?;
    match staged.ctx.python_fact(value) {
        Fact { alternatives, unknown: false, .. } if alternatives.as_slice() == [Alternative::Float] => {
            Some("0.0")
        }
        fact if fact.dtype() == Some(DType::Float32) => Some("0.0"),
        fact if fact.dtype() == Some(DType::Int32) => Some("0"),
        _ => matches!(value, Expr::NumberLiteral(number) if number.value.is_int()).then_some("0"),
    }
}

/// Returns whether the name is used after the loop, and only one branch of a staged `if` in the loop binds it:
///
/// ```python
/// for i in tf.range(n):
///     if x[i] > 0:
///         found = i
/// return found
/// ```
fn bound_in_one_branch(staged: &StagedLoop, variable: &BlockVariable) -> bool {
    let (ctx, name) = (staged.ctx, &variable.name);
    if !variable.live_out || !name.is_simple() {
        return false;
    }
    let binds = |body: &[Stmt]| Names::of_body(body).bound.contains(name.root());
    let found = ctx.staged_ifs().find(|(construct, statement, clause)| {
        let clauses = &statement.elif_else_clauses;
        let body = match clause.checked_sub(1) {
            Some(position) => clauses.get(position).map_or(&[][..], |clause| clause.body.as_slice()),
            None => statement.body.as_slice(),
        };
        let rest = clauses.get(*clause..).unwrap_or_default();
        let (main, orelse) = (binds(body), rest.iter().any(|clause| binds(&clause.body)));
        let raises = |body: &[Stmt]| matches!(body.last(), Some(Stmt::Raise(_)));
        // If Python decides an outer `if` in the loop, that `if` may skip this one.
        let is_traced = ctx
            .enclosing(statement.range())
            .take_while(|outer| outer.range != staged.construct.range)
            .all(|outer| outer.binding == Binding::Staged || outer.kind == ConstructKind::For);
        staged.construct.range.contains_range(statement.range())
            && main != orelse
            && is_traced
            && !raises(body)
            && !rest.iter().any(|clause| raises(&clause.body))
            && is_bound_only_in(staged.body(), statement, name.root())
            && construct.binding == Binding::Staged
    });
    let Some((inner, statement, _)) = found else { return false };
    // A `for` that Python runs may have no iterations.
    let severity = match staged.certainly_traces(statement.range()) {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let message = format!(
        "`{name}` is undefined before this staged loop, and only one branch of a staged `if` in the loop binds it"
    );
    ctx.report(&UNDEFINED_LOOP_VAR, staged.head(), message)
        .label(ctx.span(inner.test_range), format!("`{name}` depends on this condition"))
        .why(staged.construct.why.clone())
        .help(format!("define `{name}` before the loop, with the type it has after an iteration"))
        .severity(severity)
        .emit();
    true
}

/// Returns whether all bindings of a name in a block are inside the statement `inner`.
fn is_bound_only_in(block: &[Stmt], inner: &ast::StmtIf, name: &str) -> bool {
    block.iter().all(|statement| {
        if !Names::of_statement(statement).bound.contains(name) || statement.range() == inner.range() {
            return true;
        }
        statement.range().contains_range(inner.range())
            && matches!(statement, Stmt::If(_) | Stmt::With(_) | Stmt::For(_) | Stmt::While(_))
            && ag_syntax::blocks::of(statement).into_iter().all(|block| is_bound_only_in(block, inner, name))
    })
}

/// Reports `box = Box(i)` if it is used after the loop: an object has no zero.
fn report_missing_zero(staged: &StagedLoop, variable: &BlockVariable) {
    let ctx = staged.ctx;
    let name = &variable.name;
    if !variable.live_out || variable.after_body != Definedness::Always {
        return;
    }
    let definitions = staged.after(name);
    let described: Option<Vec<String>> =
        definitions.iter().map(|definition| values::without_zero(ctx, definition)).collect();
    let (Some(what), Some(definition)) =
        (described.and_then(|all| all.into_iter().next()), definitions.first())
    else {
        return;
    };
    ctx.report(
        &UNDEFINED_LOOP_VAR,
        staged.head(),
        format!("`{name}` is undefined before this staged loop, and TensorFlow cannot create an initial value for {what}"),
    )
    .label(ctx.span(definition.range), format!("`{name}` is bound to {what} here"))
    .why(staged.construct.why.clone())
    .help(format!("define `{name}` before the loop, or assign the Tensors that it contains to separate variables"))
    .emit();
}
