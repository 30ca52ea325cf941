//! Python side effects in a branch of a staged `if`: they happen no matter which branch is taken.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::branches::condition;
use super::raises;
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::effects;
use crate::effects::Mutation;
use crate::guards::tests_eager_execution;
use ag_db::diagnostic::Severity;
use ag_index::facts::Alternative;
use ag_staging::construct::{Construct, ConstructKind};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds `raise` statements and mutations of Python lists, dicts and sets in the branches of a staged `if`;
    /// also calls of functions that mutate such objects, increment an attribute or assign a global.
    ///
    /// ## Why is this bad?
    /// A staged `if` is traced, not run: Python executes **both** branches once while it builds the graph. A
    /// `raise` in either branch is always executed, so the function can never be used (an error). A list
    /// receives the items that both branches append while tracing, and none when the graph runs (a warning).
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def root(x: tf.Tensor):
    ///     if x < 0.0:
    ///         raise ValueError("negative")
    ///     return tf.sqrt(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def root(x: tf.Tensor):
    ///     tf.debugging.assert_non_negative(x, "negative")
    ///     return tf.sqrt(x)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// The exception of a `raise`, while tracing. Other side effects are not reported.
    pub(crate) static BOTH_BRANCHES_TRACED = {
        code: "AG110", name: "both-branches-traced",
        summary: "a Python side effect in a branch of a staged `if` happens no matter which branch is taken",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, raise) in raises::in_staged_branches(ctx) {
        let names: Vec<&str> = raises::raised(raise).into_iter().collect();
        // `try-over-staged` reports a `raise` that is caught.
        if raises::handler(ctx, raise.range(), &names).is_none() && !tests_eager_execution(ctx, raise.range())
        {
            let message = format!(
                "this `raise` always executes: both branches of the staged `if` are traced, whether or not {} holds",
                condition(ctx, construct),
            );
            ctx.report(&BOTH_BRANCHES_TRACED, raise.range(), message)
                .why(construct.why.clone())
                .help("use `tf.debugging.Assert` or another `tf.debugging.assert_*` function, which runs in the graph")
                .emit();
        }
    }
    for mutation in effects::mutations(&ctx.def().body) {
        if let Some(construct) = staged_if_around(ctx, &mutation) {
            let object = ctx.text(mutation.object.range());
            let what = match mutation.method {
                Some(method) => format!("`{object}.{method}` runs"),
                None => format!("`{object}` is mutated"),
            };
            report(ctx, construct, mutation.range, &what);
        }
    }
    Calls { ctx }.visit_body(&ctx.def().body);
}

/// Calls, in the branches of a staged `if`, of functions with side effects outside themselves.
struct Calls<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
}

impl<'a> SourceOrderVisitor<'a> for Calls<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        source_order::walk_expr(self, expression);
        let Expr::Call(call) = expression else { return };
        let region = self.ctx.staged_region(call.range()).filter(|region| region.kind == ConstructKind::If);
        let Some(construct) = region.filter(|_| self.ctx.staged_loop(call.range()).is_none()) else { return };
        let Some(callee) = self.ctx.callee(call) else { return };
        let Some(effect) = effects::outer_side_effect(callee.def()) else { return };
        let change = callee.text.get(std::ops::Range::<usize>::from(effect)).unwrap_or_default();
        let what = match change.contains('\n') {
            true => format!("`{}` mutates a Python object", self.ctx.text(call.func.range())),
            false => format!("`{change}` in `{}` runs", callee.def().name),
        };
        report(self.ctx, construct, call.range(), &what);
    }
}

/// Returns the staged `if` in whose branches the mutation is, if the mutated object was created before the `if`.
fn staged_if_around<'a>(ctx: &FunctionContext<'a>, mutation: &Mutation) -> Option<&'a Construct> {
    let construct = ctx.staged_region(mutation.range)?;
    let converted = |feature: &ag_index::assumptions::RootOptions| {
        feature.features.iter().any(|name| name == "LISTS" || name == "ALL")
    };
    let is_list_operation = matches!(mutation.method, Some("append" | "pop"));
    if construct.kind != ConstructKind::If || is_list_operation && converted(&ctx.stage.options) {
        return None;
    }
    let fact = ctx.fact(mutation.object);
    let is_container = |alternative: &Alternative| matches!(alternative, Alternative::Container { .. });
    if fact.unknown || fact.alternatives.is_empty() || !fact.alternatives.iter().all(is_container) {
        return None;
    }
    let name = QName::from_expr(mutation.object)?;
    let definitions = ctx.flow.definitions_of(mutation.object.range(), &name);
    let is_older = |outer: &Construct| {
        !definitions.is_empty()
            && definitions.iter().all(|definition| !outer.range.contains_range(definition.range))
    };
    // `hidden-mutation` reports an object that was created before an enclosing staged loop.
    let in_loop = ctx.staged_loop(mutation.range).is_some_and(is_older);
    (is_older(construct) && !in_loop).then_some(construct)
}

fn report(ctx: &FunctionContext, construct: &Construct, range: TextRange, what: &str) {
    let message = format!(
        "{what} once, when the branch is traced, whether or not {} holds",
        condition(ctx, construct),
    );
    ctx.report(&BOTH_BRANCHES_TRACED, range, message)
        .severity(Severity::Warning)
        .why(construct.why.clone())
        .help("assign a Tensor in both branches, or keep the state in a `tf.Variable` or `tf.TensorArray`")
        .emit();
}
