//! `while` loops on tracers.

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing;
use super::{decision_severity, snippet};
use ag_staging::construct::ConstructKind;

declare_rule! {
    /// ## What it does
    /// Reports `while` loops whose condition is a traced array.
    ///
    /// ## Why is this bad?
    /// `jax.jit` runs the function once with tracers, which have no values. The number of iterations is unknown
    /// while tracing, so tracing raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def halve(x):
    ///     while jnp.abs(x) > 1:
    ///         x = x / 2
    ///     return x
    ///
    /// halve(jnp.array(8.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    /// from jax import lax
    ///
    /// @jax.jit
    /// def halve(x):
    ///     return lax.while_loop(lambda v: jnp.abs(v) > 1, lambda v: v / 2, x)
    ///
    /// halve(jnp.array(8.0))
    /// ```
    ///
    /// ## What jax reports
    /// `TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].`
    pub(crate) static JAX_LOOP = {
        code: "AG502", name: "jax-loop",
        summary: "a `while` on a traced condition",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for decision in tracing::decisions(ctx) {
        if decision.construct.kind != ConstructKind::While {
            continue;
        }
        let test = snippet(ctx, decision.test);
        let (is, severity) = decision_severity(ctx, &decision);
        ctx.report(
            &JAX_LOOP,
            decision.test,
            format!("`{test}` {is} traced; a `while` cannot convert a tracer to a Python bool"),
        )
        .severity(severity)
        .why(decision.construct.why.clone())
        .help("use `jax.lax.while_loop`, or `jax.lax.fori_loop` if the number of iterations is known")
        .emit();
    }
}
