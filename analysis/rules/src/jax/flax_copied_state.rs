//! Objects of `flax.nnx` of which a traced function changes a copy.

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use crate::evaluation::Fault;
use crate::tracing::snippet;

declare_rule! {
    /// ## What it does
    /// Reports functions that change an argument of `flax.nnx` and are transformed by JAX: `jax.jit`, `jax.vmap`,
    /// `jax.grad` and `jax.value_and_grad`. Functions that return the object, or read its state with `nnx.state` or
    /// `nnx.split`, are not reported.
    ///
    /// ## Why is this bad?
    /// JAX passes a copy of the object to the function, so the change is lost without an error: the optimizer never
    /// changes the weights, statistics stay as they are, and each call uses the same random keys. The transformations of
    /// `flax.nnx` with the same names pass the changes on to the caller.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// from flax import nnx
    ///
    /// @jax.jit
    /// def train(model: nnx.Linear, optimizer: nnx.Optimizer, gradients):
    ///     optimizer.update(model, gradients)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// from flax import nnx
    ///
    /// @nnx.jit
    /// def train(model: nnx.Linear, optimizer: nnx.Optimizer, gradients):
    ///     optimizer.update(model, gradients)
    /// ```
    pub(crate) static FLAX_COPIED_STATE = {
        code: "AG553", name: "flax-copied-state",
        summary: "a transformation of JAX loses the changes of an object of flax.nnx",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for (range, _, fault) in &ctx.faults().places {
        if let Fault::CopiedState(transformation) = fault
            && let Some(at) = ctx.expression_at(*range)
        {
            let message = format!(
                "`{}` changes an object of `flax.nnx` of which `{transformation}` has passed a copy: the change is lost",
                snippet(ctx.text(at))
            );
            let instead = transformation.replace("jax.", "nnx.");
            ctx.report(&FLAX_COPIED_STATE, at, message).help(format!("use `{instead}`")).emit();
        }
    }
}
