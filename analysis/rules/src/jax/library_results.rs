//! The results of functions and methods of JAX and NumPy, as abstract values.

use ruff_python_ast::{self as ast, Expr, Operator};

use super::abstract_value::{DType, Extent, Leaf, Value};
use super::array_operations::{binary, broadcast, promote, reduction, stacked};
use super::frame::{Environment, Frame};
use super::kinds;
use super::shape_functions::{self, ArrayCall, concatenated};
use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, natural, sequence};

/// The default dtype of arrays of floating-point numbers.
const FLOAT: Option<(DType, bool)> = Some((DType::Float32, false));

impl<'a> Frame<'_, '_, 'a> {
    /// Returns the result of a method of an array: `x.astype(t)`, `x.at[i].set(v)`, `x.sum()`.
    pub(super) fn method(
        &self,
        method: &'a ast::ExprAttribute,
        call: &'a ast::ExprCall,
        environment: &Environment<'a>,
    ) -> Value {
        if let Expr::Subscript(subscript) = &*method.value
            && let Expr::Attribute(at) = &*subscript.value
            && at.attr.as_str() == "at"
        {
            return match self.value(&at.value, environment) {
                Value::Leaf(leaf) if method.attr.as_str() != "get" => Value::Leaf(leaf),
                _ => Value::Unknown,
            };
        }
        let leaf = match self.value(&method.value, environment) {
            Value::Leaf(leaf) => leaf,
            Value::Record(record) => return self.replaced(record, &method.attr, call, environment),
            Value::Object(object) => {
                let method = self.attribute_of(&object, &method.attr);
                return self.apply(&method, &call.arguments, environment);
            }
            // Only arrays have these methods.
            Value::Unknown if method.attr.as_str() == "astype" => Leaf::default(),
            Value::Unknown if matches!(method.attr.as_str(), "std" | "var") => {
                return Value::array(Some(DType::Inexact), false, None);
            }
            _ => return Value::Unknown,
        };
        let whole = call.arguments.is_empty();
        match method.attr.as_str() {
            "astype" => {
                let dtype = argument(call, 0, "dtype").and_then(|dtype| self.dtype(dtype));
                Value::array(dtype, false, leaf.shape)
            }
            "sum" | "prod" | "max" | "min" | "mean" | "any" | "all" | "argmax" | "argmin" => {
                reduction(method.attr.as_str(), &leaf, reduced(call, 0, &leaf))
            }
            "copy" if whole => Value::Leaf(leaf),
            "dot" => match call.arguments.args.first() {
                Some(other) => shape_functions::dot(&Value::Leaf(leaf), &self.value(other, environment)),
                None => Value::Unknown,
            },
            function => {
                let array = Leaf { integer: None, ..leaf };
                let call = ArrayCall { frame: self, call, environment, skipped: 0, array };
                call.result(function).unwrap_or(Value::Unknown)
            }
        }
    }

    fn dtype(&self, expression: &'a Expr) -> Option<DType> {
        if self.evaluator.wide {
            return None;
        }
        if let Expr::StringLiteral(literal) = expression {
            return DType::of_name(literal.value.to_str());
        }
        match self.evaluator.ctx.resolve(expression) {
            Some(name) => {
                let (module, dtype) = name.rsplit_once('.')?;
                matches!(module, "jax.numpy" | "numpy").then(|| DType::of_name(dtype)).flatten()
            }
            None => DType::of_name(&expression.as_name_expr()?.id).filter(|_| {
                matches!(
                    expression.as_name_expr().map(|it| it.id.as_str()),
                    Some("int" | "float" | "bool" | "complex")
                )
            }),
        }
    }

