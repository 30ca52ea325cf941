//! Objects of `flax.nnx` that a trace changes although its function does not receive them.

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use crate::evaluation::Fault;
use crate::tracing::snippet;

declare_rule! {
    /// ## What it does
    /// Reports traced code that changes an object of `flax.nnx` which was created outside of the trace, and which the
    /// function does not receive as an argument: calls of layers such as `nnx.BatchNorm` and `nnx.Dropout`, updates of
    /// optimizers and metrics, keys drawn from `nnx.Rngs`, and assignments to variables and attributes of modules.
    ///
    /// ## Why is this bad?
    /// `flax.nnx` raises `TraceContextError: Cannot mutate … from a different trace level`. This holds for each
    /// transformation: a function passed to `jax.grad` or `jax.lax.scan` cannot change an object of the jitted function
    /// around it.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// from flax import nnx
    ///
    /// norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    ///
    /// @nnx.jit
    /// def normalize(x):
    ///     return norm(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// from flax import nnx
    ///
    /// norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    ///
    /// @nnx.jit
    /// def normalize(norm, x):
    ///     return norm(x)
    /// ```
    pub(crate) static FLAX_OUTER_STATE = {
        code: "AG552", name: "flax-outer-state",
        summary: "a trace changes an object of flax.nnx that it does not receive",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for (range, _, fault) in &ctx.faults().places {
        if *fault == Fault::OuterState
            && let Some(at) = ctx.expression_at(*range)
        {
            let message = format!(
                "`{}` changes an object of `flax.nnx` that was created outside of this trace: `TraceContextError`",
                snippet(ctx.text(at))
            );
            ctx.report(&FLAX_OUTER_STATE, at, message)
                .help(
                    "pass the object to the function as an argument, and use a transformation of `flax.nnx`",
                )
                .emit();
        }
    }
}
