//! Checks the arguments of functions of `jax.lax` that take functions: callables, scalars, and arrays of equal length.

use ruff_python_ast::{self as ast, Expr};

use super::Fault;
use super::abstract_value::{DType, Leaf, Value};
use super::control_flow::Call;
use ag_index::callbacks::argument;
use ag_syntax::expressions::{natural, sequence};

/// The arguments that must be functions, by position and keyword.
const CALLABLE: &[(&str, &[(usize, &str)])] = &[
    ("associative_scan", &[(0, "fn")]),
    ("cond", &[(1, "true_fun"), (2, "false_fun")]),
    ("fori_loop", &[(2, "body_fun")]),
    ("map", &[(0, "f")]),
    ("scan", &[(0, "f")]),
    ("while_loop", &[(0, "cond_fun"), (1, "body_fun")]),
];

/// The cumulative operations, which do not accept a negative axis.
const CUMULATIVE: [&str; 5] = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"];

/// Returns the fault in the arguments of `jax.lax.<function>`.
pub(super) fn fault<'a>(call: &Call<'_, '_, 'a>, function: &str) -> Option<Fault<'a>> {
    let of_function = || match function {
        "associative_scan" => associative_scan(call),
        "cond" => cond(call),
        "fori_loop" => fori_loop(call),
        "platform_dependent" => platform_dependent(call),
        "scan" => scan(call),
        "switch" => switch(call),
        _ if CUMULATIVE.contains(&function) => cumulative(call, function),
        _ => None,
    };
    callables(call, function).or_else(|| initial(call, function)).or_else(of_function)
}

/// Returns the fault in the initial value of a loop, which may contain arrays and numbers only.
fn initial<'a>(call: &Call<'_, '_, 'a>, function: &str) -> Option<Fault<'a>> {
    let (position, keyword) = match function {
        "scan" => (1, "init"),
        "while_loop" => (2, "init_val"),
        "fori_loop" => (3, "init_val"),
        _ => return None,
    };
    let at = argument(call.call, position, keyword)?;
    holds_other(&call.evaluator.value(call.scope, at)).then(|| Fault {
        message: format!("the initial value of `lax.{function}` contains a value that is not an array"),
        help: "carry arrays and numbers only; the body can read other values from outside",
        at,
    })
}

/// Returns whether a value contains a string, a function or a class.
fn holds_other(value: &Value) -> bool {
    match value {
        Value::Other | Value::Function(_) => true,
        Value::Tuple(elements) | Value::List(elements) => elements.iter().any(holds_other),
        Value::Dict(items) => items.iter().any(|(_, item)| holds_other(item)),
        Value::Record(record) => record.fields.iter().any(|(_, field)| holds_other(field)),
        _ => false,
    }
}

fn callables<'a>(call: &Call<'_, '_, 'a>, function: &str) -> Option<Fault<'a>> {
    let (_, parameters) = CALLABLE.iter().find(|(name, _)| *name == function)?;
    // `lax.cond(test, operand, function, operand, function)`
    if function == "cond" && call.call.arguments.args.len() == 5 {
        return None;
    }
    parameters.iter().find_map(|(position, keyword)| {
        let at = argument(call.call, *position, keyword)?;
        not_callable(call, at, &format!("`lax.{function}`"))
    })
}

fn not_callable<'a>(call: &Call<'_, '_, 'a>, at: &'a Expr, caller: &str) -> Option<Fault<'a>> {
    let value = call.evaluator.value(call.scope, at);
    value.is_not_a_function().then(|| Fault {
        message: format!("{caller} expects a function, but receives {}", value.noun()),
        help: "pass the function, and its arguments separately, or a `lambda`",
        at,
    })
}

