//! Library functions that call functions of the user. The table says which arguments of a library function are such
//! functions, and with which arguments the library function calls them.
//!
//! `tf.while_loop(cond, body, loop_vars)` calls `cond(*loop_vars)`. `Dataset.map(f)` calls `f` with an element.
//! `jax.lax.scan(f, init, xs)` calls `f(init, xs[0])`. The fixpoint treats these as calls of `f`.

use std::sync::LazyLock;

use ruff_python_ast::{self as ast, Expr};
use rustc_hash::FxHashMap;

use crate::dialect::{Dialect, RootKind};
use crate::index::last_name;

/// An argument that a library function passes to the user's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedArgument {
    /// An argument of the library function itself, given by its position and its keyword.
    Argument(usize, &'static str),
    /// The elements of such an argument, unpacked: `*loop_vars`.
    Spread(usize, &'static str),
    /// All positional arguments of the library function from this position on: `lax.cond(p, f, g, *operands)`.
    Rest(usize),
    /// One slice along the first axis of an argument of the library function. If the argument is a tuple, the slice is
    /// a tuple too.
    Slice(usize, &'static str),
    /// One leaf of an argument that is a tree of containers: an array for `[(x, y), {"z": z}]`.
    Leaf(usize, &'static str),
    /// A Tensor of the dialect, such as an induction variable.
    Tensor,
}

/// Whether a library function traces the functions that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// It always traces them, in eager code too (`jax.lax.scan`).
    Always,
    /// In staged code they are bodies in the graph. In eager code they run in Python (`tf.cond`).
    InStagedCode,
    /// The result calls them, in traced code if the program compiles any: `optax.adam(schedule)`.
    WhenJitted,
    /// They run as part of the code around the call, at once or later (`jax.tree.map`).
    Never,
}

/// A library function that calls functions.
#[derive(Clone, Copy, Debug)]
pub struct HigherOrderFunction {
    /// The public name, such as `tensorflow.while_loop`.
    pub name: &'static str,
    pub dialect: Dialect,
    /// The positions and keywords of the arguments that are functions. Each of them may also be a list, tuple or dict
    /// of functions.
    pub functions: &'static [(usize, &'static str)],
    pub arguments: &'static [PassedArgument],
    /// Whether AutoGraph converts the functions (`tf.map_fn`). Otherwise they are only traced (`tf.cond`).
    pub converts: bool,
    pub tracing: Tracing,
    pub kind: RootKind,
}

use PassedArgument::{Argument, Leaf, Rest, Slice, Spread, Tensor};

const fn tf(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    arguments: &'static [PassedArgument],
    converts: bool,
) -> HigherOrderFunction {
    HigherOrderFunction {
        name,
        dialect: Dialect::Tensorflow,
        functions,
        arguments,
        converts,
        tracing: Tracing::InStagedCode,
        kind: RootKind::ControlFlowBody,
    }
}

const fn jax(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    arguments: &'static [PassedArgument],
) -> HigherOrderFunction {
    HigherOrderFunction {
        name,
        dialect: Dialect::Jax,
        functions,
        arguments,
        converts: false,
        tracing: Tracing::Always,
        kind: RootKind::ControlFlowBody,
    }
}

const fn inline(function: HigherOrderFunction) -> HigherOrderFunction {
    HigherOrderFunction { tracing: Tracing::Never, ..function }
}

/// Describes an optimizer of optax whose learning rate may be a function of the number of updates.
const fn scheduled(name: &'static str) -> HigherOrderFunction {
    when_jitted(jax(name, &[(0, "learning_rate")], &[Tensor]))
}

const fn when_jitted(function: HigherOrderFunction) -> HigherOrderFunction {
    HigherOrderFunction { tracing: Tracing::WhenJitted, ..function }
}

const fn always(function: HigherOrderFunction) -> HigherOrderFunction {
    HigherOrderFunction { tracing: Tracing::Always, ..function }
}

/// Describes a library function whose result is passed to `Dataset.apply`:
/// `dataset.apply(tf.data.experimental.map_and_batch(f, 8))`.
const fn dataset(name: &'static str, functions: &'static [(usize, &'static str)]) -> HigherOrderFunction {
    always(HigherOrderFunction { kind: RootKind::DatasetCallback, ..tf(name, functions, &[], true) })
}

const fn torch(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    arguments: &'static [PassedArgument],
) -> HigherOrderFunction {
    always(HigherOrderFunction {
        dialect: Dialect::Torch,
        kind: RootKind::TorchCompile,
        ..tf(name, functions, arguments, false)
    })
}

/// Returns a function that maps the user's function over the elements of Tensors.
const fn mapped(caller: HigherOrderFunction) -> HigherOrderFunction {
    HigherOrderFunction { kind: RootKind::TorchVmap, ..caller }
}

const fn keras(
    name: &'static str,
    functions: &'static [(usize, &'static str)],
    arguments: &'static [PassedArgument],
) -> HigherOrderFunction {
    inline(HigherOrderFunction { dialect: Dialect::Keras, ..tf(name, functions, arguments, false) })
}

