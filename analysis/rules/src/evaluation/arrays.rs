//! Functions of JAX and TensorFlow that call other functions: transformations, loops and branches of the graph, and maps
//! over trees. The results of other functions come from their types.

use std::rc::Rc;

use ruff_python_ast as ast;
use ruff_text_size::{Ranged, TextRange};

use super::calls::Arguments;
use super::packages::{PACKAGES, is_optimizer};
use super::traced::{Compiled, Mode};
use super::transformations::{NNX, Passing, Transformation, passing};
use super::trees::Constants;
use super::values::{Partial, Transformed, Value};
use super::{Evaluated, Evaluation, Frame};
use crate::variables::{creates_variables, has_weights};

/// Decorators of libraries that return their function or class, or one that behaves like it.
const TRANSPARENT: [&str; 27] = [
    "abc.abstractmethod",
    "chex.dataclass",
    "dataclasses.dataclass",
    "enum.unique",
    "flax.struct.dataclass",
    "functools.total_ordering",
    "jax.tree_util.register_dataclass",
    "jax.tree_util.register_pytree_node_class",
    "chex.assert_max_traces",
    "flax.linen.compact",
    "flax.linen.nowrap",
    "flax.linen.remat",
    "functools.cache",
    "functools.lru_cache",
    "functools.wraps",
    "jax.checkpoint",
    "jax.custom_jvp",
    "jax.custom_vjp",
    "jax.named_call",
    "jax.named_scope",
    "jax.profiler.annotate_function",
    "jax.remat",
    "staticmethod",
    "tensorflow.Module.with_name_scope",
    "tensorflow.autograph.experimental.do_not_convert",
    "typing.final",
    "typing.override",
];

/// Functions of array libraries whose results are not one array.
const OTHER_RESULTS: [&str; 78] = [
    "array_repr",
    "array_split",
    "array_str",
    "axis_index",
    "axis_size",
    "broadcast_arrays",
    "broadcast_shapes",
    "cond",
    "custom_gradient",
    "custom_linear_solve",
    "custom_root",
    "device",
    "divmod",
    "dsplit",
    "dtype",
    "dynamic_partition",
    "eig",
    "eigh",
    "frexp",
    "function",
    "get_static_value",
    "gradient",
    "gradients",
    "group",
    "histogram",
    "histogram2d",
    "histogramdd",
    "hsplit",
    "init_scope",
    "is_symbolic_tensor",
    "is_tensor",
    "iscomplexobj",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "ix_",
    "lstsq",
    "lu",
    "meshgrid",
    "modf",
    "moments",
    "name_scope",
    "ndim",
    "no_gradient",
    "no_op",
    "nonzero",
    "numpy_function",
    "polydiv",
    "print",
    "printoptions",
    "promote_types",
    "py_function",
    "qr",
    "reduce_precision",
    "required_space_to_batch_paddings",
    "result_type",
    "save",
    "savez",
    "scan",
    "shape",
    "size",
    "slogdet",
    "sort",
    "split",
    "stop_gradient",
    "svd",
    "switch",
    "timestamp",
    "top_k",
    "type",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "vsplit",
    "where",
    "while_loop",
    "map",
];

/// Functions that create an array.
const CREATING: [&str; 25] = [
    "PRNGKey",
    "arange",
    "array",
    "asarray",
    "bernoulli",
    "categorical",
    "constant",
    "convert_to_tensor",
    "eye",
    "fill",
    "full",
    "full_like",
    "key",
    "linspace",
    "normal",
    "ones",
    "ones_like",
    "permutation",
    "randint",
    "random.normal",
    "random.uniform",
    "range",
    "uniform",
    "zeros",
    "zeros_like",
];

