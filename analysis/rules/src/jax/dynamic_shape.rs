//! Shapes that depend on traced values.

use ruff_python_ast::{self as ast, Expr, ExprContext};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{is_created_before_tracing, is_mask, is_tensor};
use super::{snippet, value_severity};
use ag_index::callbacks::argument;

declare_rule! {
    /// ## What it does
    /// Reports arrays whose shape depends on a traced value: a boolean mask as index, a traced bound of a
    /// slice, `jnp.zeros(n)` and `jnp.arange(n)` for a traced `n`, and `jnp.nonzero`, `jnp.unique` and similar
    /// functions without `size=`.
    ///
    /// ## Why is this bad?
    /// Under `jax.jit` every shape must be known while tracing. A tracer has no value, so tracing raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def positive_sum(x):
    ///     return x[x > 0].sum()
    ///
    /// positive_sum(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def positive_sum(x):
    ///     return jnp.where(x > 0, x, 0).sum()
    ///
    /// positive_sum(jnp.ones(3))
    /// ```
    /// `jax.lax.dynamic_slice` takes a traced start and a static size; `jnp.nonzero(x, size=n)` pads.
    ///
    /// ## What jax reports
    /// `NonConcreteBooleanIndexError: Array boolean indices must be concrete`, `IndexError: Slice
    /// entries must be static integers`, or `TypeError: Shapes must be 1D sequences of concrete
    /// values of integer type`
    pub(crate) static JAX_DYNAMIC_SHAPE = {
        code: "AG509", name: "jax-dynamic-shape",
        summary: "a shape depends on a traced value",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

/// The functions of `jax.numpy` with a shape or length argument, as position and keyword.
const SHAPED: &[(&str, &[(usize, &str)])] = &[
    ("arange", &[(0, "start"), (1, "stop"), (2, "step")]),
    ("broadcast_to", &[(1, "shape")]),
    ("empty", &[(0, "shape")]),
    ("eye", &[(0, "N"), (1, "M")]),
    ("full", &[(0, "shape")]),
    ("identity", &[(0, "n")]),
    ("linspace", &[(2, "num")]),
    ("ones", &[(0, "shape")]),
    ("reshape", &[(1, "shape")]),
    ("tile", &[(1, "reps")]),
    ("zeros", &[(0, "shape")]),
];

/// The functions of `jax.numpy` whose result length depends on the values, and the keyword that makes it
/// static.
const COUNTING: &[(&str, &str)] = &[
    ("argwhere", "size"),
    ("flatnonzero", "size"),
    ("intersect1d", "size"),
    ("nonzero", "size"),
    ("repeat", "total_repeat_length"),
    ("setdiff1d", "size"),
    ("union1d", "size"),
    ("unique", "size"),
    ("unique_counts", "size"),
    ("unique_values", "size"),
    ("where", "size"),
];

fn check(ctx: &FunctionContext) {
    for expression in ctx.expressions() {
        let found = match expression {
            Expr::Subscript(subscript) => of_index(ctx, subscript),
            Expr::Call(call) => of_call(ctx, call),
            _ => None,
        };
        let Some((message, value, help)) = found else { continue };
        if is_created_before_tracing(ctx, value) {
            continue;
        }
        ctx.report(&JAX_DYNAMIC_SHAPE, expression, message)
            .severity(value_severity(ctx, value))
            .why(ctx.why(value))
            .help(help)
            .emit();
    }
}

type Found<'a> = Option<(String, &'a Expr, String)>;

/// `x[x > 0]`, `x[:n]`, `x.at[x > 0]`.
fn of_index<'a>(ctx: &FunctionContext<'a>, subscript: &'a ast::ExprSubscript) -> Found<'a> {
    let array = match &*subscript.value {
        Expr::Attribute(attribute) if attribute.attr.as_str() == "at" => &*attribute.value,
        value => value,
    };
    if subscript.ctx != ExprContext::Load || !is_tensor(ctx, array) {
        return None;
    }
    let array = snippet(ctx, array);
    let parts = match &*subscript.slice {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        other => std::slice::from_ref(other),
    };
    for part in parts {
        if is_mask(ctx, part) {
            let message = format!(
                "the shape of `{array}` indexed by the mask `{}` is unknown while tracing",
                snippet(ctx, part)
            );
            return Some((message, part, "use `jnp.where(mask, x, fill)`, which keeps the shape".to_owned()));
        }
        let Expr::Slice(slice) = part else { continue };
        let bounds = [&slice.lower, &slice.upper, &slice.step].into_iter().flatten();
        if let Some(bound) = bounds.map(|bound| &**bound).find(|bound| is_tensor(ctx, bound)) {
            let message = format!(
                "the slice of `{array}` has the bound `{}`, which is traced and has no value yet",
                snippet(ctx, bound)
            );
            let help = "use `jax.lax.dynamic_slice` with a static size, or make the bound a static argument";
            return Some((message, bound, help.to_owned()));
        }
    }
    None
}

/// `jnp.zeros(n)`, `jnp.nonzero(x)`.
fn of_call<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Found<'a> {
    let name = ctx.resolve(&call.func)?;
    let function = name.strip_prefix("jax.numpy.")?;
    if let Some((_, places)) = SHAPED.iter().find(|(shaped, _)| *shaped == function) {
        let value = places.iter().find_map(|(position, keyword)| {
            let value = argument(call, *position, keyword)?;
            let parts = match value {
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                Expr::List(list) => list.elts.as_slice(),
                other => std::slice::from_ref(other),
            };
            parts.iter().find(|part| is_tensor(ctx, part))
        })?;
        let message = format!(
            "the shape of `jnp.{function}` depends on `{}`, which is traced and has no value yet",
            snippet(ctx, value)
        );
        return Some((message, value, "make it a static argument, or use the shape of an array".to_owned()));
    }
    let (_, keyword) = COUNTING.iter().find(|(counting, _)| *counting == function)?;
    let arguments = &call.arguments;
    let open = arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || arguments.args.iter().any(Expr::is_starred_expr);
    if open || arguments.find_keyword(keyword).is_some() {
        return None;
    }
    let value = match function {
        "where" if arguments.args.len() > 1 || !arguments.keywords.is_empty() => return None,
        "repeat" => argument(call, 1, "repeats")?,
        _ => arguments.args.first()?,
    };
    if !is_tensor(ctx, value) {
        return None;
    }
    let message = format!(
        "the length of `jnp.{function}` depends on the values of `{}`, which is traced",
        snippet(ctx, value)
    );
    Some((message, value, format!("pass `{keyword}=` with the maximum length")))
}
