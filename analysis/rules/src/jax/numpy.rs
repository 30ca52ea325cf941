//! Functions of NumPy and SciPy on tracers.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::host_arrays::{self, Stored};
use super::super::tracing::{is_created_before_tracing, is_tensor};
use super::static_parameters::SHAPED;
use super::{kinds, snippet, value_severity};
use ag_db::diagnostic::{Applicability, Edit};

declare_rule! {
    /// ## What it does
    /// Reports functions of NumPy and SciPy called with a traced array, NumPy arrays indexed by a traced array, and
    /// traced arrays stored in an item of a NumPy array that the function creates.
    ///
    /// ## Why is this bad?
    /// NumPy computes immediately and needs the values. A tracer has none, so tracing raises. (Some NumPy
    /// functions delegate to the method of the same name, as `np.sum` does; those work and are not reported.)
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    /// import numpy as np
    ///
    /// @jax.jit
    /// def wave(x):
    ///     return np.sin(x)
    ///
    /// wave(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def wave(x):
    ///     return jnp.sin(x)
    ///
    /// wave(jnp.ones(3))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: dtypes follow the rules of JAX, which computes in 32 bits by default.
    ///
    /// ## What jax reports
    /// `TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on
    /// traced array with shape float32[3]`
    pub(crate) static JAX_NUMPY = {
        code: "AG504", name: "jax-numpy",
        summary: "a function of NumPy or SciPy is called with a traced array",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: Sometimes,
        check: Function(check),
    }
}

/// The functions of `numpy` that accept a tracer, verified with NumPy 2 and jax 0.10. They call a method of their
/// argument, or use only its shape or dtype. The other functions convert it with `__array__`.
const ACCEPT_TRACERS: [&str; 54] = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "around",
    "array_equal",
    "array_equiv",
    "array_split",
    "bmat",
    "can_cast",
    "choose",
    "common_type",
    "cumprod",
    "cumsum",
    "diag_indices_from",
    "dsplit",
    "fill_diagonal",
    "flip",
    "hsplit",
    "imag",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "max",
    "mean",
    "min",
    "moveaxis",
    "ndim",
    "permute_dims",
    "prod",
    "promote_types",
    "real",
    "repeat",
    "reshape",
    "result_type",
    "rollaxis",
    "round",
    "searchsorted",
    "shape",
    "size",
    "split",
    "squeeze",
    "std",
    "str_",
    "sum",
    "swapaxes",
    "take",
    "transpose",
];

/// Those of [`ACCEPT_TRACERS`] whose result for a tracer is no tracer.
const NO_TRACER: [&str; 24] = [
    "array_equal",
    "array_equiv",
    "array_split",
    "bmat",
    "can_cast",
    "common_type",
    "diag_indices_from",
    "dsplit",
    "fill_diagonal",
    "hsplit",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ndim",
    "promote_types",
    "result_type",
    "searchsorted",
    "shape",
    "size",
    "split",
    "str_",
];

/// Returns whether a function of NumPy returns a tracer for a tracer.
pub(crate) fn returns_tracer(function: &str) -> bool {
    ACCEPT_TRACERS.contains(&function) && !NO_TRACER.contains(&function)
}

/// Methods of the universal functions of NumPy, which convert all their arguments: `np.add.at(out, i, x)`.
const UFUNC_METHODS: [&str; 5] = ["accumulate", "at", "outer", "reduce", "reduceat"];

fn is_ufunc_method(function: &str) -> bool {
    function.split_once('.').is_some_and(|(_, method)| UFUNC_METHODS.contains(&method))
}

/// Returns whether a function of NumPy converts an argument with `__array__`.
fn converts(function: &str) -> bool {
    const DTYPES: [&str; 4] = ["float32", "float64", "int32", "int64"];
    // These do not convert an argument, or other rules check them: functions of shapes and of callables, and classes.
    const NOT_CONVERTING: [&str; 11] = [
        "apply_along_axis",
        "broadcast_shapes",
        "broadcast_to",
        "dtype",
        "errstate",
        "finfo",
        "frompyfunc",
        "iinfo",
        "tril_indices_from",
        "triu_indices_from",
        "vectorize",
    ];
    match function.split_once('.') {
        Some((module, function)) => matches!(module, "linalg" | "fft" | "random") && !function.contains('.'),
        None => {
            let is_type = function.ends_with(|last: char| last.is_ascii_digit() || last == '_')
                && !function.starts_with("atleast_")
                && !matches!(
                    function,
                    "exp2" | "log2" | "log10" | "logaddexp2" | "arctan2" | "atan2" | "rot90" | "i0"
                );
            DTYPES.contains(&function)
                || !is_type && !ACCEPT_TRACERS.contains(&function) && !NOT_CONVERTING.contains(&function)
        }
    }
}

