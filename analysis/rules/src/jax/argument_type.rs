//! Arguments of types that a function rejects: Python sequences for arrays, and arrays for cached functions.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::{kinds, uses_jax};
use crate::program::{Bound, ScopeId};
use crate::tracing::snippet;

declare_rule! {
    /// ## What it does
    /// Reports lists and tuples that are passed to functions of `jax.numpy` instead of an array, and arrays and lists
    /// that are passed to functions with `functools.cache` or `functools.lru_cache`.
    ///
    /// ## Why is this bad?
    /// NumPy converts a list to an array. JAX raises an exception, because each element of a list that is traced would
    /// become an argument of the compiled function. A cache needs arguments that have a hash, and arrays have none.
    ///
    /// ## Example
    /// ```python
    /// import jax.numpy as jnp
    ///
    /// losses = [jnp.float32(0.5) for _ in range(3)]
    /// print(jnp.mean(losses))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax.numpy as jnp
    ///
    /// losses = [jnp.float32(0.5) for _ in range(3)]
    /// print(jnp.mean(jnp.stack(losses)))
    /// ```
    ///
    /// ## What jax reports
    /// `TypeError: mean requires ndarray or scalar arguments, got <class 'list'> at position 0.`
    pub(crate) static JAX_ARGUMENT_TYPE = {
        code: "AG556", name: "jax-argument-type",
        summary: "a function of JAX receives a list instead of an array, or a cached function an array",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(uses_jax, check),
    }
}

/// Functions of `jax.numpy` whose first argument must be an array or a number (verified with JAX 0.10).
const OF_ARRAYS: [&str; 84] = [
    "abs",
    "absolute",
    "all",
    "amax",
    "amin",
    "any",
    "append",
    "argmax",
    "argmin",
    "argsort",
    "around",
    "bincount",
    "ceil",
    "clip",
    "conj",
    "convolve",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "delete",
    "diag",
    "diff",
    "dot",
    "exp",
    "expand_dims",
    "expm1",
    "flip",
    "floor",
    "histogram",
    "inner",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "matmul",
    "max",
    "mean",
    "median",
    "min",
    "nan_to_num",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanstd",
    "nansum",
    "nanvar",
    "negative",
    "nonzero",
    "outer",
    "pad",
    "percentile",
    "prod",
    "quantile",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "round",
    "sign",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sum",
    "take",
    "tan",
    "tanh",
    "tile",
    "trace",
    "transpose",
    "tril",
    "triu",
    "var",
];

fn check(ctx: &FileContext) {
    for site in &ctx.program().calls {
        let Some(argument) = site.node.arguments.args.first() else { continue };
        let fault =
            sequence(ctx, site.scope, site.node, argument).or_else(|| unhashable(ctx, site.scope, site.node));
        if let Some((message, help)) = fault {
            ctx.report(&JAX_ARGUMENT_TYPE, site.node, message).help(help).emit();
        }
    }
}

/// Returns the message and help if a call passes a list or tuple for an array.
fn sequence<'a>(
    ctx: &FileContext<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
    argument: &'a Expr,
) -> Option<(String, &'static str)> {
    let name = ctx.resolve(&call.func)?;
    let function = name.strip_prefix("jax.numpy.").filter(|own| OF_ARRAYS.contains(own))?;
    let noun = match ctx.program().value(scope, argument).0 {
        Bound::Value(Expr::List(_) | Expr::ListComp(_)) => "a list",
        Bound::Value(Expr::Tuple(_)) => "a tuple",
        Bound::Value(Expr::Generator(_)) => "a generator",
        _ => return None,
    };
    let argument = snippet(ctx.text(argument));
    Some((
        format!("`jax.numpy.{function}` expects an array, but `{argument}` is {noun}"),
        "convert it to an array: `jnp.stack(…)`, `jnp.asarray(…)`",
    ))
}

/// Returns the message and help if a call passes an array or list to a function with `functools.lru_cache`.
fn unhashable<'a>(
    ctx: &FileContext<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
) -> Option<(String, &'static str)> {
    let program = ctx.program();
    let name = call.func.as_name_expr()?;
    let Bound::Function(def) = program.lookup(scope, &name.id, name.range().start())?.0 else { return None };
    let [decorator] = def.decorator_list.as_slice() else { return None };
    let maker = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
    if !matches!(ctx.resolve(maker)?.as_str(), "functools.cache" | "functools.lru_cache") {
        return None;
    }
    let values = call.arguments.iter_source_order().map(|argument| argument.value());
    // A parameter of a traced function is reported where the cache needs its value.
    let mut values = values.filter(|value| !matches!(program.value(scope, value).0, Bound::Other));
    let kind =
        values.find_map(|value| kinds::of(ctx, program, scope, value, 0).filter(|kind| !kind.hashable))?;
    Some((
        format!("`{}` is cached, and {} cannot be a key of a cache: it has no hash", name.id, kind.noun),
        "pass numbers, texts or tuples of them, or cache nothing",
    ))
}
