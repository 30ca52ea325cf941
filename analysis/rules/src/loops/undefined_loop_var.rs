//! AG201: a loop-carried variable that is undefined before the loop.

use ruff_python_ast::Expr;
use ruff_text_size::TextRange;

use super::carried::{StagedLoop, staged_loops};
use super::values;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Severity};
use ag_flow::{BlockVariable, DefKind, Definedness};
use ag_index::facts::{Alternative, DType, Fact};
use ag_syntax::edits;

declare_rule! {
    /// ## What it does
    /// Reports a name first assigned inside a staged loop that the loop reads earlier, or that is used after
    /// the loop and is neither a Tensor nor a number.
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
            if !read_first(&staged, variable) {
                report_missing_zero(&staged, variable);
            }
        }
    }
}

/// `total += i`: the first iteration reads a name that is undefined.
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

/// The zero of what is added in `total += i`.
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

/// `box = Box(i)`, used after the loop: an object has no zero.
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
