//! Tracers where Python needs a number: `int()`, `.item()`, `range()`, an index of a list, `math`.

use ruff_python_ast::{self as ast, Expr, Operator};

use super::super::declare::declare_rule;
use super::super::formatting;
use super::super::hashing;
use super::super::host_library;
use super::super::tracing::{self, Origin, is_created_before_tracing, is_tensor};
use super::super::{FunctionContext, parts};
use super::{snippet, value_severity};
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::dialect::RootKind;
use ag_index::facts::{Alternative, Fact, TensorKind};
use ag_syntax::expressions::formatted_values;
use ag_syntax::qname::QName;
use ruff_text_size::Ranged;

declare_rule! {
    /// ## What it does
    /// Reports conversions of a traced array to a Python number: `int(x)`, `float(x)`, `complex(x)`,
    /// `x.item()`, `x.tolist()`, `range(x)`, functions of `math`, an index or slice of a Python sequence, format
    /// specifications, keys of dictionaries and elements of sets, and attributes that only arrays with a value have,
    /// such as `x.block_until_ready()`.
    ///
    /// ## Why is this bad?
    /// `jax.jit` runs the function once with tracers, which have no values. The conversion is impossible, so
    /// tracing raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def normalise(x):
    ///     return x / float(x.sum())
    ///
    /// normalise(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def normalise(x):
    ///     return x / x.sum()
    ///
    /// normalise(jnp.ones(3))
    /// ```
    /// To convert a dtype, use `x.astype(int)`. If the Python number determines the computation, list the
    /// argument in `static_argnames`.
    ///
    /// ## What jax reports
    /// `ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected`,
    /// or `TracerIntegerConversionError: The __index__() method was called on traced array`.
    pub(crate) static JAX_CONCRETIZE = {
        code: "AG503", name: "jax-concretize",
        summary: "a traced array is used as a Python number",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

/// The functions that call `__float__` or `__index__`.
const MATH: [&str; 26] = [
    "acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "degrees", "erf", "exp", "expm1",
    "floor", "fmod", "fsum", "hypot", "isfinite", "isinf", "isnan", "log", "log10", "log2", "pow", "sin",
    "sqrt", "tan",
];

/// The functions of `random` that compare an argument, or need an integer.
const RANDOM: [&str; 7] =
    ["betavariate", "getrandbits", "randbytes", "randint", "randrange", "sample", "seed"];

/// The attributes and methods that arrays have and tracers do not.
const ARRAY_ATTRIBUTES: [&str; 10] = [
    "addressable_data",
    "addressable_shards",
    "block_until_ready",
    "copy_to_host_async",
    "global_shards",
    "is_deleted",
    "is_fully_addressable",
    "is_fully_replicated",
    "on_device_size_in_bytes",
    "unsafe_buffer_pointer",
];

/// The attributes and methods that Python numbers have and no JAX array has.
const NUMBER_ATTRIBUTES: [&str; 6] =
    ["as_integer_ratio", "bit_count", "bit_length", "hex", "is_integer", "to_bytes"];

/// The attributes in the list above that objects of other classes have as well.
const SHARED_ATTRIBUTES: [&str; 6] = ["committed", "delete", "device", "devices", "sharding", "traceback"];

/// The attributes that lists and the tensors of other libraries have, but no JAX array has.
const FOREIGN_ATTRIBUTES: [&str; 15] = [
    "append",
    "backward",
    "clone",
    "contiguous",
    "cpu",
    "cuda",
    "detach",
    "extend",
    "is_cuda",
    "masked_fill",
    "numpy",
    "permute",
    "requires_grad",
    "requires_grad_",
    "unsqueeze",
];

/// The functions that serialize an object.
const SERIALIZING: [&str; 6] = [
    "cloudpickle.dumps",
    "joblib.dump",
    "numpy.from_dlpack",
    "pickle.dump",
    "pickle.dumps",
    "torch.from_dlpack",
];

const FORMAT: &str = "the format specification";
const LOOK_UP: &str = "look values up in an array, `jnp.array(values)[i]`; tracers have no hash";
const PRINT: &str = "use `jax.debug.print`, which formats when the function runs";

fn check(ctx: &FunctionContext) {
    let is_only_differentiated = ctx.stage.mode == RootKind::JaxGrad;
    let has_no_value = if is_only_differentiated { "" } else { " and has no value yet" };
    let faults = ctx.faults();
    for expression in ctx.expressions() {
        if is_only_differentiated && uses_value(ctx, expression) {
            continue;
        }
        let concretized = concretized(ctx, expression).map(|(what, value, help)| {
            let value_text = snippet(ctx, value);
            (format!("{what} needs the value of `{value_text}`, which is traced{has_no_value}"), value, help)
        });
        let Some((message, value, help)) = concretized.or_else(|| foreign(ctx, expression)) else {
            // `template % loss`
            if expression.is_bin_op_expr() && faults.format(expression.range()).is_some() {
                let message = format!("{FORMAT} needs the value of an array, which is traced{has_no_value}");
                ctx.report(&JAX_CONCRETIZE, expression, message).help(PRINT).emit();
            }
            continue;
        };
        if is_created_before_tracing(ctx, value) {
            continue;
        }
        // A logger catches the error, and prints it.
        let highest = if formatting::logs(expression) { Severity::Warning } else { Severity::Error };
        ctx.report(&JAX_CONCRETIZE, expression, message)
            .severity(value_severity(ctx, value).min(highest))
            .why(ctx.why(value))
            .help(help)
            .emit();
    }
}

/// Returns whether an operation accepts a tracer that has a value: `int(x)`, `x.item()`, `range(n)`, `layers[i]`.
fn uses_value(ctx: &FunctionContext, expression: &Expr) -> bool {
    match expression {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => method.attr.as_str() == "item",
            function => matches!(ctx.builtin(function), Some("int" | "range")),
        },
        Expr::Subscript(subscript) => is_sequence(ctx.fact(&subscript.value)),
        _ => false,
    }
}

/// Finds an attribute that no JAX array has, as in `x.detach()` or `y.append(x)`. Returns the message, the array and
/// the help.
fn foreign<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr, &'static str)> {
    let attribute = expression.as_attribute_expr().filter(|attribute| attribute.ctx.is_load())?;
    let name = attribute.attr.as_str();
    let value = &*attribute.value;
    if !FOREIGN_ATTRIBUTES.contains(&name) || !is_tensor(ctx, value) || !is_certainly_array(ctx, value) {
        return None;
    }
    let help = match name {
        "append" | "extend" => "use `jnp.append`, or collect the values in a list",
        "detach" => "use `jax.lax.stop_gradient`",
        "permute" => "use `.transpose`",
        "unsqueeze" => "use `jnp.expand_dims`",
        _ => "remove it, or use it outside of the traced function",
    };
    Some((format!("`{}` is a JAX array, which has no attribute `{name}`", snippet(ctx, value)), value, help))
}