    pub(super) fn library(
        &self,
        name: &str,
        call: &'a ast::ExprCall,
        environment: &Environment<'a>,
    ) -> Value {
        let Some((module, function)) = name.rsplit_once('.') else { return Value::Unknown };
        if call.arguments.args.iter().any(Expr::is_starred_expr) {
            return Value::Unknown;
        }
        let is_numpy = module == "numpy";
        let library_call = LibraryCall { frame: self, call, environment, is_numpy };
        match (module, function) {
            ("jax.numpy" | "numpy", "zeros" | "ones" | "empty") => library_call.filled(0, 1, FLOAT),
            ("jax.numpy" | "numpy", "full") => library_call.full(),
            ("jax.numpy" | "numpy", "zeros_like" | "ones_like" | "empty_like") => library_call.like(),
            ("jax.numpy" | "numpy", "array" | "asarray") => library_call.array(),
            (
                "jax.numpy" | "numpy",
                "float16" | "float32" | "float64" | "bfloat16" | "int8" | "uint8" | "int32" | "int64"
                | "bool_" | "complex64",
            ) => library_call.converted(function),
            ("jax.numpy", "arange") => library_call.arange(),
            ("jax.numpy", "linspace") => library_call.spaced(),
            (
                "jax.numpy",
                "exp" | "log" | "sin" | "cos" | "tan" | "tanh" | "sqrt" | "arctan" | "log1p" | "expm1"
                | "arcsin" | "arccos",
            )
            | ("jax.nn", "sigmoid" | "softplus" | "gelu" | "silu" | "softmax" | "log_softmax") => {
                library_call.inexact()
            }
            (
                "jax.numpy",
                "abs" | "negative" | "square" | "clip" | "flip" | "sort" | "cumsum" | "round" | "roll",
            )
            | ("jax.nn", "relu") => library_call.elementwise(function),
            ("jax.numpy", "add" | "multiply" | "subtract" | "maximum" | "minimum") => {
                library_call.binary((0, "x1"), (1, "x2"))
            }
            ("jax.numpy", "dot") => match (library_call.value(0, "a"), library_call.value(1, "b")) {
                (Some(left), Some(right)) => shape_functions::dot(&left, &right),
                _ => Value::Unknown,
            },
            ("jax.numpy", "outer") => match (library_call.value(0, "a"), library_call.value(1, "b")) {
                (Some(left), Some(right)) => shape_functions::outer(&left, &right),
                _ => Value::Unknown,
            },
            ("jax.numpy", "einsum") => {
                let operands = call.arguments.args.get(1..).unwrap_or_default();
                let operands: Vec<Value> = operands.iter().map(|it| self.value(it, environment)).collect();
                match call.arguments.args.first() {
                    Some(Expr::StringLiteral(subscripts)) => {
                        shape_functions::einsum(subscripts.value.to_str(), &operands)
                    }
                    _ => Value::array(None, false, None),
                }
            }
            ("jax.numpy", "stack") => library_call.stack(),
            ("jax.numpy", "matmul") => match (library_call.value(0, "a"), library_call.value(1, "b")) {
                (Some(left), Some(right)) => binary(&left, Operator::MatMult, &right),
                _ => Value::Unknown,
            },
            ("jax.numpy", "where") => library_call.choice(),
            ("jax.numpy", "sum" | "prod" | "max" | "min" | "mean" | "any" | "all" | "argmax" | "argmin") => {
                let leaf = library_call.first().unwrap_or_default();
                reduction(function, &leaf, reduced(call, 1, &leaf))
            }
            ("jax.numpy", "pad") => library_call.pad(),
            ("jax.numpy", "append") => library_call.append(),
            ("jax.numpy", "concatenate" | "hstack" | "vstack") => {
                library_call.concatenate(function == "concatenate")
            }
            ("jax.tree", "map") | ("jax.tree_util" | "jax", "tree_map")
                if call.arguments.keywords.is_empty() =>
            {
                self.mapped_tree(call, environment)
            }
            ("dataclasses", "replace") if call.arguments.args.len() == 1 => {
                match library_call.value(0, "obj") {
                    Some(Value::Record(record)) => {
                        self.with_fields(record, &call.arguments.keywords, environment)
                    }
                    _ => Value::Unknown,
                }
            }
            ("jax.numpy" | "numpy", "eye" | "identity") => {
                library_call.square(if function == "eye" { 3 } else { 1 })
            }
            ("jax.numpy.linalg", "inv" | "pinv" | "cholesky") => match library_call.first() {
                Some(leaf) if leaf.shape.is_some() => library_call.inexact(),
                _ => Value::array(Some(DType::Inexact), false, None),
            },
            ("jax.numpy.linalg", "solve") => {
                let shape = library_call.value(1, "b").and_then(|value| value.leaf()?.shape.clone());
                Value::array(Some(DType::Inexact), false, shape)
            }
            ("jax.random", "randint") => library_call.filled(1, 4, Some((DType::Int32, false))),
            ("jax.random", "normal" | "uniform") => match library_call.argument(1, "shape") {
                Some(_) => library_call.filled(1, 2, FLOAT),
                None => Value::Leaf(Leaf {
                    dtype: library_call.dtype(2, FLOAT),
                    shape: Some(Vec::new()),
                    ..Leaf::default()
                }),
            },
            ("jax.numpy" | "jax.nn" | "jax.numpy.linalg" | "jax.scipy.special" | "jax.lax", _) => {
                let first = library_call.first_or_unknown();
                let array = Leaf { integer: None, ..first };
                let array_call = ArrayCall { frame: self, call, environment, skipped: 1, array };
                let array = || kinds::makes_array(name).then(|| Value::array(None, false, None));
                array_call.result(function).or_else(array).unwrap_or(Value::Unknown)
            }
            _ if kinds::makes_array(name) => Value::array(None, false, None),
            _ => Value::Unknown,
        }
    }

