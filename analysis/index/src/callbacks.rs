//! Library functions that call functions of the user: which arguments are functions, and the arguments they get.
//!
//! `tf.while_loop(cond, body, loop_vars)` calls `cond(*loop_vars)`; `Dataset.map(f)` calls `f` with an
//! element; `jax.lax.scan(f, init, xs)` calls `f(init, xs[0])`. The fixpoint treats these as call sites of `f`.

use ruff_python_ast::{self as ast, Expr};

use crate::dialect::Dialect;
use crate::index::last_name;

/// An argument with which a library calls the user's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The library function's own argument at this position, or with this keyword.
    Argument(usize, &'static str),
    /// The elements of that argument, unpacked: `*loop_vars`.
    Spread(usize, &'static str),
    /// All positional arguments from this position on: `lax.cond(p, f, g, *operands)`.
    Rest(usize),
    /// One slice of the argument along its first axis: a Tensor for a Tensor, a tuple for a tuple.
    Slice(usize, &'static str),
    /// A Tensor of the dialect (an induction variable).
    Tensor,
}

/// A library function that calls functions.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The public name: `tensorflow.while_loop`.
    pub name: &'static str,
    pub dialect: Dialect,
    /// Positions and keywords of the functions; each may also be a list, tuple or dict of functions.
    pub functions: &'static [(usize, &'static str)],
    pub given: &'static [Given],
    /// Whether AutoGraph converts the function (`tf.map_fn`), or only traces it (`tf.cond`).
    pub converts: bool,
}

use Given::{Argument, Rest, Slice, Spread, Tensor};

const fn tf(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    given: &'static [Given],
    converts: bool,
) -> Caller {
    Caller { name, dialect: Dialect::Tensorflow, functions, given, converts }
}

const fn jax(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    given: &'static [Given],
) -> Caller {
    Caller { name, dialect: Dialect::Jax, functions, given, converts: false }
}

/// A function that runs another one with example inputs, and records it.
const fn torch(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    given: &'static [Given],
) -> Caller {
    Caller { name, dialect: Dialect::Torch, functions, given, converts: false }
}

/// From the libraries' documentation (TensorFlow 2.21, jax 0.7).
pub static CALLERS: &[Caller] = &[
    tf("tensorflow.cond", &[(1, "true_fn"), (2, "false_fn")], &[], false),
    tf("tensorflow.while_loop", &[(0, "cond"), (1, "body")], &[Spread(2, "loop_vars")], false),
    tf("tensorflow.switch_case", &[(1, "branch_fns"), (2, "default")], &[], false),
    tf("tensorflow.map_fn", &[(0, "fn")], &[Slice(1, "elems")], true),
    tf("tensorflow.vectorized_map", &[(0, "fn")], &[Slice(1, "elems")], false),
    tf("tensorflow.scan", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    tf("tensorflow.foldl", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    tf("tensorflow.foldr", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    jax("jax.lax.cond", &[(1, "true_fun"), (2, "false_fun")], &[Rest(3)]),
    jax("jax.lax.switch", &[(1, "branches")], &[Rest(2)]),
    jax("jax.lax.while_loop", &[(0, "cond_fun"), (1, "body_fun")], &[Argument(2, "init_val")]),
    jax("jax.lax.fori_loop", &[(2, "body_fun")], &[Tensor, Argument(3, "init_val")]),
    jax("jax.lax.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    jax("jax.lax.map", &[(0, "f")], &[Slice(1, "xs")]),
    torch("torch.export.export", &[(0, "mod")], &[Spread(1, "args")]),
    torch("torch.jit.trace", &[(0, "func")], &[Spread(1, "example_inputs")]),
    jax("jax.lax.associative_scan", &[(0, "fn")], &[Argument(1, "elems"), Argument(1, "elems")]),
];

/// The caller of a public name.
pub fn caller(name: &str) -> Option<&'static Caller> {
    CALLERS.iter().find(|caller| caller.name == name)
}

impl Caller {
    /// The function arguments of a call of it.
    pub fn functions_of<'a>(&self, call: &'a ast::ExprCall) -> Vec<&'a Expr> {
        self.functions
            .iter()
            .filter_map(|(position, keyword)| argument(call, *position, keyword))
            .flat_map(|argument| match argument {
                Expr::List(list) => list.elts.iter().collect::<Vec<_>>(),
                Expr::Tuple(tuple) => tuple.elts.iter().collect(),
                Expr::Dict(dict) => dict.items.iter().map(|item| &item.value).collect(),
                other => vec![other],
            })
            .collect()
    }
}

/// The function that a host callback runs, if it is a lambda or a `partial`:
/// `io_callback(partial(log, name="x"), None, x)`. Packages wrap these callbacks, so only the last name is matched.
pub fn host_function(call: &ast::ExprCall) -> Option<&Expr> {
    let keyword = match last_name(&call.func)?.as_str() {
        "io_callback" | "pure_callback" | "debug_callback" => "callback",
        "py_function" | "numpy_function" => "func",
        _ => return None,
    };
    argument(call, 0, keyword).filter(|function| match function {
        Expr::Lambda(_) => true,
        Expr::Call(call) => last_name(&call.func).is_some_and(|name| name == "partial"),
        _ => false,
    })
}

/// The argument at a position or keyword; `None` if `*args` makes the position ambiguous.
pub fn argument<'a>(call: &'a ast::ExprCall, position: usize, keyword: &str) -> Option<&'a Expr> {
    let before = call.arguments.args.get(..=position);
    if let Some(before) = before
        && !before.iter().any(Expr::is_starred_expr)
    {
        return before.last();
    }
    call.arguments.find_keyword(keyword).map(|keyword| &keyword.value)
}

/// A call such as `dataset.map(f)`, recognized by the method's name; the receiver's type is checked later.
pub struct DatasetMethod<'a> {
    pub receiver: &'a Expr,
    pub function: &'a Expr,
}

/// The methods of `tf.data.Dataset` that convert and call a function.
pub fn dataset_method(call: &ast::ExprCall) -> Option<DatasetMethod<'_>> {
    let attribute = call.func.as_attribute_expr()?;
    let (position, keyword) = match attribute.attr.as_str() {
        "map" | "flat_map" | "interleave" => (0, "map_func"),
        "filter" | "take_while" => (0, "predicate"),
        "reduce" => (1, "reduce_func"),
        "scan" => (1, "scan_func"),
        _ => return None,
    };
    Some(DatasetMethod { receiver: &attribute.value, function: argument(call, position, keyword)? })
}
