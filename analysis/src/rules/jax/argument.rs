//! Arguments that cannot be traced.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::declare::declare_rule;
use super::super::FileContext;
use super::jitted_calls::arguments;

declare_rule! {
    /// ## What it does
    /// Reports a string or a lambda given to an argument of a jitted function of the same file that is
    /// not static.
    ///
    /// ## Why is this bad?
    /// `jax.jit` makes a tracer of every argument that is not static. It can do that for numbers,
    /// arrays, and containers of them. Anything else raises at the call.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def flip(x, mode):
    ///     return x[::-1] if mode == "reverse" else x
    ///
    /// flip(jnp.ones(3), "reverse")
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="mode")
    /// def flip(x, mode):
    ///     return x[::-1] if mode == "reverse" else x
    ///
    /// flip(jnp.ones(3), mode="reverse")
    /// ```
    ///
    /// ## What jax says
    /// `TypeError: Error interpreting argument to <function flip> as an abstract array. The
    /// problematic value is of type <class 'str'> and was passed to the function at path mode.`
    pub(crate) static JAX_ARGUMENT = {
        code: "AG510", name: "jax-argument",
        summary: "an argument of a jitted function cannot be traced",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(check),
    }
}

fn check(ctx: &FileContext) {
    for given in arguments(ctx) {
        let kind = match given.value {
            Expr::StringLiteral(_) | Expr::FString(_) => "string",
            Expr::Lambda(_) => "function",
            _ => continue,
        };
        if !given.is_static {
            ctx.report(
                &JAX_ARGUMENT,
                given.call,
                format!("a {kind} cannot be traced; `{}` of `{}` is not static", given.parameter, given.function),
            )
            .label(ctx.span(given.value.range()), format!("a {kind}"))
            .help(format!("Add `static_argnames=\"{}\"` to `jax.jit`", given.parameter))
            .emit();
        }
    }
}