impl<'a> Evaluation<'_, 'a> {
    /// Returns the result of applying decorators to a function or class.
    pub(super) fn decorated_for_arrays(
        &mut self,
        decorated: Value<'a>,
        decorators: &'a [ast::Decorator],
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        let mut value = decorated;
        for decorator in decorators.iter().rev() {
            if decorator.expression.as_name_expr().is_some_and(|name| name.id == "staticmethod") {
                continue;
            }
            let function = self.outside(|it| it.value(&decorator.expression, frame))?;
            value = match function {
                Value::Library(_)
                | Value::Partial(_)
                | Value::Function(_)
                | Value::Lambda(_)
                | Value::Class(_) => self.call(&function, Arguments::of(vec![value]), decorator.range())?,
                _ => Value::Unknown,
            };
        }
        Ok(value)
    }

    /// Evaluates a call of a function of a library.
    pub(super) fn array_library(
        &mut self,
        name: &str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if let Some(mode) = transformation(name) {
            return Ok(self.transformed(name, mode, arguments));
        }
        let first = arguments.positional.first().cloned();
        match (name, &first) {
            ("functools.cache" | "functools.lru_cache", Some(function @ Value::Function(_))) => {
                return Ok(transformed(function, Transformation::Cached, Passing::Unknown));
            }
            // `@lru_cache(maxsize=None)`
            ("functools.lru_cache", None | Some(Value::Int(_) | Value::None)) => {
                return Ok(Value::Library("functools.cache".into()));
            }
            ("tensorflow.custom_gradient", Some(function @ (Value::Function(_) | Value::Lambda(_)))) => {
                return Ok(transformed(function, Transformation::CustomGradient, Passing::Unknown));
            }
            ("itertools.count" | "itertools.cycle" | "itertools.repeat", _) => {
                return Ok(self.iterator(Value::Unknown));
            }
            ("contextlib.contextmanager", Some(function @ Value::Function(_))) => {
                return Ok(transformed(function, Transformation::Manager, Passing::Unknown));
            }
            _ => {}
        }
        if creates_variables(name) {
            self.creates_variables(range);
        }
        if returns_array(name) || creates_array(name) {
            arguments.values().for_each(|value| self.used(value, range));
        }
        if TRANSPARENT.contains(&name) {
            let is_function = first.as_ref().is_some_and(|it| !matches!(it, Value::Text(_) | Value::Int(_)));
            return Ok(match first.filter(|_| is_function) {
                // `functools.wraps(f)` is a decorator for another function.
                Some(function) if name != "functools.wraps" => function,
                _ => Value::Library("typing.final".into()),
            });
        }
        if arguments.open {
            return Ok(Value::Unknown);
        }
        let positional = arguments.positional.as_slice();
        Ok(match (name, positional) {
            (
                "jax.grad"
                | "jax.jacfwd"
                | "jax.jacrev"
                | "jax.hessian"
                | "equinox.filter_grad"
                | "flax.nnx.grad",
                [function, ..],
            ) => transformed(function, Transformation::Gradient, gradient_passing(name, &arguments)),
            (
                "jax.value_and_grad" | "equinox.filter_value_and_grad" | "flax.nnx.value_and_grad",
                [function, ..],
            ) => transformed(function, Transformation::ValueAndGradient, gradient_passing(name, &arguments)),
            ("jax.lax.scan", _) => self.scan(&arguments, range)?,
            ("jax.lax.fori_loop", [_, _, body, init]) => {
                let carried = self.traced_value(init, Mode::Jit);
                let body = body.clone();
                let arguments = Arguments::of(vec![Value::unshaped(), carried]);
                let result = self.in_mode(Mode::Jit, |it| it.call(&body, arguments, range))?;
                self.traced_value(&result, Mode::Jit)
            }
            ("jax.lax.while_loop", [condition, body, init]) => {
                let carried = self.traced_value(init, Mode::Jit);
                let result = self.in_mode(Mode::Jit, |it| {
                    it.call(condition, Arguments::of(vec![carried.clone()]), range)?;
                    it.call(body, Arguments::of(vec![carried]), range)
                })?;
                self.traced_value(&result, Mode::Jit)
            }
            ("jax.lax.cond", [_, first, second, operands @ ..]) => {
                self.alternatives(&[first.clone(), second.clone()], operands, Mode::Jit, range)?
            }
            ("jax.lax.switch", [_, branches, operands @ ..]) => match branches.elements() {
                Some(branches) => self.alternatives(&branches, operands, Mode::Jit, range)?,
                None => Value::Unknown,
            },
            ("jax.lax.map", [function, values]) => {
                let element = self.row(values);
                let result =
                    self.in_mode(Mode::Jit, |it| it.call(function, Arguments::of(vec![element]), range))?;
                self.traced_value(&result, Mode::Jit)
            }
            ("jax.lax.associative_scan", [function, values, ..]) => {
                let element = self.row(values);
                let arguments = Arguments::of(vec![element.clone(), element]);
                let result = self.in_mode(Mode::Jit, |it| it.call(function, arguments, range))?;
                self.traced_value(&result, Mode::Jit)
            }
            (
                "jax.lax.stop_gradient"
                | "jax.device_put"
                | "jax.device_get"
                | "tensorflow.identity"
                | "tensorflow.stop_gradient",
                [value, ..],
            ) => value.clone(),
            ("tensorflow.cond", _) => {
                let branches: Vec<Value> = [arguments.get(1, "true_fn"), arguments.get(2, "false_fn")]
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect();
                self.alternatives(&branches, &[], Mode::Graph, range)?
            }
            ("tensorflow.while_loop", _) => {
                let (Some(condition), Some(body), Some(variables)) =
                    (arguments.get(0, "cond"), arguments.get(1, "body"), arguments.get(2, "loop_vars"))
                else {
                    return Ok(Value::Unknown);
                };
                let Some(carried) = self.traced_value(variables, Mode::Jit).elements() else {
                    return Ok(Value::Unknown);
                };
                self.in_mode(Mode::Graph, |it| {
                    it.call(condition, Arguments::of(carried.clone()), range)?;
                    it.call(body, Arguments::of(carried), range)
                })?
            }
            ("tensorflow.map_fn" | "tensorflow.vectorized_map", [function, values, ..]) => {
                let element = values.element().unwrap_or_else(|| self.row(values));
                self.in_mode(Mode::Graph, |it| it.call(function, Arguments::of(vec![element]), range))?
            }
            (
                "jax.tree.map"
                | "jax.tree_util.tree_map"
                | "jax.tree_map"
                | "tensorflow.nest.map_structure"
                | "optax.tree_utils.tree_map",
                [function, trees @ ..],
            ) => {
                let (function, trees) = (function.clone(), trees.to_vec());
                self.map_trees(&function, &trees, range)?
            }
            ("jax.tree_util.tree_map_with_path" | "jax.tree.map_with_path", [function, trees @ ..]) => {
                let function = Value::Partial(Rc::new(Partial {
                    function: function.clone(),
                    positional: vec![Value::Unknown],
                    keywords: Vec::new(),
                }));
                let trees = trees.to_vec();
                self.map_trees(&function, &trees, range)?
            }
            ("jax.tree.leaves" | "jax.tree_util.tree_leaves" | "tensorflow.nest.flatten", [tree, ..]) => {
                self.leaves(tree)
            }
            ("jax.tree_util.tree_flatten_with_path" | "jax.tree.flatten_with_path", [tree, ..]) => {
                let leaf = match self.leaves(tree) {
                    Value::List(leaves) => Value::common(leaves.borrow().as_deref().unwrap_or_default()),
                    leaves => leaves.element(),
                };
                let pairs = leaf.map(|leaf| Value::many(Value::tuple(vec![Value::Unknown, leaf])));
                Value::tuple(vec![pairs.unwrap_or(Value::Unknown), Value::Unknown])
            }
            ("jax.tree_util.tree_leaves_with_path" | "jax.tree.leaves_with_path", [tree, ..]) => {
                match self.leaves(tree).element() {
                    Some(leaf) => Value::many(Value::tuple(vec![Value::Unknown, leaf])),
                    None => Value::Unknown,
                }
            }
            ("jax.tree.flatten" | "jax.tree_util.tree_flatten", [tree, ..]) => {
                Value::tuple(vec![self.leaves(tree), Value::Unknown])
            }
            _ if creates_array(name) => self.computed_array(),
            ("jax.numpy.where" | "tensorflow.where", [condition, first, second])
                if [condition, first, second].into_iter().any(Value::holds_tensor) =>
            {
                Value::unshaped()
            }
            ("jax.numpy.sort", [value, ..]) if value.holds_tensor() => Value::unshaped(),
            (
                "jax.numpy.split"
                | "jax.numpy.array_split"
                | "jax.numpy.unstack"
                | "tensorflow.split"
                | "tensorflow.unstack",
                [values, ..],
            ) => match values {
                Value::Tensor(..) => Value::many(Value::unshaped()),
                Value::Array | Value::Variable => Value::many(self.computed_array()),
                _ => Value::Unknown,
            },
            ("tensorflow.Variable", _) => Value::Variable,
            ("keras.Sequential", [layers, ..]) if let Some(layers) = self.elements(layers)? => {
                let layer = layers.into_iter().find(|layer| matches!(layer, Value::Weights(_)));
                layer.unwrap_or(Value::Unknown)
            }
            _ if name.starts_with(NNX) => self.nnx_library(name, &arguments, range),
            _ if is_optimizer(name) => Value::Foreign,
            _ if has_weights(name) => Value::Weights(Rc::default()),
            _ if returns_array(name) && arguments.values().any(Value::holds_tensor) => Value::unshaped(),
            _ if returns_array(name) && arguments.values().any(|it| matches!(it, Value::Variable)) => {
                self.computed_array()
            }
            _ if PACKAGES.iter().any(|package| name.starts_with(package)) => Value::Unknown,
            _ => return self.of_containers(name, arguments, range),
        })
    }

    /// Returns the result of `jax.jit(f)` and similar calls. Without a function, the result is a decorator.
    fn transformed(&mut self, name: &str, mode: Mode, arguments: Arguments<'a>) -> Value<'a> {
        let function = arguments.positional.first().or_else(|| arguments.get(usize::MAX, "fun")).cloned();
        let Some(function) = function else {
            return Value::Partial(Rc::new(Partial {
                function: Value::Library(name.into()),
                positional: Vec::new(),
                keywords: arguments.keywords,
            }));
        };
        let constants = match mode {
            Mode::Map => Constants::of_map(&arguments),
            _ => Constants::of_jit(name, &arguments),
        };
        Value::Compiled(Rc::new(Compiled { function, mode, constants, made: None, passing: passing(name) }))
    }

    /// Evaluates a call of `jax.grad(f)` or `jax.value_and_grad(f)`.
    pub(super) fn transformed_call(
        &mut self,
        transformed: &Rc<Transformed<'a>>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        match transformed.transformation {
            Transformation::Cached => return self.cached_call(&transformed.function, arguments, range),
            Transformation::Manager => {
                let Arguments { positional, keywords, .. } = arguments;
                let call = Partial { function: transformed.function.clone(), positional, keywords };
                let call = Value::Partial(Rc::new(call));
                return Ok(self::transformed(&call, Transformation::Entered, Passing::Unknown));
            }
            Transformation::CustomGradient => {
                let result = self.call(&transformed.function, arguments, range)?;
                let Some([value, gradient]) = result.elements().and_then(|it| <[_; 2]>::try_from(it).ok())
                else {
                    return Ok(Value::Unknown);
                };
                let outputs = value.elements().map_or(1, |it| it.len());
                let upstream = vec![self.computed_array(); outputs];
                self.call(&gradient, Arguments::of(upstream), range)?;
                return Ok(value);
            }
            _ => {}
        }
        let gradient = match arguments.positional.first() {
            Some(value) if !self.traced.is_empty() => self.traced_value(value, Mode::Jit),
            _ => Value::Unknown,
        };
        // `jax.grad` copies only the argument that it differentiates.
        let copied = if transformed.passing == Passing::Kept { usize::MAX } else { 1 };
        let received: Vec<Value> = arguments.values().take(copied).cloned().collect();
        let value = self.at_level(transformed.passing, &received, |it| {
            it.call(&transformed.function, arguments, range)
        })?;
        Ok(match transformed.transformation {
            Transformation::Gradient => gradient,
            Transformation::ValueAndGradient => Value::tuple(vec![value, gradient]),
            _ => value,
        })
    }

    /// Evaluates `lax.scan(f, init, xs)`.
    fn scan(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let (Some(body), Some(init)) = (arguments.get(0, "f"), arguments.get(1, "init")) else {
            return Ok(Value::Unknown);
        };
        let rows = arguments.get(2, "xs").map_or(Value::None, |values| self.row(values));
        let carried = self.traced_value(init, Mode::Jit);
        let result =
            self.in_mode(Mode::Jit, |it| it.call(body, Arguments::of(vec![carried, rows]), range))?;
        Ok(self.traced_value(&result, Mode::Jit))
    }

    /// Returns what `lax.scan` passes to its body for an iteration over a tree.
    fn row(&self, values: &Value<'a>) -> Value<'a> {
        self.traced_value(values, Mode::Jit)
    }

    /// Evaluates the functions of which the graph runs one.
    fn alternatives(
        &mut self,
        branches: &[Value<'a>],
        operands: &[Value<'a>],
        mode: Mode,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let operands: Vec<Value> = operands.iter().map(|it| self.traced_value(it, mode)).collect();
        let mut results = Vec::new();
        for branch in branches {
            results.push(self.in_mode(mode, |it| it.call(branch, Arguments::of(operands.clone()), range))?);
        }
        let joined = Value::common(&results).unwrap_or(Value::Unknown);
        Ok(self.traced_value(&joined, mode))
    }
}

/// Returns how a transformation traces its function.
fn transformation(name: &str) -> Option<Mode> {
    Some(match name {
        "jax.jit" | "jax.pmap" | "jax.experimental.pjit.pjit" | "equinox.filter_jit" | "flax.nnx.jit" => {
            Mode::Jit
        }
        "jax.vmap" | "equinox.filter_vmap" => Mode::Map,
        "tensorflow.function" => Mode::Graph,
        _ => return None,
    })
}

/// Returns whether a function returns an array, whatever its arguments are.
fn creates_array(name: &str) -> bool {
    let own =
        ["jax.numpy.", "jax.random.", "tensorflow."].iter().find_map(|package| name.strip_prefix(package));
    name == "jax.random.split" || own.is_some_and(|own| CREATING.contains(&own))
}

/// Returns whether a function returns one array for an array.
fn returns_array(name: &str) -> bool {
    let Some((module, own)) = name.rsplit_once('.') else { return false };
    if module == "tensorflow.RaggedTensor" || module == "tensorflow.ragged" {
        return own.starts_with("from_") || own == "constant";
    }
    let is_module = matches!(
        module,
        "jax.numpy"
            | "jax.nn"
            | "jax.lax"
            | "jax.scipy.special"
            | "jax.scipy.stats.norm"
            | "jax.numpy.linalg"
            | "jax.numpy.fft"
            | "tensorflow"
            | "tensorflow.math"
            | "tensorflow.nn"
            | "tensorflow.linalg"
            | "tensorflow.signal"
            | "tensorflow.strings"
            | "tensorflow.image"
    );
    // `tf.strings.split` returns one Tensor, `tf.split` a list.
    let is_one = module == "tensorflow.strings" || !OTHER_RESULTS.contains(&own);
    is_module && own.starts_with(char::is_lowercase) && is_one
}

fn transformed<'a>(function: &Value<'a>, transformation: Transformation, passing: Passing) -> Value<'a> {
    let (function, options) = (function.clone(), [None, None]);
    Value::Transformed(Rc::new(Transformed { function, transformation, passing, options }))
}

/// Returns how `jax.grad` or a similar function passes arguments, if it differentiates the first one.
fn gradient_passing(name: &str, arguments: &Arguments) -> Passing {
    let is_first = !arguments.keywords.iter().any(|(name, _)| *name == "argnums");
    if is_first { passing(name) } else { Passing::Unknown }
}
