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
    /// slice, `jnp.zeros(n)`, `lax.dynamic_slice(x, i, (n,))` and other sizes and axes that are traced, and
    /// `jnp.nonzero`, `jnp.unique`, `jax.ops.segment_sum` and similar functions without `size=` or `num_segments=`.
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

/// The functions with an argument that must be known while tracing (a shape, a length, an axis), as position and
/// keyword.
const SHAPED: &[(&str, &[(usize, &str)])] = &[
    ("jax.lax.broadcasted_iota", &[(1, "shape"), (2, "dimension")]),
    ("jax.lax.dynamic_slice", &[(2, "slice_sizes")]),
    ("jax.lax.dynamic_slice_in_dim", &[(2, "slice_size"), (3, "axis")]),
    ("jax.lax.full", &[(0, "shape")]),
    ("jax.lax.iota", &[(1, "size")]),
    ("jax.lax.slice", &[(1, "start_indices"), (2, "limit_indices"), (3, "strides")]),
    ("jax.lax.slice_in_dim", &[(1, "start_index"), (2, "limit_index"), (3, "stride"), (4, "axis")]),
    ("jax.lax.top_k", &[(1, "k")]),
    ("jax.nn.one_hot", &[(1, "num_classes")]),
    ("jax.numpy.arange", &[(0, "start"), (1, "stop"), (2, "step")]),
    ("jax.numpy.argmax", &[(1, "axis")]),
    ("jax.numpy.argmin", &[(1, "axis")]),
    ("jax.numpy.argsort", &[(1, "axis")]),
    ("jax.numpy.array_split", &[(1, "indices_or_sections"), (2, "axis")]),
    ("jax.numpy.bincount", &[(3, "length")]),
    ("jax.numpy.broadcast_to", &[(1, "shape")]),
    ("jax.numpy.concatenate", &[(1, "axis")]),
    ("jax.numpy.cumprod", &[(1, "axis")]),
    ("jax.numpy.cumsum", &[(1, "axis")]),
    ("jax.numpy.empty", &[(0, "shape")]),
    ("jax.numpy.expand_dims", &[(1, "axis")]),
    ("jax.numpy.eye", &[(0, "N"), (1, "M")]),
    ("jax.numpy.flip", &[(1, "axis")]),
    ("jax.numpy.full", &[(0, "shape")]),
    ("jax.numpy.identity", &[(0, "n")]),
    ("jax.numpy.linspace", &[(2, "num")]),
    ("jax.numpy.max", &[(1, "axis")]),
    ("jax.numpy.mean", &[(1, "axis")]),
    ("jax.numpy.min", &[(1, "axis")]),
    ("jax.numpy.moveaxis", &[(1, "source"), (2, "destination")]),
    ("jax.numpy.ones", &[(0, "shape")]),
    ("jax.numpy.pad", &[(1, "pad_width")]),
    ("jax.numpy.prod", &[(1, "axis")]),
    ("jax.numpy.reshape", &[(1, "shape")]),
    ("jax.numpy.sort", &[(1, "axis")]),
    ("jax.numpy.split", &[(1, "indices_or_sections"), (2, "axis")]),
    ("jax.numpy.squeeze", &[(1, "axis")]),
    ("jax.numpy.stack", &[(1, "axis")]),
    ("jax.numpy.std", &[(1, "axis")]),
    ("jax.numpy.sum", &[(1, "axis")]),
    ("jax.numpy.swapaxes", &[(1, "axis1"), (2, "axis2")]),
    ("jax.numpy.tile", &[(1, "reps")]),
    ("jax.numpy.transpose", &[(1, "axes")]),
    ("jax.numpy.tri", &[(0, "N"), (1, "M")]),
    ("jax.numpy.var", &[(1, "axis")]),
    ("jax.numpy.zeros", &[(0, "shape")]),
    ("jax.ops.segment_max", &[(2, "num_segments")]),
    ("jax.ops.segment_min", &[(2, "num_segments")]),
    ("jax.ops.segment_prod", &[(2, "num_segments")]),
    ("jax.ops.segment_sum", &[(2, "num_segments")]),
    ("jax.random.bernoulli", &[(2, "shape")]),
    ("jax.random.normal", &[(1, "shape")]),
    ("jax.random.split", &[(1, "num")]),
    ("jax.random.uniform", &[(1, "shape")]),
];