fn cond<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    let at = argument(call.call, 0, "pred")?;
    let value = call.evaluator.value(call.scope, at);
    let is_scalar = match &value {
        Value::Unknown | Value::Function(_) | Value::Object(_) => true,
        Value::Other => !at.is_string_literal_expr(),
        Value::Leaf(leaf) => is_scalar(leaf),
        _ => false,
    };
    if !is_scalar {
        return Some(Fault {
            message: format!("the predicate of `lax.cond` is {}, not a scalar", noun(&value, at)),
            help: "pass a boolean scalar; use `jnp.where` to choose by element",
            at,
        });
    }
    operand(call, 3, "lax.cond")
}

fn switch<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    let at = argument(call.call, 0, "index")?;
    let value = call.evaluator.value(call.scope, at);
    let fits = match &value {
        Value::Unknown | Value::Function(_) | Value::Object(_) => true,
        Value::Other => !at.is_string_literal_expr(),
        Value::Leaf(leaf) => is_scalar(leaf) && leaf.dtype.is_none_or(|(dtype, _)| !dtype.is_inexact()),
        _ => false,
    };
    if !fits {
        return Some(Fault {
            message: format!("the index of `lax.switch` is {}, not an integer scalar", noun(&value, at)),
            help: "pass an integer scalar",
            at,
        });
    }
    let branches = argument(call.call, 1, "branches")?;
    match call.evaluator.value(call.scope, branches) {
        Value::Leaf(_) | Value::None => not_callable(call, branches, "`lax.switch`"),
        Value::List(elements) | Value::Tuple(elements) if elements.is_empty() => Some(Fault {
            message: "`lax.switch` has no branches".to_owned(),
            help: "pass at least one function",
            at: branches,
        }),
        _ => {
            let mut branches = sequence(branches).unwrap_or_default().iter();
            branches
                .find_map(|branch| not_callable(call, branch, "`lax.switch`"))
                .or_else(|| operand(call, 2, "lax.switch"))
        }
    }
}

/// Returns the fault if operands are passed both by position and as `operand=`.
fn operand<'a>(call: &Call<'_, '_, 'a>, before: usize, caller: &str) -> Option<Fault<'a>> {
    let arguments = &call.call.arguments;
    let keyword = arguments.find_keyword("operand")?;
    (arguments.args.len() > before && !keyword.value.is_none_literal_expr()).then(|| Fault {
        message: format!("`{caller}` is given both positional operands and `operand=`"),
        help: "pass all operands as positional arguments",
        at: &keyword.value,
    })
}

fn platform_dependent<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    call.call.arguments.keywords.iter().find_map(|keyword| {
        let name = keyword.arg.as_ref()?;
        if name.as_str() == "gpu" {
            return Some(Fault {
                message: "`lax.platform_dependent` does not know the platform `gpu`".to_owned(),
                help: "use `cuda` or `rocm`",
                at: &keyword.value,
            });
        }
        not_callable(call, &keyword.value, "`lax.platform_dependent`")
    })
}

fn scan<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    let arguments = &call.call.arguments;
    if arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || arguments.args.iter().any(Expr::is_starred_expr)
    {
        return None;
    }
    if let Some(at) = argument(call.call, 5, "unroll")
        && negative(at).is_some()
    {
        return Some(Fault {
            message: "`unroll` of `lax.scan` is negative".to_owned(),
            help: "pass a positive integer, or `True`",
            at,
        });
    }
    let length = argument(call.call, 3, "length").filter(|length| !length.is_none_literal_expr());
    let xs = argument(call.call, 2, "xs");
    let value = xs.map_or(Value::None, |xs| call.evaluator.value(call.scope, xs));
    let at = xs.unwrap_or(argument(call.call, 0, "f")?);
    let mut leaves = Vec::new();
    let complete = value.leaves(&mut leaves);
    if complete && leaves.is_empty() && length.is_none() {
        return Some(Fault {
            message: "`lax.scan` has neither values to iterate over nor a `length`".to_owned(),
            help: "pass `length=`",
            at,
        });
    }
    if leaves.iter().any(|leaf| leaf.shape.as_ref().is_some_and(Vec::is_empty)) {
        return Some(Fault {
            message: "`lax.scan` iterates over a scalar, which has no axis".to_owned(),
            help: "pass an array, such as `jnp.arange(n)`, or `None` and `length=n`",
            at,
        });
    }
    let mut lengths = leaves.iter().filter_map(|leaf| leaf.shape.as_ref()?.first().copied());
    let first = lengths.next()?;
    if let Some(other) = lengths.find(|other| *other != first) {
        return Some(Fault {
            message: format!("the arrays of `lax.scan` have different lengths: {first} and {other}"),
            help: "pass arrays of the same length",
            at,
        });
    }
    let at = length?;
    let length = natural(at)?;
    (length != first).then(|| Fault {
        message: format!("`length` of `lax.scan` is {length}, but the length of its arrays is {first}"),
        help: "remove `length`",
        at,
    })
}

