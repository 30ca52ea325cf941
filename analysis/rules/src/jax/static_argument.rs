//! Unhashable values of static arguments.

use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use super::jitted_calls::{Argument, arguments};

declare_rule! {
    /// ## What it does
    /// Reports values that are not hashable (lists, dictionaries, sets, arrays, instances of a dataclass that is not
    /// frozen) passed to a static argument of a jitted function of the same file.
    ///
    /// ## Why is this bad?
    /// JAX caches one compiled function for each value of the static arguments, keyed by hash. Lists,
    /// dictionaries, sets and arrays are not hashable, so the call raises.
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
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    for argument in arguments(ctx) {
        if !argument.is_static || argument.kind.hashable {
            continue;
        }
        let kind = &argument.kind.noun;
        ctx.report(
            &JAX_STATIC,
            argument.call,
            format!(
                "{kind} is not hashable, but `{}` is a static argument of `{}`",
                argument.parameter, argument.function
            ),
        )
        .label(ctx.span(argument.value.range()), kind.clone())
        .help(help(&argument))
        .emit();
    }
}

fn help(argument: &Argument) -> &'static str {
    match argument.kind.noun.as_str() {
        "an array" => "pass a Python number or a tuple, or do not make the argument static",
        noun if noun.starts_with("an instance") => {
            "make it a frozen dataclass, or define `__eq__` and `__hash__`"
        }
        _ => "pass a tuple or another hashable value",
    }
}