/// An operation that needs a number: its description, the array that is passed to it, and the help.
type Concretized<'a> = (String, &'a Expr, &'static str);

fn concretized<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<Concretized<'a>> {
    match expression {
        Expr::Call(call) => match (ctx.builtin(&call.func), ctx.resolve(&call.func)) {
            (Some(name), _) => of_builtin(ctx, call, name),
            (None, Some(name)) => of_library(ctx, call, &name).or_else(|| of_method(ctx, call)),
            (None, None) => of_method(ctx, call),
        }
        .or_else(|| {
            let value = hashing::hashed_by_cache(ctx, call, &|value| is_tensor(ctx, value))?;
            let what = format!("the cache of `{}`", ctx.text(&*call.func));
            Some((what, value, "do not cache the function: tracers have no hash"))
        }),
        Expr::Attribute(attribute) if attribute.ctx.is_load() => {
            let name = attribute.attr.as_str();
            let only_of_array = ARRAY_ATTRIBUTES.contains(&name)
                || NUMBER_ATTRIBUTES.contains(&name)
                || SHARED_ATTRIBUTES.contains(&name) && is_certainly_array(ctx, &attribute.value);
            (only_of_array && is_tensor(ctx, &attribute.value))
                .then(|| (format!("`.{name}`"), &*attribute.value, "use it outside of the traced function"))
        }
        Expr::Subscript(subscript)
            if is_sequence(ctx.fact(&subscript.value)) || ctx.faults().is_index(subscript.range()) =>
        {
            of_index(ctx, subscript)
        }
        // `[0.0] * length`
        Expr::BinOp(operation) if operation.op == Operator::Mult => {
            let (left, right) = (&*operation.left, &*operation.right);
            let is_list = |value: &Expr| is_sequence(ctx.fact(value)) && !is_tensor(ctx, value);
            let (list, count) = if is_list(left) { (left, right) } else { (right, left) };
            (is_list(list) && is_tensor(ctx, count)).then(|| {
                let help = "use `jnp.full` or `jnp.repeat`, or make it a static argument";
                (format!("the repetition of the sequence `{}`", snippet(ctx, list)), count, help)
            })
        }
        Expr::FString(string) => Some((FORMAT.to_owned(), formatted(ctx, string)?, PRINT)),
        // `"%.3f" % x`, `"%s: %d" % (name, n)`
        Expr::BinOp(operation) if let Some(values) = formatted_values(operation) => {
            let value =
                formatting::percent_numbers(&operation.left, values).find(|value| is_tensor(ctx, value))?;
            Some((FORMAT.to_owned(), value, PRINT))
        }
        _ => None,
    }
    .or_else(|| {
        let hashed = hashing::hashed(ctx, expression, &|value| is_key(ctx, value))?;
        Some((hashed.what, hashed.value, LOOK_UP))
    })
}