fn fori_loop<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    let bound = |position, keyword| {
        let at = argument(call.call, position, keyword)?;
        let value = call.evaluator.value(call.scope, at);
        let (dtype, weak) = value.leaf()?.dtype?;
        Some((at, dtype, weak))
    };
    let ((_, lower, weak_lower), (at, upper, weak_upper)) = (bound(0, "lower")?, bound(1, "upper")?);
    (lower != upper && weak_lower == weak_upper).then(|| Fault {
        message: format!(
            "the bounds of `lax.fori_loop` have the dtypes {} and {}",
            lower.as_str(),
            upper.as_str()
        ),
        help: "pass two integers",
        at,
    })
}

fn associative_scan<'a>(call: &Call<'_, '_, 'a>) -> Option<Fault<'a>> {
    let at = argument(call.call, 1, "elems")?;
    if argument(call.call, 3, "axis").is_some() {
        return None;
    }
    let (value, mut found) = (call.evaluator.value(call.scope, at), Vec::new());
    value.leaves(&mut found);
    let mut lengths = found.iter().filter_map(|leaf| leaf.shape.as_ref()?.first().copied());
    let first = lengths.next()?;
    let other = lengths.find(|other| *other != first)?;
    Some(Fault {
        message: format!("the arrays of `lax.associative_scan` have different lengths: {first} and {other}"),
        help: "pass arrays of the same length",
        at,
    })
}

fn cumulative<'a>(call: &Call<'_, '_, 'a>, function: &str) -> Option<Fault<'a>> {
    let operand = argument(call.call, 0, "operand")?;
    let value = call.evaluator.value(call.scope, operand);
    if matches!(function, "cumsum" | "cumprod")
        && value.leaf().and_then(|leaf| leaf.dtype).is_some_and(|(dtype, _)| dtype == DType::Bool)
    {
        return Some(Fault {
            message: format!("`lax.{function}` does not accept a boolean array"),
            help: "convert it with `astype(int)`, or use the function of `jax.numpy`",
            at: operand,
        });
    }
    let at = argument(call.call, 1, "axis")?;
    if let Some(axis) = negative(at) {
        return Some(Fault {
            message: format!("`lax.{function}` does not accept the negative `axis` -{axis}"),
            help: "pass `x.ndim - 1`, or use the function of `jax.numpy`",
            at,
        });
    }
    let axis = natural(at)?;
    let rank = value.leaf()?.shape.as_ref()?.len() as u64;
    (axis >= rank).then(|| Fault {
        message: format!("`axis` of `lax.{function}` is {axis}, but the array has {rank} dimensions"),
        help: "pass an axis of the array",
        at,
    })
}

fn is_scalar(leaf: &Leaf) -> bool {
    leaf.shape.as_ref().is_none_or(Vec::is_empty)
}

/// Returns `n` for the literal `-n`.
fn negative(value: &Expr) -> Option<u64> {
    let operation = value.as_unary_op_expr().filter(|operation| operation.op == ast::UnaryOp::USub)?;
    natural(&operation.operand).filter(|number| *number > 0)
}

fn noun(value: &Value, at: &Expr) -> String {
    if at.is_string_literal_expr() { "a string".to_owned() } else { value.noun() }
}