/// The library functions that call functions, from the libraries' documentation (TensorFlow 2.21, JAX 0.10).
pub static HIGHER_ORDER_FUNCTIONS: &[HigherOrderFunction] = &[
    tf("tensorflow.cond", &[(1, "true_fn"), (2, "false_fn")], &[], false),
    tf("tensorflow.while_loop", &[(0, "cond"), (1, "body")], &[Spread(2, "loop_vars")], false),
    tf("tensorflow.switch_case", &[(1, "branch_fns"), (2, "default")], &[], false),
    tf("tensorflow.map_fn", &[(0, "fn")], &[Slice(1, "elems")], true),
    always(tf("tensorflow.vectorized_map", &[(0, "fn")], &[Slice(1, "elems")], false)),
    tf("tensorflow.scan", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    tf("tensorflow.foldl", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    tf("tensorflow.foldr", &[(0, "fn")], &[Argument(2, "initializer"), Slice(1, "elems")], false),
    jax("jax.lax.cond", &[(1, "true_fun"), (2, "false_fun")], &[Rest(3)]),
    jax("jax.lax.switch", &[(1, "branches")], &[Rest(2)]),
    jax("jax.lax.while_loop", &[(0, "cond_fun"), (1, "body_fun")], &[Argument(2, "init_val")]),
    jax("jax.lax.fori_loop", &[(2, "body_fun")], &[Tensor, Argument(3, "init_val")]),
    jax("jax.lax.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    jax("jax.lax.map", &[(0, "f")], &[Slice(1, "xs")]),
    inline(jax("jax.lax.associative_scan", &[(0, "fn")], &[Argument(1, "elems"), Argument(1, "elems")])),
    jax("jax.lax.custom_root", &[(0, "f")], &[Argument(1, "initial_guess")]),
    jax("jax.lax.custom_linear_solve", &[(0, "matvec")], &[Argument(1, "b")]),
    jax("jax.lax.reduce", &[(2, "computation")], &[Tensor, Tensor]),
    jax("jax.lax.reduce_window", &[(2, "computation")], &[Tensor, Tensor]),
    inline(jax("jax.lax.platform_dependent", &[(usize::MAX, "default")], &[Rest(0)])),
    scheduled("optax.adabelief"),
    scheduled("optax.adadelta"),
    scheduled("optax.adafactor"),
    scheduled("optax.adagrad"),
    scheduled("optax.adam"),
    scheduled("optax.adamax"),
    scheduled("optax.adamaxw"),
    scheduled("optax.adamw"),
    scheduled("optax.adan"),
    scheduled("optax.amsgrad"),
    scheduled("optax.lamb"),
    scheduled("optax.lars"),
    scheduled("optax.lion"),
    scheduled("optax.nadam"),
    scheduled("optax.nadamw"),
    scheduled("optax.noisy_sgd"),
    scheduled("optax.novograd"),
    scheduled("optax.optimistic_gradient_descent"),
    scheduled("optax.radam"),
    scheduled("optax.rmsprop"),
    scheduled("optax.scale_by_learning_rate"),
    scheduled("optax.sgd"),
    scheduled("optax.sign_sgd"),
    scheduled("optax.sm3"),
    scheduled("optax.yogi"),
    when_jitted(jax("optax.scale_by_schedule", &[(0, "step_size_fn")], &[Tensor])),
    when_jitted(jax("optax.join_schedules", &[(0, "schedules")], &[Tensor])),
    jax("jax.experimental.ode.odeint", &[(0, "func")], &[Argument(1, "y0"), Tensor]),
    jax("jax.scipy.optimize.minimize", &[(0, "fun")], &[Argument(1, "x0")]),
    jax("jax.scipy.sparse.linalg.cg", &[(0, "A")], &[Argument(1, "b")]),
    jax("jax.scipy.sparse.linalg.gmres", &[(0, "A")], &[Argument(1, "b")]),
    jax("jax.scipy.sparse.linalg.bicgstab", &[(0, "A")], &[Argument(1, "b")]),
    jax("jax.lax.scatter_apply", &[(2, "func")], &[Tensor]),
    jax("jax.numpy.piecewise", &[(2, "funclist")], &[Argument(0, "x")]),
    inline(jax("jax.tree.map", &[(0, "f")], &[Leaf(1, "tree"), Leaf(2, "rest")])),
    inline(jax("jax.tree_util.tree_map", &[(0, "f")], &[Leaf(1, "tree"), Leaf(2, "rest")])),
    inline(jax(
        "jax.tree.map_with_path",
        &[(0, "f")],
        &[Argument(usize::MAX, "path"), Leaf(1, "tree"), Leaf(2, "rest")],
    )),
    inline(jax(
        "jax.tree_util.tree_map_with_path",
        &[(0, "f")],
        &[Argument(usize::MAX, "path"), Leaf(1, "tree"), Leaf(2, "rest")],
    )),
    inline(jax("jax.tree.reduce", &[(0, "function")], &[])),
    inline(jax("jax.tree_util.tree_reduce", &[(0, "function")], &[])),
    jax("flax.jax_utils.scan_in_dim", &[(0, "body_fn")], &[Argument(1, "init"), Slice(2, "xs")]),
    jax("flax.linen.cond", &[(1, "true_fun"), (2, "false_fun")], &[Rest(3)]),
    jax("flax.linen.switch", &[(1, "branches")], &[Rest(2)]),
    jax(
        "flax.linen.while_loop",
        &[(0, "cond_fn"), (1, "body_fn")],
        &[Argument(2, "mdl"), Argument(3, "init")],
    ),
    jax("flax.nnx.cond", &[(1, "true_fun"), (2, "false_fun")], &[Rest(3)]),
    jax("flax.nnx.switch", &[(1, "branches")], &[Rest(2)]),
    jax("flax.nnx.while_loop", &[(0, "cond_fun"), (1, "body_fun")], &[Argument(2, "init_val")]),
    jax("flax.nnx.fori_loop", &[(2, "body_fun")], &[Tensor, Argument(3, "init_val")]),
    jax("haiku.cond", &[(1, "true_fun"), (2, "false_fun")], &[Rest(3)]),
    jax("haiku.switch", &[(1, "branches")], &[Rest(2)]),
    jax("haiku.while_loop", &[(0, "cond_fun"), (1, "body_fun")], &[Argument(2, "init_val")]),
    jax("haiku.fori_loop", &[(2, "body_fun")], &[Tensor, Argument(3, "init_val")]),
    jax("haiku.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    jax("haiku.map", &[(0, "f")], &[Slice(1, "xs")]),
    jax("numpyro.contrib.control_flow.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    jax("numpyro.contrib.control_flow.cond", &[(1, "true_fun"), (2, "false_fun")], &[Argument(3, "operand")]),
    jax("equinox.internal.while_loop", &[(0, "cond_fun"), (1, "body_fun")], &[Argument(2, "init_val")]),
    jax("equinox.internal.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    // The solver calls the function in its own loop.
    jax("diffrax.ODETerm", &[(0, "vector_field")], &[Tensor, Tensor]),
    jax("diffrax.ControlTerm", &[(0, "vector_field")], &[Tensor, Tensor]),
    torch("torch.cond", &[(1, "true_fn"), (2, "false_fn")], &[Spread(3, "operands")]),
    torch("torch._higher_order_ops.cond", &[(1, "true_fn"), (2, "false_fn")], &[Spread(3, "operands")]),
    torch("torch.while_loop", &[(0, "cond_fn"), (1, "body_fn")], &[Spread(2, "carried_inputs")]),
    torch(
        "torch._higher_order_ops.while_loop",
        &[(0, "cond_fn"), (1, "body_fn")],
        &[Spread(2, "carried_inputs")],
    ),
    torch("torch._higher_order_ops.scan", &[(0, "combine_fn")], &[Argument(1, "init"), Argument(2, "xs")]),
    torch("torch._higher_order_ops.map", &[(0, "f")], &[Argument(1, "xs")]),
    torch("torch._higher_order_ops.associative_scan", &[(0, "combine_fn")], &[Tensor, Tensor]),
    // The scores and indices are mapped over all positions.
    mapped(torch(
        "torch.nn.attention.flex_attention.flex_attention",
        &[(3, "score_mod")],
        &[Tensor, Tensor, Tensor, Tensor, Tensor],
    )),
    mapped(torch(
        "torch.nn.attention.flex_attention.create_block_mask",
        &[(0, "mask_mod")],
        &[Tensor, Tensor, Tensor, Tensor],
    )),
    mapped(torch(
        "torch.nn.attention.flex_attention.create_mask",
        &[(0, "mod_fn")],
        &[Tensor, Tensor, Tensor, Tensor],
    )),
    keras("keras.ops.cond", &[(1, "true_fn"), (2, "false_fn")], &[]),
    keras("keras.ops.while_loop", &[(0, "cond"), (1, "body")], &[Spread(2, "loop_vars")]),
    keras("keras.ops.fori_loop", &[(2, "body_fun")], &[Tensor, Argument(3, "init_val")]),
    keras("keras.ops.scan", &[(0, "f")], &[Argument(1, "init"), Slice(2, "xs")]),
    keras("keras.ops.map", &[(0, "f")], &[Slice(1, "xs")]),
    keras("keras.ops.switch", &[(1, "branches")], &[Rest(2)]),
    always(keras("keras.ops.vectorized_map", &[(0, "function")], &[Slice(1, "elements")])),
    dataset("tensorflow.data.experimental.map_and_batch", &[(0, "map_func")]),
    dataset("tensorflow.data.experimental.parallel_interleave", &[(0, "map_func")]),
    dataset("tensorflow.data.experimental.group_by_window", &[(0, "key_func"), (1, "reduce_func")]),
    dataset("tensorflow.data.experimental.scan", &[(1, "scan_func")]),
    dataset("tensorflow.data.experimental.take_while", &[(0, "predicate")]),
    dataset("tensorflow.data.experimental.group_by_reducer", &[(0, "key_func")]),
    dataset("tensorflow.data.experimental.bucket_by_sequence_length", &[(0, "element_length_func")]),
    dataset("tensorflow.data.experimental.rejection_resample", &[(0, "class_func")]),
    // Roots with example inputs, which determine the types of the functions' parameters.
    inline(torch("torch.export.export", &[(0, "mod")], &[Spread(1, "args")])),
    inline(torch("torch.jit.trace", &[(0, "func")], &[Spread(1, "example_inputs")])),
];

/// Returns the library function with this public name, if it calls functions.
pub fn higher_order_function(name: &str) -> Option<&'static HigherOrderFunction> {
    static BY_NAME: LazyLock<FxHashMap<&str, &HigherOrderFunction>> =
        LazyLock::new(|| HIGHER_ORDER_FUNCTIONS.iter().map(|function| (function.name, function)).collect());
    BY_NAME.get(name).copied()
}

impl HigherOrderFunction {
    /// Returns those arguments of a call of this library function that are functions.
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

/// Returns the function that a host callback runs, if it is a lambda or a `partial`:
/// `io_callback(partial(log, name="x"), None, x)`. Packages wrap these callbacks, so only the last part of the callee's
/// name is compared.
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

/// Returns the argument at a position or with a keyword; `None` if there is none, or if `*args` makes the position
/// ambiguous.
pub fn argument<'a>(call: &'a ast::ExprCall, position: usize, keyword: &str) -> Option<&'a Expr> {
    let before = call.arguments.args.get(..=position);
    if let Some(before) = before
        && !before.iter().any(Expr::is_starred_expr)
    {
        return before.last();
    }
    call.arguments.find_keyword(keyword).map(|keyword| &keyword.value)
}

/// A call such as `dataset.map(f)`, recognized by the method's name. The receiver's type is checked later.
pub struct DatasetMethod<'a> {
    pub receiver: &'a Expr,
    pub function: &'a Expr,
}

/// Returns the receiver and the function argument of a call such as `data.map(f)`, which may call a method of
/// `tf.data.Dataset` that converts and calls `f`. Returns `None` if no such method has this name.
pub fn dataset_method(call: &ast::ExprCall) -> Option<DatasetMethod<'_>> {
    let attribute = call.func.as_attribute_expr()?;
    let (position, keyword) = match attribute.attr.as_str() {
        "map" | "flat_map" | "interleave" => (0, "map_func"),
        "filter" | "take_while" => (0, "predicate"),
        "reduce" => (1, "reduce_func"),
        "scan" => (1, "scan_func"),
        "group_by_window" => (1, "reduce_func"),
        "bucket_by_sequence_length" => (0, "element_length_func"),
        "rejection_resample" => (0, "class_func"),
        "save" => (2, "shard_func"),
        "snapshot" => (3, "shard_func"),
        _ => return None,
    };
    Some(DatasetMethod { receiver: &attribute.value, function: argument(call, position, keyword)? })
}

/// Returns the hook that `module.register_forward_hook(hook)` registers. The module calls it with itself, its arguments
/// and, after the call, its result.
pub fn registered_hook(call: &ast::ExprCall) -> Option<&Expr> {
    let method = call.func.as_attribute_expr()?;
    let registers = matches!(method.attr.as_str(), "register_forward_hook" | "register_forward_pre_hook");
    registers.then(|| argument(call, 0, "hook")).flatten()
}
