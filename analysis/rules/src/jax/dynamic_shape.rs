//! Shapes that depend on traced values.

use ruff_python_ast::{self as ast, Expr, ExprContext};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::{is_created_before_tracing, is_mask, is_tensor};
use super::static_parameters::{CHECKING, COUNTING, SHAPED, SHAPED_METHODS};
use super::transformed::is_false;
use super::{snippet, value_severity};
use ag_db::diagnostic::Severity;
use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, sequence};

declare_rule! {
    /// ## What it does
    /// Reports arrays whose shape depends on a traced value:
    ///
    /// - a boolean mask as index, and a traced bound of a slice
    /// - other sizes, axes and orders that are traced: `jnp.zeros(n)`, `lax.dynamic_slice(x, i, (n,))`
    /// - `jnp.nonzero`, `jnp.unique`, `jax.ops.segment_sum` and similar functions without `size=` or `num_segments=`
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
        // `h[mask]`, `h[:n]`: any array or sequence raises, but the object may be of another kind.
        let indexed = expression.as_subscript_expr().map(|subscript| &*subscript.value);
        let severity = match value_severity(ctx, value) {
            Severity::Error if indexed.is_some_and(|it| is_unknown(ctx, it)) => Severity::Warning,
            severity => severity,
        };
        ctx.report(&JAX_DYNAMIC_SHAPE, expression, message)
            .severity(severity)
            .why(ctx.why(value))
            .help(help)
            .emit();
    }
}

/// Returns whether nothing is known about the type of a variable.
fn is_unknown(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    value.is_name_expr() && fact.unknown && fact.alternatives.is_empty()
}

type Found<'a> = Option<(String, &'a Expr, String)>;