/// Finds a call of a builtin that needs a number: `int(x)`, `range(n)`.
fn of_builtin<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall, name: &str) -> Option<Concretized<'a>> {
    let help = match name {
        "int" | "float" | "complex" => {
            "keep the array; use `x.astype(int)` or `x.astype(float)` to convert its dtype"
        }
        "range" => "use `jax.lax.fori_loop`, or make the bound a static argument",
        "bin" | "chr" | "hex" | "oct" => "call it before or after tracing",
        "set" => LOOK_UP,
        _ => return None,
    };
    let value = call.arguments.args.iter().find(|value| is_tensor(ctx, value))?;
    Some((format!("`{name}`"), value, help))
}

/// Finds a call of a standard library function that needs the value of an array: `math.sqrt(x)`, `pickle.dumps(x)`.
fn of_library<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall, name: &str) -> Option<Concretized<'a>> {
    if let Some(function) = name.strip_prefix("math.").filter(|function| MATH.contains(function)) {
        let value = call.arguments.args.iter().find(|value| is_tensor(ctx, value))?;
        let help = "use the function of the same name in `jax.numpy`";
        return Some((format!("`math.{function}`"), value, help));
    }
    if let Some(function) = name.strip_prefix("random.").filter(|function| RANDOM.contains(function)) {
        let value = call.arguments.args.iter().find(|value| is_tensor(ctx, value))?;
        return Some((format!("`random.{function}`"), value, "use `jax.random` with a key"));
    }
    if let Some(value) = host_library::needed(call, name, false, &|value| is_tensor(ctx, value)) {
        return Some((format!("`{name}`"), value, "call it before or after tracing"));
    }
    let value = call.arguments.args.first()?;
    (SERIALIZING.contains(&name) && is_tensor(ctx, value))
        .then(|| (format!("`{}`", ctx.text(&*call.func)), value, "call it before or after tracing"))
}

