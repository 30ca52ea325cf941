//! What the functions and methods of JAX and NumPy return, as abstract values.

use ruff_python_ast::{self as ast, Expr, Operator};

use super::abstract_value::{DType, Leaf, Value, binary, broadcast, promote, reduction, stacked};
use super::evaluate::{Environment, Frame};
use super::kinds;
use ag_index::callbacks::argument;
use ag_syntax::expressions::{natural, sequence};

impl<'a> Frame<'_, '_, 'a> {
    /// `x.astype(t)`, `x.at[i].set(v)`, `x.sum()`.
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
            // Only arrays have this method.
            Value::Unknown if method.attr.as_str() == "astype" => Leaf::default(),
            _ => return Value::Unknown,
        };
        let whole = call.arguments.is_empty();
        match method.attr.as_str() {
            "astype" => {
                let dtype = argument(call, 0, "dtype").and_then(|dtype| self.dtype(dtype));
                Value::array(dtype, false, leaf.shape)
            }
            "sum" | "prod" | "max" | "min" | "mean" | "any" | "all" | "argmax" | "argmin" => {
                reduction(method.attr.as_str(), &leaf, whole)
            }
            "copy" if whole => Value::Leaf(leaf),
            "reshape" | "ravel" | "flatten" | "squeeze" | "transpose" => {
                Value::Leaf(Leaf { shape: None, ..leaf })
            }
            _ => Value::Unknown,
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
        let is_numpy = module == "numpy";
        let given = |position, keyword| argument(call, position, keyword);
        let value_at = |position, keyword| given(position, keyword).map(|it| self.value(it, environment));
        let dtype_at = |position| match given(position, "dtype") {
            Some(Expr::NoneLiteral(_)) | None => Ok(None),
            Some(dtype) => self.dtype(dtype).map(Some).ok_or(()),
        };
        // The dtype that is passed, or the default dtype; unknown if an expression computes the dtype.
        let typed = |position: usize, default: Option<(DType, bool)>| match dtype_at(position) {
            Ok(Some(dtype)) => Some((dtype, false)),
            Ok(None) => default,
            Err(()) => None,
        };
        let first = || match value_at(0, "a").or_else(|| value_at(0, "x")) {
            Some(Value::Leaf(leaf)) => Some(leaf),
            _ => None,
        };
        if call.arguments.args.iter().any(Expr::is_starred_expr) {
            return Value::Unknown;
        }
        match (module, function) {
            ("jax.numpy" | "numpy", "zeros" | "ones" | "empty") => {
                let shape = given(0, "shape").and_then(|shape| self.shape(shape, environment));
                Value::Leaf(Leaf { dtype: typed(1, Some((DType::Float32, false))), shape })
            }
            ("jax.numpy" | "numpy", "full") => {
                let shape = given(0, "shape").and_then(|shape| self.shape(shape, environment));
                let fill = value_at(1, "fill_value").and_then(|fill| fill.leaf().and_then(|leaf| leaf.dtype));
                let fill = fill.map(|(dtype, weak)| (dtype, weak && !is_numpy));
                Value::Leaf(Leaf { dtype: typed(2, fill), shape })
            }
            ("jax.numpy" | "numpy", "zeros_like" | "ones_like" | "empty_like") => {
                let Some(leaf) = first() else { return Value::Unknown };
                Value::Leaf(Leaf { dtype: typed(1, leaf.dtype), shape: leaf.shape })
            }
            ("jax.numpy" | "numpy", "array" | "asarray") => {
                let leaf = match value_at(0, "object").or_else(|| value_at(0, "a")) {
                    Some(Value::Leaf(leaf)) => leaf,
                    Some(Value::List(elements) | Value::Tuple(elements)) => stacked(&elements),
                    _ => return Value::array(typed(1, None).map(|it| it.0), false, None),
                };
                let own = leaf.dtype.map(|(dtype, weak)| (dtype, weak && !is_numpy));
                Value::Leaf(Leaf { dtype: typed(1, own), shape: leaf.shape })
            }
            (
                "jax.numpy" | "numpy",
                "float16" | "float32" | "float64" | "bfloat16" | "int32" | "int64" | "bool_" | "complex64",
            ) => {
                let shape = match call.arguments.args.first().map(|it| self.value(it, environment)) {
                    Some(Value::Leaf(leaf)) => leaf.shape,
                    _ => None,
                };
                Value::array(DType::of_name(function), false, shape)
            }
            ("jax.numpy", "arange") => {
                let bounds: Vec<Value> =
                    call.arguments.args.iter().map(|argument| self.value(argument, environment)).collect();
                let dtypes = bounds.iter().map(|bound| bound.leaf()?.dtype);
                let dtype = dtypes.reduce(promote).flatten().map(|(dtype, _)| (dtype, false));
                let length = match &*call.arguments.args {
                    [stop] => natural(stop),
                    _ => None,
                };
                Value::Leaf(Leaf { dtype: typed(3, dtype), shape: length.map(|length| vec![length]) })
            }
            ("jax.numpy", "linspace") => Value::array(None, false, None),
            (
                "jax.numpy",
                "exp" | "log" | "sin" | "cos" | "tan" | "tanh" | "sqrt" | "arctan" | "log1p" | "expm1"
                | "arcsin" | "arccos",
            )
            | ("jax.nn", "sigmoid" | "softplus" | "gelu" | "silu" | "softmax" | "log_softmax") => {
                let Some(leaf) = first() else { return Value::array(None, false, None) };
                let dtype =
                    leaf.dtype.map(
                        |(dtype, weak)| {
                            if dtype.is_inexact() { (dtype, weak) } else { (DType::Float32, weak) }
                        },
                    );
                Value::Leaf(Leaf { dtype, shape: leaf.shape })
            }
            (
                "jax.numpy",
                "abs" | "negative" | "square" | "clip" | "flip" | "sort" | "cumsum" | "round" | "roll",
            )
            | ("jax.nn", "relu") => {
                let Some(leaf) = first() else { return Value::array(None, false, None) };
                let changes =
                    matches!(function, "cumsum" | "clip") && leaf.dtype.is_none_or(|it| !it.0.is_inexact());
                Value::Leaf(Leaf {
                    dtype: leaf.dtype.filter(|_| !changes),
                    shape: leaf.shape.filter(|_| function != "clip"),
                })
            }
            ("jax.numpy", "add" | "multiply" | "subtract" | "maximum" | "minimum") => {
                match (value_at(0, "x1"), value_at(1, "x2")) {
                    (Some(left), Some(right)) => binary(&left, Operator::Add, &right),
                    _ => Value::Unknown,
                }
            }
            ("jax.numpy", "where") => match (value_at(0, "condition"), value_at(1, "x"), value_at(2, "y")) {
                (Some(test), Some(left), Some(right)) => match binary(&left, Operator::Add, &right) {
                    Value::Leaf(leaf) => {
                        let test = test.leaf().and_then(|test| test.shape.clone());
                        let shape = broadcast(test.as_deref(), leaf.shape.as_deref());
                        Value::Leaf(Leaf { dtype: leaf.dtype, shape })
                    }
                    _ => Value::Unknown,
                },
                _ => Value::Unknown,
            },
            ("jax.numpy", "sum" | "prod" | "max" | "min" | "mean" | "any" | "all" | "argmax" | "argmin") => {
                let whole = call.arguments.args.len() == 1 && call.arguments.keywords.is_empty();
                reduction(function, &first().unwrap_or_default(), whole)
            }
            ("jax.numpy", "append") => {
                let (Some(Value::Leaf(left)), Some(Value::Leaf(right))) =
                    (value_at(0, "arr"), value_at(1, "values"))
                else {
                    return Value::array(None, false, None);
                };
                let flat = |leaf: &Leaf| leaf.shape.as_ref().map(|shape| shape.iter().product::<u64>());
                let length = flat(&left).zip(flat(&right)).map(|(left, right)| vec![left + right]);
                let shape =
                    length.filter(|_| call.arguments.args.len() == 2 && call.arguments.keywords.is_empty());
                Value::Leaf(Leaf { dtype: promote(left.dtype, right.dtype), shape })
            }
            ("jax.numpy", "concatenate" | "hstack") => {
                let plain = call.arguments.args.len() == 1 && call.arguments.keywords.is_empty();
                let Some(Value::List(parts) | Value::Tuple(parts)) = value_at(0, "arrays") else {
                    return Value::array(None, false, None);
                };
                let leaves: Option<Vec<&Leaf>> = parts.iter().map(Value::leaf).collect();
                let Some(leaves) = leaves else { return Value::array(None, false, None) };
                let dtype = leaves.iter().map(|leaf| leaf.dtype).reduce(promote).flatten();
                let lengths: Option<Vec<u64>> = leaves
                    .iter()
                    .map(|leaf| match leaf.shape.as_deref() {
                        Some([length]) => Some(*length),
                        _ => None,
                    })
                    .collect();
                let shape = lengths.filter(|_| plain).map(|lengths| vec![lengths.iter().sum()]);
                Value::Leaf(Leaf { dtype, shape })
            }
            ("jax.tree", "map") | ("jax.tree_util" | "jax", "tree_map")
                if call.arguments.keywords.is_empty() =>
            {
                value_at(1, "tree").map_or(Value::Unknown, |tree| tree.structure())
            }
            ("jax.random", "randint") => {
                let shape = given(1, "shape").and_then(|shape| self.shape(shape, environment));
                Value::Leaf(Leaf { dtype: typed(4, Some((DType::Int32, false))), shape })
            }
            ("jax.random", "normal" | "uniform") => {
                let shape = match given(1, "shape") {
                    Some(shape) => self.shape(shape, environment),
                    None => Some(Vec::new()),
                };
                Value::Leaf(Leaf { dtype: typed(2, Some((DType::Float32, false))), shape })
            }
            _ if kinds::makes_array(name) => Value::array(None, false, None),
            _ => Value::Unknown,
        }
    }

    /// A shape of literals: `3`, `(2, 3)`, `()`.
    fn shape(&self, expression: &'a Expr, environment: &Environment<'a>) -> Option<Vec<u64>> {
        match expression {
            Expr::Attribute(attribute) if attribute.attr.as_str() == "shape" => {
                self.value(&attribute.value, environment).leaf()?.shape.clone()
            }
            other => sequence(other).unwrap_or(std::slice::from_ref(other)).iter().map(natural).collect(),
        }
    }
}