/// Returns whether this is a function of SciPy that converts its arrays with `__array__`: `scipy.linalg.solve`. No function
/// of these modules accepts a tracer, verified with SciPy 1.17 and jax 0.10. Those of other modules call functions, or
/// create objects.
fn is_scipy(name: &str) -> bool {
    name.strip_prefix("scipy.").and_then(|own| own.split_once('.')).is_some_and(|(module, function)| {
        matches!(module, "fft" | "linalg" | "special") && function.starts_with(char::is_lowercase)
    })
}

fn check(ctx: &FunctionContext) {
    for (statement, Stored { array, value }) in host_arrays::stored(ctx) {
        if is_tensor(ctx, value) && !is_created_before_tracing(ctx, value) {
            ctx.report(
                &JAX_NUMPY,
                statement,
                format!(
                    "`{}` is a NumPy array, which cannot hold `{}`: it is traced and has no value yet",
                    ctx.text(array),
                    snippet(ctx, value)
                ),
            )
            .severity(value_severity(ctx, value))
            .why(ctx.why(value))
            .help("create it with `jnp`, and use `x = x.at[i].set(value)`")
            .emit();
        }
    }
    for expression in ctx.expressions() {
        if let Expr::Subscript(subscript) = expression {
            check_index(ctx, expression, subscript);
        }
        let Expr::Call(call) = expression else { continue };
        let Some(name) = ctx.resolve(&call.func) else { continue };
        let function = match name.strip_prefix("numpy.") {
            Some(function) if is_ufunc_method(function) || converts(function) => function,
            None if is_scipy(&name) => name.as_str(),
            _ => continue,
        };
        let is_method = is_ufunc_method(function);
        // The first argument of `np.full(shape, value)` is a shape: AG509.
        let skipped = usize::from(function == "full");
        let values = call.arguments.args.iter().skip(skipped).take(if is_method { 3 } else { 2 }).flat_map(
            |argument| match argument {
                Expr::List(list) => list.elts.as_slice(),
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                other => std::slice::from_ref(other),
            },
        );
        let Some(value) = values.into_iter().find(|value| is_tensor(ctx, value)) else { continue };
        if is_created_before_tracing(ctx, value) {
            continue;
        }
        let report = ctx
            .report(
                &JAX_NUMPY,
                expression,
                format!("`{name}` needs the value of `{}`, which is traced", snippet(ctx, value)),
            )
            .severity(value_severity(ctx, value))
            .why(ctx.why(value));
        match ctx.imports.local_name_of("jax.numpy") {
            _ if function.ends_with(".at") => report.help("use `x = x.at[i].add(value)`").emit(),
            _ if function.starts_with("random.") => report.help("use `jax.random` with a key").emit(),
            // The function of `jax.numpy` needs the value, too.
            _ if is_shape(call, function, value) => {
                report.help("make it a static argument, or use the shape of an array").emit();
            }
            _ if is_scipy(function) => report.help(format!("use `jax.{function}`, if it exists")).emit(),
            Some(jnp) => {
                let edit = Edit::replace(call.func.range(), format!("{jnp}.{function}"));
                report.fix(Applicability::Unsafe, "Use `jax.numpy`", vec![edit]).emit();
            }
            None => report.help(format!("use `jax.numpy.{function}`")).emit(),
        }
    }
}

/// Returns whether the function of `jax.numpy` with this name takes a value at this place that determines a shape.
fn is_shape(call: &ast::ExprCall, function: &str, value: &Expr) -> bool {
    let shaped = SHAPED.iter().find(|(name, _)| name.strip_prefix("jax.numpy.") == Some(function));
    shaped.into_iter().flat_map(|(_, parameters)| *parameters).any(|(position, _)| {
        let argument = call.arguments.args.get(*position);
        argument.is_some_and(|argument| argument.range().contains_range(value.range()))
    })
}

/// Reports `np.eye(10)[labels]` and `out[i] = 1.0` with a traced index: NumPy needs its value.
fn check_index<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr, subscript: &'a ast::ExprSubscript) {
    let array = &*subscript.value;
    let made = array.as_call_expr().and_then(|call| ctx.resolve(&call.func));
    let is_numpy = match made {
        Some(name) => name.starts_with("numpy.") && kinds::makes_array(&name),
        None => host_arrays::is_array(ctx, array),
    };
    let parts = match &*subscript.slice {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let bounds = |part: &'a Expr| match part {
        Expr::Slice(slice) => {
            [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().map(|it| &**it).collect()
        }
        part => vec![part],
    };
    let Some(index) = parts.iter().flat_map(bounds).find(|part| is_numpy && is_tensor(ctx, part)) else {
        return;
    };
    if is_created_before_tracing(ctx, index) {
        return;
    }
    ctx.report(
        &JAX_NUMPY,
        expression,
        format!(
            "a NumPy array is indexed by `{}`, which is traced and has no value yet",
            snippet(ctx, index)
        ),
    )
    .severity(value_severity(ctx, index))
    .why(ctx.why(index))
    .help("convert it: `jnp.asarray(values)[i]`")
    .emit();
}
