//! Functions and arguments that cannot be differentiated.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::abstract_value::{DType, Leaf, Value};
use super::evaluate::Evaluator;
use super::function_transforms::Axes;
use super::modules::Modules;
use super::obstacles::{self, Obstacle};
use super::transformed::{self, Transformed, is_false};
use super::{Fault, is_of_interest};
use crate::program::Bound;
use crate::sources::Contexts;
use ag_index::callbacks::argument;
use ag_syntax::expressions::natural;

declare_rule! {
    /// ## What it does
    /// Reports functions that `jax.grad`, `jax.value_and_grad`, `jax.jacfwd`, `jax.jacrev` and `jax.hessian` cannot
    /// differentiate:
    ///
    /// - the result is not a scalar, is an integer, or is a tuple without `has_aux=True`
    /// - the argument is an integer, or the function has no argument at the position `argnums`
    /// - the function returns the result of a `lax.while_loop`, which has no derivative in reverse mode
    /// - the function passes a value that depends on the argument to a host callback, which has no derivative
    ///
    /// ## Why is this bad?
    /// A gradient exists for real scalar results and real arguments. JAX raises at the call.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// def loss(w, x):
    ///     predicted = x @ w
    ///     return jnp.mean(predicted ** 2), predicted
    ///
    /// jax.value_and_grad(loss)(jnp.ones(3), jnp.ones((2, 3)))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// def loss(w, x):
    ///     predicted = x @ w
    ///     return jnp.mean(predicted ** 2), predicted
    ///
    /// jax.value_and_grad(loss, has_aux=True)(jnp.ones(3), jnp.ones((2, 3)))
    /// ```
    ///
    /// ## What jax reports
    /// `TypeError: Gradient only defined for scalar-output functions. Output was (…).`
    pub(crate) static JAX_GRADIENT = {
        code: "AG547", name: "jax-gradient",
        summary: "a function cannot be differentiated",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let contexts = Contexts::of(ctx);
    let modules = Modules::of(&contexts);
    let evaluator = Evaluator::in_project(ctx, program, &modules);
    let mut reported = Vec::new();
    for transformed in transformed::all(ctx, program) {
        let (transformed, axes) = inside_vmap(ctx, transformed);
        let name = transformed.name.as_str();
        if !matches!(name, "grad" | "value_and_grad" | "jacfwd" | "jacrev" | "hessian")
            || reported.contains(&transformed.made.range())
        {
            continue;
        }
        let call = transformed.applied.map_or(transformed.made, |(call, _)| call);
        if let Some(fault) = fault(&evaluator, &transformed, axes.as_ref()) {
            reported.push(transformed.made.range());
            fault.report(ctx, &JAX_GRADIENT, call, "here");
        }
    }
}

/// Returns the transformation inside `jax.vmap(jax.grad(f), in_axes)(x)` as if the call passed the mapped arguments to
/// it, with the axes.
fn inside_vmap<'a>(ctx: &FileContext<'a>, outer: Transformed<'a>) -> (Transformed<'a>, Option<Axes>) {
    if outer.name == "vmap"
        && let Some(function) = outer.function()
        && let (Bound::Value(Expr::Call(made)), scope) = ctx.program().value(outer.scope, function)
        && let Some(name) = transformed::name(ctx, made)
    {
        let axes = Axes::of_call(outer.made);
        return (Transformed { name, made, scope, applied: outer.applied }, Some(axes));
    }
    (outer, None)
}