/// The functions whose result length depends on the values, and the argument that makes it static.
pub(super) const COUNTING: &[(&str, &str, usize)] = &[
    ("jax.numpy.argwhere", "size", usize::MAX),
    ("jax.numpy.bincount", "length", 3),
    ("jax.numpy.flatnonzero", "size", usize::MAX),
    ("jax.numpy.intersect1d", "size", usize::MAX),
    ("jax.numpy.nonzero", "size", usize::MAX),
    ("jax.numpy.repeat", "total_repeat_length", usize::MAX),
    ("jax.numpy.setdiff1d", "size", usize::MAX),
    ("jax.numpy.union1d", "size", usize::MAX),
    ("jax.numpy.unique", "size", usize::MAX),
    ("jax.numpy.unique_counts", "size", usize::MAX),
    ("jax.numpy.unique_values", "size", usize::MAX),
    ("jax.numpy.where", "size", usize::MAX),
    ("jax.ops.segment_max", "num_segments", 2),
    ("jax.ops.segment_min", "num_segments", 2),
    ("jax.ops.segment_prod", "num_segments", 2),
    ("jax.ops.segment_sum", "num_segments", 2),
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

/// `jnp.zeros(n)`, `jnp.nonzero(x)`, `x.reshape(n, 2)`.
fn of_call<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Found<'a> {
    const STATIC: &str = "make it a static argument, or use the shape of an array";
    let parts = |value: &'a Expr| match value {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        Expr::List(list) => list.elts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let Some(name) = ctx.resolve(&call.func) else {
        let method = call.func.as_attribute_expr()?;
        if method.attr.as_str() != "reshape" || !is_tensor(ctx, &method.value) {
            return None;
        }
        let value = call.arguments.args.iter().flat_map(parts).find(|part| is_tensor(ctx, part))?;
        let message = format!(
            "the shape that `.reshape` is given depends on `{}`, which is traced and has no value yet",
            snippet(ctx, value)
        );
        return Some((message, value, STATIC.to_owned()));
    };
    let shown = match name.strip_prefix("jax.numpy.") {
        Some(function) => format!("jnp.{function}"),
        None => name.to_string(),
    };
    if let Some((_, places)) = SHAPED.iter().find(|(shaped, _)| *shaped == name.as_str()) {
        let value = places.iter().find_map(|(position, keyword)| {
            let value = argument(call, *position, keyword)?;
            let value = parts(value).iter().find(|part| is_tensor(ctx, part))?;
            Some((value, *keyword))
        });
        if let Some((value, keyword)) = value {
            let what = if matches!(keyword, "axis" | "axes" | "axis1" | "axis2" | "source" | "destination") {
                "axis"
            } else {
                "shape"
            };
            let message = format!(
                "the {what} of `{shown}` depends on `{}`, which is traced and has no value yet",
                snippet(ctx, value)
            );
            return Some((message, value, STATIC.to_owned()));
        }
    }
    let reduces = name.starts_with("jax.numpy.") || name.starts_with("jax.nn.");
    if reduces
        && let Some(axis) = call.arguments.find_keyword("axis").map(|keyword| &keyword.value)
        && let Some(value) = parts(axis).iter().find(|part| is_tensor(ctx, part))
    {
        let message = format!(
            "the axis of `{shown}` is `{}`, which is traced and has no value yet",
            snippet(ctx, value)
        );
        return Some((message, value, STATIC.to_owned()));
    }
    let (function, keyword, position) = COUNTING.iter().find(|(counting, ..)| *counting == name.as_str())?;
    let arguments = &call.arguments;
    let open = arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || arguments.args.iter().any(Expr::is_starred_expr);
    let given =
        arguments.find_keyword(keyword).map(|keyword| &keyword.value).or(arguments.args.get(*position));
    if open || given.is_some_and(|given| !given.is_none_literal_expr()) {
        return None;
    }
    let value = match *function {
        "jax.numpy.where" if arguments.args.len() > 1 || !arguments.keywords.is_empty() => return None,
        "jax.numpy.repeat" => argument(call, 1, "repeats")?,
        function if function.starts_with("jax.ops.") => argument(call, 1, "segment_ids")?,
        _ => arguments.args.first()?,
    };
    if !is_tensor(ctx, value) {
        return None;
    }
    let message = format!(
        "the length of `{shown}` depends on the values of `{}`, which is traced",
        snippet(ctx, value)
    );
    Some((message, value, format!("pass `{keyword}=` with the maximum length")))
}
