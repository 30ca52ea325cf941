//! Functions of JAX that need values, passed to a transformation.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use super::static_parameters::COUNTING;
use crate::program::Bound;
use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, sequence};

declare_rule! {
    /// ## What it does
    /// Reports functions of JAX whose result length depends on the values (`jnp.nonzero`, `jnp.unique`, `jnp.where` of
    /// one argument, `jax.ops.segment_sum` without `num_segments`) that are passed directly to `jax.jit`, `jax.vmap`,
    /// `jax.lax.map` or `jnp.apply_along_axis`.
    ///
    /// ## Why is this bad?
    /// The transformation calls them with tracers, which have no values, so the length is unknown and JAX raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// positions = jax.jit(jnp.flatnonzero)
    /// positions(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// positions = jax.jit(jnp.flatnonzero, static_argnames="size")
    /// positions(jnp.ones(3), size=3)
    /// ```
    ///
    /// ## What jax reports
    /// `ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected`
    pub(crate) static JAX_TRACED_LIBRARY_FUNCTION = {
        code: "AG545", name: "jax-traced-library-function",
        summary: "a JAX function that needs values is passed directly to a transformation",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    for site in &program.calls {
        let call = site.node;
        let (transformation, arguments) = match &*call.func {
            Expr::Call(made) => (made, &call.arguments),
            Expr::Name(_) => match program.value(site.scope, &call.func).0 {
                Bound::Value(Expr::Call(made)) => (made, &call.arguments),
                _ => continue,
            },
            _ => (call, &call.arguments),
        };
        let Some(name) = ctx.resolve(&transformation.func) else { continue };
        let applied = !std::ptr::eq(transformation, call);
        let positional = match name.as_str() {
            "jax.jit" | "jax.vmap" if applied => arguments.args.len(),
            "jax.lax.map" if !applied => 1,
            "jax.numpy.apply_along_axis" if !applied => arguments.args.len().saturating_sub(2),
            _ => continue,
        };
        if let Some((function, keyword)) = needs_values(ctx, transformation, arguments, positional) {
            ctx.report(
                &JAX_TRACED_LIBRARY_FUNCTION,
                call,
                format!("the length of the result of `{function}` depends on values, which `{name}` traces"),
            )
            .label(ctx.span(transformation.range()), "traced here")
            .help(format!("wrap it in a function that passes `{keyword}=`"))
            .emit();
        }
    }
}

/// Returns the function that is traced, and the keyword that would make the length of its result static; `None` if the
/// length is known, for example because the call passes this keyword.
fn needs_values(
    ctx: &FileContext,
    transformation: &ast::ExprCall,
    arguments: &ast::Arguments,
    positional: usize,
) -> Option<(String, &'static str)> {
    let function = ctx.resolve(transformation.arguments.args.first()?)?;
    let (name, keyword, position) = COUNTING.iter().find(|(name, ..)| *name == function.as_str())?;
    let is_known = arguments.find_keyword(keyword).is_some()
        || positional > *position
        || *name == "jax.numpy.where" && positional > 1
        || arguments.args.iter().any(Expr::is_starred_expr)
        || arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || !is_mapped(ctx, transformation, needed_position(name));
    (!is_known).then(|| (function.to_string(), *keyword))
}

/// Returns the position of the argument whose values a function needs.
fn needed_position(function: &str) -> usize {
    usize::from(function == "jax.numpy.repeat" || function.starts_with("jax.ops."))
}

/// Returns whether a transformation certainly replaces an argument by a tracer. `jax.vmap` passes arguments with the
/// axis `None` unchanged:
///
/// ```python
/// jax.vmap(jax.ops.segment_sum, in_axes=(0, None))(xs, segments)     # `segments` keeps its values
/// ```
fn is_mapped(ctx: &FileContext, transformation: &ast::ExprCall, position: usize) -> bool {
    let is_vmap = ctx.resolve(&transformation.func).is_some_and(|name| name == "jax.vmap");
    let Some(axes) = argument(transformation, 1, "in_axes").filter(|_| is_vmap) else { return true };
    let axis = match sequence(axes) {
        Some(axes) => axes.get(position),
        None => Some(axes),
    };
    axis.is_some_and(|axis| integer(axis).is_some())
}
