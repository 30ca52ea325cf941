//! A name that only one branch of a staged `if` binds.

use ruff_text_size::{TextRange, TextSize};

use super::branches::{condition, framework};
use super::undefined_part::{self, Part};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_flow::{BlockVariable, Def, DefKind, Definedness, Role, StmtId};
use ag_index::dialect::Dialect;
use ag_index::facts::{Alternative, Binding};
use ag_staging::construct::{Construct, ConstructKind};
use ag_syntax::edits;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds names that a staged `if` binds in only one of its branches and that are used after it, and items of
    /// dictionaries and attributes of `self` that only one branch creates.
    ///
    /// ## Why is this bad?
    /// A staged `if` becomes one operation of the graph, and every name that it binds becomes an output of that
    /// operation. Both branches are traced and must produce all outputs: a graph has no unbound names. Python
    /// raises only if an unbound name is really used.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def scale(x: tf.Tensor):
    ///     if tf.reduce_max(x) > 1.0:
    ///         factor = 0.5
    ///     return x * factor
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def scale(x: tf.Tensor):
    ///     factor = 1.0
    ///     if tf.reduce_max(x) > 1.0:
    ///         factor = 0.5
    ///     return x * factor
    /// ```
    ///
    /// ## Fix safety
    /// The fix initializes the name with the zero of its type in the branch. That may not be the intended
    /// value, so the fix is unsafe. There is no fix for a name bound to a Tensor or a structure.
    ///
    /// ## What TensorFlow reports
    /// > 'factor' must also be initialized in the else branch
    pub(crate) static UNDEFINED_BRANCH = {
        code: "AG101", name: "undefined-branch",
        summary: "a name is bound in only one branch of a staged `if`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph, Pennylane], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    // Only the innermost `if` is reported: TensorFlow rejects it first.
    let mut reported: Vec<(QName, TextRange)> = Vec::new();
    let ifs: Vec<_> = ctx.staged_ifs().collect();
    for (construct, ..) in ifs.into_iter().rev() {
        let Some(stmt) = ctx.flow.cfg.statement_at(construct.range.start()) else { continue };
        let Some(variables) = ctx.flow.block_variables(stmt) else { continue };
        for variable in variables.outputs().filter(|variable| variable.name.is_simple()) {
            let Some(missing) = Missing::in_a_branch_of(variable) else { continue };
            let is_reported = reported
                .iter()
                .any(|(name, range)| *name == variable.name && construct.range.contains_range(*range));
            if !is_reported && !is_rejected_by_loop(ctx, construct, &variable.name) {
                report(ctx, construct, stmt, variable, missing);
                reported.push((variable.name.clone(), construct.range));
            }
        }
    }
    if ctx.dialect() == Dialect::Tensorflow {
        for Part { construct, name, at } in undefined_part::of(ctx) {
            let condition = condition(ctx, construct);
            let message = format!(
                "`{name}` is created only when {condition} holds; TensorFlow requires a value in both branches"
            );
            ctx.report(&UNDEFINED_BRANCH, construct.head(), message)
                .why(construct.why.clone())
                .label(ctx.span(at), format!("`{name}` is created here"))
                .help(format!("assign `{name}` before the `if` or in the other branch"))
                .emit();
        }
    }
}

/// The branch in which the name is not bound.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Main,
    Else,
}

impl Missing {
    fn in_a_branch_of(variable: &BlockVariable) -> Option<Self> {
        match (variable.after_body, variable.after_orelse) {
            (Definedness::Never, Definedness::Never) => None,
            (Definedness::Never, _) => Some(Self::Main),
            (_, Definedness::Never) => Some(Self::Else),
            _ => None,
        }
    }
}