    /// Returns the shape that an argument gives: `3`, `(2, 3)`, `()`, `x.shape`.
    pub(super) fn shape(&self, expression: &'a Expr, environment: &Environment<'a>) -> Option<Vec<u64>> {
        match self.value(expression, environment) {
            Value::Tuple(sizes) | Value::List(sizes) => sizes.iter().map(Value::size).collect(),
            size => Some(vec![size.size()?]),
        }
    }
}

/// Returns the shape of the result of `x.sum(axis)` or `jnp.sum(x, axis)`. `position` is that of the axis.
pub(super) fn reduced(call: &ast::ExprCall, position: usize, leaf: &Leaf) -> Option<Vec<u64>> {
    let arguments = &call.arguments;
    let is_known = |keyword: &ast::Keyword| {
        keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "axis" | "keepdims" | "dtype"))
    };
    if arguments.args.len() > position + 1 || !arguments.keywords.iter().all(is_known) {
        return None;
    }
    let keeps = match arguments.find_keyword("keepdims").map(|keyword| &keyword.value) {
        None => false,
        Some(Expr::BooleanLiteral(literal)) => literal.value,
        Some(_) => return None,
    };
    let axis = argument(call, position, "axis").filter(|axis| !axis.is_none_literal_expr());
    let Some(axis) = axis else {
        return if keeps { leaf.shape.as_ref().map(|shape| vec![1; shape.len()]) } else { Some(Vec::new()) };
    };
    let shape = leaf.shape.as_ref()?;
    let position = |axis: &Expr| {
        let axis = integer(axis)?;
        let from_end = axis.checked_add(i64::try_from(shape.len()).ok()?)?;
        usize::try_from(if axis < 0 { from_end } else { axis }).ok().filter(|axis| *axis < shape.len())
    };
    let axes = sequence(axis).unwrap_or(std::slice::from_ref(axis)).iter().map(position);
    let axes: Vec<usize> = axes.collect::<Option<_>>()?;
    let dimensions = shape.iter().enumerate().filter_map(|(at, size)| match axes.contains(&at) {
        true => keeps.then_some(1),
        false => Some(*size),
    });
    Some(dimensions.collect())
}

/// A call of a function of JAX or NumPy, without starred arguments.
struct LibraryCall<'f, 'e, 'c, 'a> {
    frame: &'f Frame<'e, 'c, 'a>,
    call: &'a ast::ExprCall,
    environment: &'f Environment<'a>,
    is_numpy: bool,
}