/// Finds an index or slice that determines a shape: `x[x > 0]`, `x[:n]`, `x.at[x > 0]`.
fn of_index<'a>(ctx: &FunctionContext<'a>, subscript: &'a ast::ExprSubscript) -> Found<'a> {
    let array = match &*subscript.value {
        Expr::Attribute(attribute) if attribute.attr.as_str() == "at" => &*attribute.value,
        value => value,
    };
    let is_grid = ctx
        .resolve(array)
        .is_some_and(|name| matches!(name.as_str(), "jax.numpy.mgrid" | "jax.numpy.ogrid" | "jax.numpy.r_"));
    let is_unknown = is_unknown(ctx, array);
    if subscript.ctx != ExprContext::Load || !is_grid && !is_tensor(ctx, array) && !is_unknown {
        return None;
    }
    let array = snippet(ctx, array);
    let parts = match &*subscript.slice {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        other => std::slice::from_ref(other),
    };
    for part in parts {
        // `jnp.r_[True, x[1:] != x[:-1]]` joins arrays.
        if !is_grid && is_mask(ctx, part) {
            let message = format!(
                "the shape of `{array}` indexed by the mask `{}` is unknown while tracing",
                snippet(ctx, part)
            );
            return Some((message, part, "use `jnp.where(mask, x, fill)`, which keeps the shape".to_owned()));
        }
        let Some(slice) = part.as_slice_expr() else { continue };
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

const STATIC: &str = "make it a static argument, or use the shape of an array";

/// Returns the elements of a shape: `(n, 2)`, `n`.
fn parts(value: &Expr) -> &[Expr] {
    sequence(value).unwrap_or(std::slice::from_ref(value))
}

/// Among the arguments that must be known while tracing, returns the first that is traced.
fn traced_argument<'a>(
    ctx: &FunctionContext<'a>,
    call: &'a ast::ExprCall,
    parameters: &[(usize, &'static str)],
) -> Option<(&'a Expr, &'static str)> {
    parameters.iter().find_map(|(position, keyword)| {
        let value = argument(call, *position, keyword)?;
        let value = parts(value).iter().find(|part| is_tensor(ctx, part))?;
        Some((value, *keyword))
    })
}

fn of_argument<'a>(ctx: &FunctionContext<'a>, shown: &str, value: &'a Expr, keyword: &str) -> Found<'a> {
    let what = match keyword {
        "axis" | "axes" | "axis1" | "axis2" | "source" | "destination" => "axis",
        "shape" | "slice_sizes" | "pad_width" | "reps" | "dims" | "dimensions" => "shape",
        "N" | "M" | "n" | "num" | "length" | "start" | "stop" | "step" | "size" => "shape",
        other => other,
    };
    let message = format!(
        "the {what} of `{shown}` depends on `{}`, which is traced and has no value yet",
        snippet(ctx, value)
    );
    Some((message, value, STATIC.to_owned()))
}

/// Finds a method call with an argument that must be known: `x.reshape(n, 2)`, `x.sum(axis)`,
/// `x.at[i].get(fill_value=v)`.
fn of_method<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Found<'a> {
    let method = call.func.as_attribute_expr()?;
    if let Expr::Subscript(indexed) = &*method.value
        && method.attr.as_str() == "get"
        && let Expr::Attribute(at) = &*indexed.value
        && at.attr.as_str() == "at"
        && is_tensor(ctx, &at.value)
    {
        let fill = &call.arguments.find_keyword("fill_value")?.value;
        return is_tensor(ctx, fill).then(|| of_argument(ctx, ".at[].get", fill, "fill_value")).flatten();
    }
    if !is_tensor(ctx, &method.value) {
        return None;
    }
    if method.attr.as_str() == "reshape" {
        let value = call.arguments.args.iter().flat_map(parts).find(|part| is_tensor(ctx, part))?;
        let message = format!(
            "the shape passed to `.reshape` depends on `{}`, which is traced and has no value yet",
            snippet(ctx, value)
        );
        return Some((message, value, STATIC.to_owned()));
    }
    let (name, parameters) = SHAPED_METHODS.iter().find(|(name, _)| *name == method.attr.as_str())?;
    let (value, keyword) = traced_argument(ctx, call, parameters)?;
    of_argument(ctx, &format!(".{name}"), value, keyword)
}

/// Finds a call of a function whose arguments determine a shape: `jnp.zeros(n)`, `jnp.nonzero(x)`.
fn of_call<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Found<'a> {
    let Some(name) = ctx.resolve(&call.func) else { return of_method(ctx, call) };
    let shown = match name.strip_prefix("jax.numpy.") {
        Some(function) => format!("jnp.{function}"),
        None => name.to_string(),
    };
    if let Some((_, parameters)) = SHAPED.iter().find(|(shaped, _)| *shaped == name.as_str())
        && call.arguments.find_keyword("assume_unique_indices").is_none()
        && let Some((value, keyword)) = traced_argument(ctx, call, parameters)
    {
        return of_argument(ctx, &shown, value, keyword);
    }
    if let Some((_, keyword, position)) = CHECKING.iter().find(|(checking, ..)| *checking == name.as_str())
        && argument(call, *position, keyword).is_none()
        && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some())
        && let Some(value) = call
            .arguments
            .args
            .first()
            .and_then(|value| parts(value).iter().find(|part| is_tensor(ctx, part)))
    {
        let message = format!("`{shown}` needs the values of `{}`, which is traced", snippet(ctx, value));
        let help = match *keyword {
            "" => "call it before tracing".to_owned(),
            "mode" => "pass `mode=\"clip\"` or `mode=\"wrap\"`".to_owned(),
            keyword => format!("pass `{keyword}=False`"),
        };
        return Some((message, value, help));
    }
    if name == "jax.lax.fori_loop" {
        return unrolled(ctx, call);
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
    counted(ctx, call, &name, &shown)
}

/// Finds a loop that must be unrolled although its bound is traced: `jax.lax.fori_loop(0, n, body, init, unroll=2)`.
/// JAX accepts `unroll=False` and `unroll=1`, which do not unroll.
fn unrolled<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Found<'a> {
    let unroll = &call.arguments.find_keyword("unroll")?.value;
    let bounds = [(0, "lower"), (1, "upper")];
    let mut bounds = bounds.into_iter().filter_map(|(position, keyword)| argument(call, position, keyword));
    let unrolls = !is_false(unroll) && integer(unroll) != Some(1);
    let bound = bounds.find(|bound| is_tensor(ctx, bound)).filter(|_| unrolls)?;
    let message = format!(
        "the loop is unrolled, but its bound `{}` is traced and has no value yet",
        snippet(ctx, bound)
    );
    Some((message, bound, "remove `unroll`, or make the bound a static argument".to_owned()))
}

/// Finds a call of a function whose result has a length that depends on values: `jnp.nonzero(x)`,
/// `jnp.repeat(x, counts)`.
fn counted<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall, name: &str, shown: &str) -> Found<'a> {
    let (function, keyword, position) = COUNTING.iter().find(|(counting, ..)| *counting == name)?;
    let arguments = &call.arguments;
    let open = arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || arguments.args.iter().any(Expr::is_starred_expr);
    let given =
        arguments.find_keyword(keyword).map(|keyword| &keyword.value).or(arguments.args.get(*position));
    if let Some(given) = given
        && is_tensor(ctx, given)
    {
        return of_argument(ctx, shown, given, keyword);
    }
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