/// Returns whether TensorFlow rejects an enclosing staged loop first, because it carries the name and the name is
/// unbound before the loop.
fn is_rejected_by_loop(ctx: &FunctionContext, construct: &Construct, name: &QName) -> bool {
    let loops = ctx.enclosing(construct.range).filter(|outer| outer.kind.is_loop());
    loops.filter(|outer| outer.binding == Binding::Staged).any(|outer| {
        ctx.variables(outer)
            .as_ref()
            .and_then(|variables| variables.get(name))
            .is_some_and(|variable| variable.role != Role::Local && variable.before == Definedness::Never)
    })
}

fn report(
    ctx: &FunctionContext,
    construct: &Construct,
    stmt: StmtId,
    variable: &BlockVariable,
    missing: Missing,
) {
    let name = &variable.name;
    let condition = condition(ctx, construct);
    let framework = framework(ctx);
    let mut bound = match missing {
        Missing::Main => ctx.flow.definitions_after_orelse(stmt, name),
        Missing::Else => ctx.flow.definitions_after_body(stmt, name),
    };
    bound.retain(|definition| construct.range.contains_range(definition.range));
    let message = match (missing, variable.before) {
        (Missing::Main, Definedness::Always) => {
            format!(
                "`{name}` is deleted when {condition} holds; {framework} requires a value in both branches"
            )
        }
        (Missing::Else, Definedness::Always) => {
            format!(
                "`{name}` is deleted when {condition} does not hold; {framework} requires a value in both branches"
            )
        }
        (Missing::Main, _) => {
            format!(
                "`{name}` is bound only when {condition} does not hold; {framework} requires a value in both branches"
            )
        }
        (Missing::Else, _) => {
            format!(
                "`{name}` is bound only when {condition} holds; {framework} requires a value in both branches"
            )
        }
    };
    let mut report = ctx.report(&UNDEFINED_BRANCH, construct.head(), message).why(construct.why.clone());
    for definition in &bound {
        report = report.label(ctx.span(definition.range), format!("`{name}` is bound here"));
    }
    if variable.before == Definedness::Always {
        report.help(format!("assign to `{name}` instead of deleting it")).emit();
        return;
    }
    report = report.help(format!("assign `{name}` before the `if` or in the other branch"));
    let start = outermost(ctx, construct, name).range.start();
    if variable.before == Definedness::Never
        && let Some((zero, edit)) = zero_before(ctx, start, name, &bound)
    {
        let message = format!("Define `{name} = {zero}` before the `if`");
        report = report.fix(Applicability::Unsafe, message, vec![edit]);
    }
    report.emit();
}

/// Returns the outermost enclosing `if` that TensorFlow would reject for the same name, once the inner one is fixed.
fn outermost<'a>(ctx: &FunctionContext<'a>, construct: &'a Construct, name: &QName) -> &'a Construct {
    let outer = ctx.enclosing(construct.range).take_while(|outer| outer.kind == ConstructKind::If);
    let needs = |outer: &&Construct| {
        ctx.variables(outer)
            .as_ref()
            .and_then(|variables| variables.get(name))
            .is_some_and(|variable| variable.role == Role::Output && variable.before == Definedness::Never)
    };
    outer.take_while(needs).last().unwrap_or(construct)
}

/// Returns the edit that inserts `y = 0` before a statement, if all values bound to the name are numbers of one type.
fn zero_before(
    ctx: &FunctionContext,
    start: TextSize,
    name: &QName,
    bound: &[&Def],
) -> Option<(&'static str, Edit)> {
    let mut zeros = bound.iter().map(|definition| match definition.kind {
        DefKind::Assign => match ctx.fact_of(definition).alternatives.as_slice() {
            [Alternative::Bool(_)] => Some("False"),
            [Alternative::Int(_)] => Some("0"),
            [Alternative::Float] => Some("0.0"),
            _ => None,
        },
        _ => None,
    });
    let zero = zeros.next()??;
    if !zeros.all(|other| other == Some(zero)) {
        return None;
    }
    Some((zero, edits::line_before(&ctx.ast.text, start, &format!("{name} = {zero}"))?))
}