/// Finds a call of a method that needs the value of an array: `x.item()`, `"{:.2f}".format(x)`.
fn of_method<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall) -> Option<Concretized<'a>> {
    let attribute = call.func.as_attribute_expr()?;
    let method = attribute.attr.as_str();
    let is_object = || {
        let fact = ctx.fact(&attribute.value);
        !fact.unknown && fact.kind_of_object() == Some(TensorKind::Tensor)
    };
    if matches!(method, "item" | "tolist" | "tobytes") && (is_tensor(ctx, &attribute.value) || is_object()) {
        return Some((format!("`.{method}()`"), &attribute.value, "keep the array"));
    }
    let mut numbers = formatting::logged_numbers(call).chain(formatting::field_numbers(call));
    let value = numbers.find(|value| is_tensor(ctx, value))?;
    Some((FORMAT.to_owned(), value, PRINT))
}

/// Finds an index or slice bound of a Python sequence: `layers[i]`, `layers[:i]`.
fn of_index<'a>(ctx: &FunctionContext, subscript: &'a ast::ExprSubscript) -> Option<Concretized<'a>> {
    let (index, help) = match &*subscript.slice {
        Expr::Slice(slice) => {
            let mut bounds = [&slice.lower, &slice.upper, &slice.step].into_iter().flatten();
            let bound = bounds.find(|bound| is_tensor(ctx, bound))?;
            (&**bound, "make it a static argument (`static_argnames`), or use a JAX operation")
        }
        index if is_tensor(ctx, index) => (index, "convert the sequence to an array: `jnp.array(values)[i]`"),
        _ => return None,
    };
    let what = format!("the index of the Python sequence `{}`", snippet(ctx, &subscript.value));
    Some((what, index, help))
}

/// Returns whether a value is the result of an operation, as in `(x * 2).detach()`, and so certainly an array. A
/// parameter may be an object of any class.
fn is_certainly_array(ctx: &FunctionContext, value: &Expr) -> bool {
    tracing::origin(ctx, value) == Origin::Computed && !ctx.fact(value).unknown
}

/// Returns whether a key is certainly a Tensor. A parameter of unknown type, or a part of such a parameter, may be a
/// key of a dictionary instead: `for key in batch: out[key] = batch[key]`, `{key: batch[key] for key in batch}`.
fn is_key(ctx: &FunctionContext, key: &Expr) -> bool {
    let Some(name) = key.as_name_expr() else { return is_tensor(ctx, key) };
    let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
    // The variable of a comprehension has no definition in the function.
    if !is_tensor(ctx, key) || definitions.is_empty() {
        return false;
    }
    let is_argument = definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)));
    // The lowering rule of a primitive receives its static parameters by keyword.
    let is_keyword = ctx.def().parameters.kwonlyargs.iter().any(|it| it.name().id == name.id);
    // The arguments of a jitted function are arrays or trees of arrays, which have no hash.
    is_argument && !is_keyword && ctx.root() == Some(RootKind::JaxJit)
        || tracing::origin(ctx, key) != Origin::Assumed && !parts::is_unknown_part(ctx, key)
}

/// Returns whether a value is a list, tuple, `range` or string, whose index must be a number.
fn is_sequence(fact: &Fact) -> bool {
    !fact.unknown
        && !fact.alternatives.is_empty()
        && fact.alternatives.iter().all(|alternative| match alternative {
            Alternative::Container { class, .. } => matches!(class.as_str(), "list" | "tuple"),
            Alternative::Str(_) => true,
            Alternative::Instance { module: Some(module), class } => module == "builtins" && class == "range",
            _ => false,
        })
}

/// Returns the Tensor that an f-string formats with a specification such as `:.3f`.
fn formatted<'a>(ctx: &FunctionContext<'a>, string: &'a ast::ExprFString) -> Option<&'a Expr> {
    string.value.f_strings().flat_map(|part| part.elements.iter()).find_map(|element| {
        let interpolation = element.as_interpolation()?;
        let has_format = interpolation.format_spec.as_ref().is_some_and(|spec| !spec.elements.is_empty());
        (has_format && interpolation.conversion.is_none() && is_tensor(ctx, &interpolation.expression))
            .then_some(&*interpolation.expression)
    })
}