fn fault<'a>(
    evaluator: &Evaluator<'_, 'a>,
    transformed: &Transformed<'a>,
    axes: Option<&Axes>,
) -> Option<Fault<'a>> {
    let at = transformed.function()?;
    let function = evaluator.function(transformed.scope, at);
    let argnums = argument(transformed.made, 1, "argnums");
    let positions: Vec<usize> = match argnums {
        None => vec![0],
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().filter_map(position).collect(),
        Some(other) => position(other).into_iter().collect(),
    };
    let arguments = transformed.arguments();
    if let Some(last) = positions.iter().max() {
        let available = arguments.map(<[Expr]>::len);
        let too_few = available.is_some_and(|available| *last >= available)
            || function.is_some_and(|function| !function.accepts_count(last + 1));
        if too_few {
            return Some(Fault {
                message: format!(
                    "`jax.{}` differentiates with respect to argument {last}, which the function does not have",
                    transformed.name
                ),
                help: "pass the position of an argument, counted from 0, in `argnums`",
                at: argnums.unwrap_or(at),
            });
        }
    }
    let holomorphic = transformed.sets("holomorphic");
    let values: Vec<Value> = match (arguments, transformed.applied) {
        (Some(arguments), Some((_, scope))) => {
            let values = arguments.iter().map(|argument| evaluator.value(scope, argument).without_integers());
            match axes {
                None => values.collect(),
                Some(axes) => {
                    values.enumerate().map(|(position, value)| axes.mapped(position, &value)).collect()
                }
            }
        }
        _ => Vec::new(),
    };
    let of_arguments = || {
        positions.iter().find_map(|position| {
            let (value, at) = (values.get(*position)?, arguments?.get(*position)?);
            input(transformed, value, holomorphic).map(|(message, help)| Fault { message, help, at })
        })
    };
    of_arguments().or_else(|| {
        let function = function?;
        if matches!(transformed.name.as_str(), "grad" | "value_and_grad")
            && !transformed.made.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        {
            let result = evaluator.call(function, values, 0);
            if let Some((message, help)) = output(transformed, &result, holomorphic) {
                return Some(Fault { message, help, at });
            }
        }
        let reverse = transformed.name != "jacfwd" && positions == [0];
        let (obstacle, help) = match obstacles::without_derivative(evaluator, function) {
            Some(Obstacle::Loop) if reverse => (
                "`lax.while_loop`",
                "use `lax.scan`, or `lax.fori_loop` with bounds that are known while tracing",
            ),
            Some(Obstacle::Callback) if positions == [0] => (
                "a host callback",
                "define its derivative with `jax.custom_jvp`, or pass `jax.lax.stop_gradient(x)` to it",
            ),
            _ => return None,
        };
        Some(Fault {
            message: format!("`jax.{}` cannot differentiate {obstacle}", transformed.name),
            help,
            at,
        })
    })
}

fn position(value: &Expr) -> Option<usize> {
    usize::try_from(natural(value)?).ok()
}

/// Returns the message and help if a function cannot be differentiated with respect to an argument.
fn input(transformed: &Transformed, value: &Value, holomorphic: bool) -> Option<(String, &'static str)> {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    let wrong = leaves.iter().find_map(|leaf| {
        let (dtype, _) = leaf.dtype?;
        let fits =
            if holomorphic { matches!(dtype, DType::Complex64 | DType::Inexact) } else { dtype.is_inexact() };
        (!fits).then_some(dtype)
    })?;
    if transformed.sets("allow_int") {
        return None;
    }
    let what = if holomorphic { "a complex" } else { "a floating-point" };
    Some((
        format!(
            "`jax.{}` differentiates with respect to a value of dtype {}, but requires {what} dtype",
            transformed.name,
            wrong.as_str()
        ),
        "convert the argument with `astype`, or write `1.0` instead of `1`",
    ))
}

/// Returns the message and help if a function cannot be differentiated because of its result.
fn output(transformed: &Transformed, result: &Value, holomorphic: bool) -> Option<(String, &'static str)> {
    let name = &transformed.name;
    let result = match (transformed.keyword("has_aux"), result) {
        (None, result) => result,
        (Some(value), result) if is_false(value) => result,
        (Some(Expr::BooleanLiteral(_)), Value::Tuple(elements) | Value::List(elements))
            if elements.len() == 2 =>
        {
            elements.first()?
        }
        (Some(Expr::BooleanLiteral(_)), Value::Leaf(_) | Value::None | Value::Tuple(_) | Value::Dict(_)) => {
            return Some((
                format!(
                    "`jax.{name}` with `has_aux=True` needs a pair, but the function returns {}",
                    result.noun()
                ),
                "return the value and the auxiliary output: `return loss, aux`",
            ));
        }
        _ => return None,
    };
    const SCALAR: &str = "return a scalar, such as `jnp.mean(…)`";
    match result {
        Value::Tuple(_) | Value::List(_) | Value::Dict(_) | Value::Record(_) => Some((
            format!("`jax.{name}` needs a scalar, but the function returns {}", result.noun()),
            "pass `has_aux=True` if the function returns a pair of a scalar and other values",
        )),
        Value::None => Some((format!("`jax.{name}` needs a scalar, but the function returns None"), SCALAR)),
        Value::Leaf(Leaf { shape: Some(shape), .. }) if !shape.is_empty() => {
            Some((format!("`jax.{name}` needs a scalar, but the function returns {}", result.noun()), SCALAR))
        }
        Value::Leaf(Leaf { dtype: Some((dtype, _)), .. }) => {
            let fits = match dtype {
                DType::Inexact => true,
                DType::Complex64 => holomorphic,
                other => other.is_inexact() && !holomorphic,
            };
            (!fits).then(|| {
                (
                    format!("`jax.{name}` cannot differentiate a result of the dtype {}", dtype.as_str()),
                    "return a real floating-point scalar",
                )
            })
        }
        _ => None,
    }
}