impl<'a> LibraryCall<'_, '_, '_, 'a> {
    fn argument(&self, position: usize, keyword: &str) -> Option<&'a Expr> {
        argument(self.call, position, keyword)
    }

    fn value(&self, position: usize, keyword: &str) -> Option<Value> {
        self.argument(position, keyword).map(|argument| self.frame.value(argument, self.environment))
    }

    /// Returns the first argument, if it is an array.
    fn first(&self) -> Option<Leaf> {
        match self.value(0, "a").or_else(|| self.value(0, "x")) {
            Some(Value::Leaf(leaf)) => Some(Leaf { integer: None, ..leaf }),
            _ => None,
        }
    }

    /// Returns the first argument as an array.
    fn first_or_unknown(&self) -> Leaf {
        let first = self.call.arguments.args.first().map(|it| self.frame.value(it, self.environment));
        match first {
            Some(Value::Leaf(leaf)) => leaf,
            _ => Leaf::default(),
        }
    }

    /// `jnp.stack([x, y], axis)`
    fn stack(&self) -> Value {
        let axis = match self.argument(1, "axis") {
            None => Some(0),
            Some(axis) => integer(axis),
        };
        match self.value(0, "arrays") {
            Some(Value::List(parts) | Value::Tuple(parts)) => shape_functions::stack(&parts, axis),
            _ => Value::array(None, false, None),
        }
    }

    fn has_arguments(&self, positional: usize) -> bool {
        self.call.arguments.args.len() == positional && self.call.arguments.keywords.is_empty()
    }

    /// Returns the dtype that is passed, or the default dtype. It is unknown if an expression computes it.
    fn dtype(&self, position: usize, default: Option<(DType, bool)>) -> Option<(DType, bool)> {
        match self.argument(position, "dtype") {
            Some(Expr::NoneLiteral(_)) | None => default,
            Some(dtype) => self.frame.dtype(dtype).map(|dtype| (dtype, false)),
        }
    }

    /// Returns a dtype that the result takes from an argument. NumPy has no weak dtypes.
    fn taken(&self, dtype: Option<(DType, bool)>) -> Option<(DType, bool)> {
        dtype.map(|(dtype, weak)| (dtype, weak && !self.is_numpy))
    }

    /// Returns the result of `jnp.zeros(shape, dtype)`. `shape` and `dtype` are the positions of these arguments.
    fn filled(&self, shape: usize, dtype: usize, default: Option<(DType, bool)>) -> Value {
        let shape = self.argument(shape, "shape").and_then(|shape| self.frame.shape(shape, self.environment));
        Value::Leaf(Leaf { dtype: self.dtype(dtype, default), shape, ..Leaf::default() })
    }

    /// `jnp.eye(n)`, `jnp.eye(n, m)`
    fn square(&self, dtype: usize) -> Value {
        let size = |argument: Option<&'a Expr>| self.frame.value(argument?, self.environment).size();
        let rows = size(self.argument(0, "N").or_else(|| self.argument(0, "n")));
        let columns = match self.argument(1, "M").filter(|it| dtype > 1 && !it.is_none_literal_expr()) {
            Some(columns) => size(Some(columns)),
            None => rows,
        };
        let shape = rows.zip(columns).map(|(rows, columns)| vec![rows, columns]);
        Value::Leaf(Leaf { dtype: self.dtype(dtype, FLOAT), shape, ..Leaf::default() })
    }

    /// `jnp.full(shape, fill_value, dtype)`
    fn full(&self) -> Value {
        let fill = self.value(1, "fill_value").and_then(|fill| fill.leaf().and_then(|leaf| leaf.dtype));
        self.filled(0, 2, self.taken(fill))
    }

    /// `jnp.zeros_like(x, dtype)`
    fn like(&self) -> Value {
        let Some(leaf) = self.first() else { return Value::Unknown };
        Value::Leaf(Leaf { dtype: self.dtype(1, leaf.dtype), shape: leaf.shape, ..Leaf::default() })
    }

    /// `jnp.array(values, dtype)`
    fn array(&self) -> Value {
        let leaf = match self.value(0, "object").or_else(|| self.value(0, "a")) {
            Some(Value::Leaf(leaf)) => leaf,
            Some(Value::List(elements) | Value::Tuple(elements)) => stacked(&elements),
            _ => Leaf::default(),
        };
        Value::Leaf(Leaf {
            dtype: self.dtype(1, self.taken(leaf.dtype)),
            shape: leaf.shape,
            ..Leaf::default()
        })
    }

    /// `jnp.float32(x)`
    fn converted(&self, dtype: &str) -> Value {
        let value = self.call.arguments.args.first().map(|value| self.frame.value(value, self.environment));
        let shape = match value {
            Some(Value::Leaf(leaf)) => leaf.shape,
            _ => None,
        };
        Value::array(DType::of_name(dtype), false, shape)
    }

    /// `jnp.arange(stop)`, `jnp.arange(start, stop, step, dtype)`
    fn arange(&self) -> Value {
        let bounds = &*self.call.arguments.args;
        let dtypes = bounds.iter().map(|bound| self.frame.value(bound, self.environment).leaf()?.dtype);
        let dtype = dtypes.reduce(promote).flatten().map(|(dtype, _)| (dtype, false));
        let length = match bounds {
            [stop] => self.frame.value(stop, self.environment).size().or_else(|| whole(stop)),
            _ => None,
        };
        Value::Leaf(Leaf {
            dtype: self.dtype(3, dtype),
            shape: length.map(|length| vec![length]),
            ..Leaf::default()
        })
    }

    /// `jnp.linspace(start, stop, num)`, with `num = 50`. Bounds that are arrays add dimensions.
    fn spaced(&self) -> Value {
        let is_number = |bound: Option<Value>| {
            let Some(Value::Leaf(Leaf { dtype: Some((dtype, _)), shape: Some(shape), .. })) = bound else {
                return false;
            };
            matches!(dtype, DType::Int32 | DType::Float32) && shape.is_empty()
        };
        let is_row = is_number(self.value(0, "start")) && is_number(self.value(1, "stop"));
        let is_other = |keyword: &ast::Keyword| {
            keyword.arg.as_ref().is_none_or(|name| !matches!(name.as_str(), "start" | "stop" | "num"))
        };
        let arguments = &self.call.arguments;
        if !is_row || arguments.args.len() > 3 || arguments.keywords.iter().any(is_other) {
            return Value::array(None, false, None);
        }
        let length = match self.argument(2, "num") {
            Some(length) => self.frame.value(length, self.environment).size(),
            None => Some(50),
        };
        Value::Leaf(Leaf { dtype: FLOAT, shape: length.map(|length| vec![length]), ..Leaf::default() })
    }

    /// Returns the result of a function such as `jnp.exp(x)`, whose dtype is floating-point or complex.
    fn inexact(&self) -> Value {
        let Leaf { dtype, shape, .. } = self.first().unwrap_or_default();
        let inexact = |dtype: DType| if dtype.is_inexact() { dtype } else { DType::Float32 };
        let dtype = dtype.map_or((DType::Inexact, false), |(dtype, weak)| (inexact(dtype), weak));
        Value::Leaf(Leaf { dtype: Some(dtype), shape, ..Leaf::default() })
    }

    /// Returns the result of a function such as `jnp.abs(x)`, which has the dtype and shape of `x`.
    fn elementwise(&self, function: &str) -> Value {
        let Leaf { dtype, shape, .. } = self.first().unwrap_or_default();
        // `cumsum` may widen integers, and the bounds of `clip` may have another dtype and shape.
        let changes = matches!(function, "cumsum" | "clip") && dtype.is_none_or(|it| !it.0.is_inexact());
        Value::Leaf(Leaf {
            dtype: dtype.filter(|_| !changes),
            shape: shape.filter(|_| function != "clip"),
            ..Leaf::default()
        })
    }

    /// `jnp.add(x, y)`
    fn binary(&self, left: (usize, &str), right: (usize, &str)) -> Value {
        match (self.value(left.0, left.1), self.value(right.0, right.1)) {
            (Some(left), Some(right)) => binary(&left, Operator::Add, &right),
            _ => Value::Unknown,
        }
    }

    /// `jnp.where(test, x, y)`
    fn choice(&self) -> Value {
        let (Some(test), Value::Leaf(leaf)) = (self.value(0, "condition"), self.binary((1, "x"), (2, "y")))
        else {
            return Value::Unknown;
        };
        let test = test.leaf().and_then(|test| test.shape.as_deref());
        Value::Leaf(Leaf {
            dtype: leaf.dtype,
            shape: broadcast(test, leaf.shape.as_deref()),
            ..Leaf::default()
        })
    }

    /// Returns the result of `jnp.pad(x, 1)` or `jnp.pad(x, (0, 1))`, with the same padding for each axis.
    fn pad(&self) -> Value {
        let Some(leaf) = self.first() else { return Value::array(None, false, None) };
        let widths = self.argument(1, "pad_width").and_then(|widths| match sequence(widths) {
            None => Some(2 * natural(widths)?),
            Some([before, after]) => Some(natural(before)? + natural(after)?),
            Some(_) => None,
        });
        let shape =
            leaf.shape.zip(widths).map(|(shape, widths)| shape.iter().map(|it| it + widths).collect());
        Value::Leaf(Leaf { dtype: leaf.dtype.map(|(dtype, _)| (dtype, false)), shape, ..Leaf::default() })
    }

    /// `jnp.append(x, y)`
    fn append(&self) -> Value {
        let parts = [("arr", 0), ("values", 1)]
            .map(|(name, position)| self.value(position, name).unwrap_or(Value::Unknown));
        let extent = larger(&parts);
        let [Value::Leaf(left), Value::Leaf(right)] = parts else {
            return Value::Leaf(Leaf { extent, ..Leaf::default() });
        };
        let flat = |leaf: &Leaf| leaf.shape.as_ref().map(|shape| shape.iter().product::<u64>());
        let length = flat(&left).zip(flat(&right)).map(|(left, right)| vec![left + right]);
        let shape = length.filter(|_| self.has_arguments(2));
        Value::Leaf(Leaf { dtype: promote(left.dtype, right.dtype), shape, extent, ..Leaf::default() })
    }

    /// `jnp.concatenate([x, y], axis)`
    fn concatenate(&self, joins_along_axis: bool) -> Value {
        let Some(Value::List(parts) | Value::Tuple(parts)) = self.value(0, "arrays") else {
            return Value::array(None, false, None);
        };
        let extent = larger(&parts);
        let leaves: Option<Vec<&Leaf>> = parts.iter().map(Value::leaf).collect();
        let Some(leaves) = leaves else {
            return Value::Leaf(Leaf { extent, ..Leaf::default() });
        };
        let dtype = leaves.iter().map(|leaf| leaf.dtype).reduce(promote).flatten();
        let axis = match self.argument(1, "axis") {
            None => Some(0),
            Some(axis) => integer(axis),
        };
        let shape = axis.filter(|_| joins_along_axis).and_then(|axis| concatenated(&leaves, axis));
        Value::Leaf(Leaf { dtype, shape, extent, ..Leaf::default() })
    }
}

/// Returns the extent of an array that is joined from these parts; `None` unless one part is an array of the carry and
/// there is at least one further part.
fn larger(parts: &[Value]) -> Option<Extent> {
    let mut extents = parts.iter().filter_map(|part| part.leaf()?.extent);
    let (Extent::Same(carry) | Extent::Larger(carry)) = extents.next().filter(|_| parts.len() > 1)?;
    Some(Extent::Larger(carry))
}

/// Returns the value of a literal such as `4.0`.
fn whole(literal: &Expr) -> Option<u64> {
    match literal.as_number_literal_expr()?.value {
        ast::Number::Float(value) => value.to_string().parse().ok(),
        _ => None,
    }
}
