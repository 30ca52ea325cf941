//! Unhashable values of static arguments.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::jitted_calls::arguments;

declare_rule! {
    /// ## What it does
    /// Reports lists, dictionaries and sets passed to a static argument of a jitted function of the same file.
    ///
    /// ## Why is this bad?
    /// JAX caches one compiled function for each value of the static arguments, keyed by hash. Lists,
    /// dictionaries and sets are not hashable, so the call raises.
    ///
    /// ## Example
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="shape")
    /// def shaped(x, shape):
    ///     return x.reshape(shape)
    ///
    /// shaped(jnp.ones(6), shape=[2, 3])
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="shape")
    /// def shaped(x, shape):
    ///     return x.reshape(shape)
    ///
    /// shaped(jnp.ones(6), shape=(2, 3))
    /// ```
    ///
    /// ## What jax reports
    /// `ValueError: Non-hashable static arguments are not supported.`
    pub(crate) static JAX_STATIC = {
        code: "AG507", name: "jax-static",
        summary: "a static argument is not hashable",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(check),
    }
}

fn check(ctx: &FileContext) {
    for argument in arguments(ctx) {
        let kind = match argument.value {
            Expr::List(_) | Expr::ListComp(_) => "list",
            Expr::Dict(_) | Expr::DictComp(_) => "dictionary",
            Expr::Set(_) | Expr::SetComp(_) => "set",
            _ => continue,
        };
        if argument.is_static {
            ctx.report(
                &JAX_STATIC,
                argument.call,
                format!(
                    "a {kind} is not hashable, but `{}` is a static argument of `{}`",
                    argument.parameter, argument.function
                ),
            )
            .label(ctx.span(argument.value.range()), format!("a {kind}"))
            .help("pass a tuple or another hashable value")
            .emit();
        }
    }
}
