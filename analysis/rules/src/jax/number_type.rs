//! Tests of the type of a number that JAX traces.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use crate::evaluation::Fault;
use crate::tracing::snippet;

declare_rule! {
    /// ## What it does
    /// Reports `isinstance(rate, float)` in traced functions, where the program passes a Python number for `rate`, and
    /// the result selects between two computations.
    ///
    /// ## Why is this bad?
    /// `jax.jit` replaces a Python number by a traced array. The test is false, and the function computes something else
    /// than without `jax.jit`.
    ///
    /// A test that only converts the number or rejects it is not reported.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    ///
    /// @jax.jit
    /// def scale(x, rate):
    ///     if isinstance(rate, float):
    ///         return x * rate
    ///     return x * rate[:, None]
    ///
    ///
    /// scale(jnp.ones((2, 3)), 0.5)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    ///
    /// @jax.jit
    /// def scale(x, rate):
    ///     if jnp.ndim(rate) == 0:
    ///         return x * rate
    ///     return x * rate[:, None]
    ///
    ///
    /// scale(jnp.ones((2, 3)), 0.5)
    /// ```
    pub(crate) static JAX_NUMBER_TYPE = {
        code: "AG555", name: "jax-number-type",
        summary: "a test of the type of a number is false because the number is traced",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for (range, _, fault) in &ctx.faults().places {
        if *fault == Fault::NumberType
            && let Some(Expr::Call(call)) = ctx.expression_at(*range)
            && let Some(value) = call.arguments.args.first()
            && !is_harmless(ctx, call, value)
        {
            let message = format!(
                "`{}` is false: the program passes a Python number for `{}`, and JAX traces it",
                snippet(ctx.text(call)),
                snippet(ctx.text(value)),
            );
            ctx.report(&JAX_NUMBER_TYPE, call, message)
                .help("test `jnp.ndim(…)`, or make the number a static argument (`static_argnames`)")
                .emit();
        }
    }
}

/// Returns whether the test selects no other computation: the branch converts the number, or raises an exception.
///
/// ```python
/// if isinstance(rate, float):
///     rate = jnp.asarray(rate)
/// rate = jnp.asarray(rate) if isinstance(rate, float) else rate
/// if isinstance(rate, float) and rate < 0:
///     raise ValueError("negative rate")
/// ```
fn is_harmless(ctx: &FunctionContext, call: &ast::ExprCall, value: &Expr) -> bool {
    let text = ctx.text(value);
    let is_same = |other: &Expr| ctx.text(other) == text;
    let only_checks = |statement: &Stmt| match statement {
        Stmt::Raise(_) | Stmt::Assert(_) | Stmt::Pass(_) | Stmt::Expr(_) => true,
        Stmt::Assign(assign) => assign.targets.iter().all(is_same),
        _ => false,
    };
    let mut statements = ctx.statements().into_iter().filter(|it| it.range().contains_range(call.range()));
    let of_statement = statements.any(|statement| match statement {
        Stmt::If(test) if test.test.range().contains_range(call.range()) => {
            test.elif_else_clauses.is_empty()
                && test.body.iter().all(|it| only_checks(it) || checks_again(it))
        }
        Stmt::Assert(_) => true,
        _ => false,
    });
    let mut choices = ctx.expressions().into_iter().filter_map(Expr::as_if_expr);
    of_statement
        || choices.any(|choice| {
            choice.test.range().contains_range(call.range())
                && (is_same(&choice.orelse) || is_same(&choice.body))
        })
}

/// Returns whether a statement is an `if` that only raises an exception.
fn checks_again(statement: &Stmt) -> bool {
    statement.as_if_stmt().is_some_and(|test| {
        test.elif_else_clauses.is_empty() && test.body.iter().all(|it| matches!(it, Stmt::Raise(_)))
    })
}
