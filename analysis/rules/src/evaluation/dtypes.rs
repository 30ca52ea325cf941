//! The dtypes of Tensors, and the operations that reject them (verified with torch 2.11).

use std::fmt;

use ruff_python_ast::Operator;
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::values::{Layer, Value};
use super::{Evaluated, Evaluation};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Dtype {
    Unknown,
    /// A Python number that JAX traces as an argument: `2`. The dtypes of results are unknown.
    PythonInt,
    /// `0.5`
    PythonFloat,
    Bool,
    Int32,
    Int64,
    Half,
    BFloat16,
    Float32,
    Float64,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown | Self::PythonInt | Self::PythonFloat => "unknown",
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Half => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        })
    }
}

/// Methods and functions whose result has the dtype of the first operand.
const KEEP: &[&str] = &[
    "abs",
    "amax",
    "amin",
    "clamp",
    "clip",
    "clone",
    "contiguous",
    "cpu",
    "cuda",
    "detach",
    "dropout",
    "expand",
    "expand_as",
    "ceil",
    "flatten",
    "floor",
    "gather",
    "index_select",
    "max",
    "median",
    "min",
    "movedim",
    "neg",
    "numpy",
    "permute",
    "relu",
    "repeat",
    "reshape",
    "reshape_as",
    "roll",
    "round",
    "sign",
    "squeeze",
    "t",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unsqueeze",
    "view",
    "view_as",
];
/// Methods and functions whose result is a Tensor of floats.
const TO_FLOAT: &[&str] = &[
    "cos",
    "elu",
    "erf",
    "exp",
    "gelu",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "mean",
    "mish",
    "norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "sqrt",
    "std",
    "tanh",
    "var",
];
/// Methods and functions whose result is a Tensor of bools.
const TO_BOOL: &[&str] = &[
    "all",
    "any",
    "eq",
    "ge",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "logical_and",
    "logical_not",
    "logical_or",
    "lt",
    "ne",
];

impl Dtype {
    /// Returns the dtype with this name in `torch`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int" | "int32" => Self::Int32,
            "long" | "int64" => Self::Int64,
            "half" | "float16" => Self::Half,
            "bfloat16" => Self::BFloat16,
            "float" | "float32" => Self::Float32,
            "double" | "float64" => Self::Float64,
            _ => return None,
        })
    }

    pub(super) fn is_float(self) -> bool {
        self >= Self::Half
    }

    fn is_int(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64)
    }

    /// Returns the dtype of the result of an operator. A Tensor without dimensions determines only whether the result has
    /// integers or floats.
    fn promoted(self, other: Self, ranks: (Option<usize>, Option<usize>)) -> Self {
        if self <= Self::PythonFloat || other <= Self::PythonFloat {
            return Self::Unknown;
        }
        let kind = |dtype: Self| (dtype.is_float(), dtype.is_int());
        if kind(self) != kind(other) {
            return if kind(self) > kind(other) { self } else { other };
        }
        match ranks {
            _ if self == other => self,
            (Some(left), Some(right)) if (left == 0) == (right == 0) => match (self, other) {
                (Self::Half, Self::BFloat16) | (Self::BFloat16, Self::Half) => Self::Float32,
                _ if self > other => self,
                _ => other,
            },
            (Some(0), Some(_)) => other,
            (Some(_), Some(0)) => self,
            _ => Self::Unknown,
        }
    }

    /// Returns the dtype of the Tensor that `torch.tensor(data)` creates.
    pub(super) fn of_data(data: &Value) -> Self {
        match data {
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int64,
            Value::Float(_) => Self::Float32,
            Value::List(_) | Value::Tuple(_) => match data.elements().as_deref() {
                Some([first, rest @ ..]) => {
                    let own = Self::of_data(first);
                    if rest.iter().all(|other| Self::of_data(other) == own) { own } else { Self::Unknown }
                }
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

impl<'a> Value<'a> {
    pub(super) fn dtype(&self) -> Dtype {
        if let Self::Tensor(_, dtype) = self { *dtype } else { Dtype::Unknown }
    }

    /// Returns a Tensor with another dtype; other values are unchanged.
    pub(super) fn with_dtype(self, dtype: Dtype) -> Self {
        match self {
            Self::Tensor(shape, _) => Self::Tensor(shape, dtype),
            value => value,
        }
    }

    fn rank(&self) -> Option<usize> {
        match self {
            Self::Tensor(Some(shape), _) => Some(shape.len()),
            _ => None,
        }
    }
}

/// Returns the dtype of the result of a method or function of a Tensor.
pub(super) fn of_method(dtype: Dtype, name: &str, arguments: &Arguments) -> Dtype {
    let given = arguments.keywords.iter().find(|(name, _)| *name == "dtype").map(|(_, value)| value);
    if let Some(given) = given {
        return if let Value::Dtype(dtype) = given { *dtype } else { Dtype::Unknown };
    }
    match name {
        "to" | "type" => match arguments.positional.first() {
            Some(Value::Dtype(dtype)) => *dtype,
            Some(Value::Text(_)) if arguments.len() == 1 => dtype,
            _ => Dtype::Unknown,
        },
        "bool" | "int" | "long" | "half" | "bfloat16" | "float" | "double" => {
            Dtype::named(name).unwrap_or(Dtype::Unknown)
        }
        "argmax" | "argmin" | "argsort" => Dtype::Int64,
        // Two Tensors of different dtypes.
        "sort" | "topk" => Dtype::Unknown,
        "sum" | "cumsum" if dtype == Dtype::Bool || dtype.is_int() => Dtype::Int64,
        "sum" | "cumsum" => dtype,
        // The limits of `clamp`, and the other operand of `max`, may have another dtype.
        "clamp" | "clip" | "max" | "median" | "min"
            if arguments.values().any(|it| !matches!(it, Value::Int(_) | Value::Bool(_)))
                && !dtype.is_float()
                || arguments.values().any(|it| matches!(it, Value::Tensor(..) | Value::Unknown)) =>
        {
            Dtype::Unknown
        }
        _ if name.ends_with("_like") || KEEP.contains(&name) => dtype,
        _ if TO_BOOL.contains(&name) => Dtype::Bool,
        _ if TO_FLOAT.contains(&name) => match dtype {
            Dtype::Bool | Dtype::Int32 | Dtype::Int64 => Dtype::Float32,
            dtype => dtype,
        },
        _ => Dtype::Unknown,
    }
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns the dtype of the result of an operator.
    pub(super) fn promoted(&self, op: Operator, left: &Value<'a>, right: &Value<'a>) -> Dtype {
        let of = |value: &Value, other: Dtype| match value {
            Value::Tensor(_, dtype) => *dtype,
            // A number determines only whether the result has integers or floats.
            Value::Bool(_) => {
                if other == Dtype::Unknown {
                    other
                } else {
                    Dtype::Bool
                }
            }
            Value::Int(_) if other.is_float() || other.is_int() => other,
            Value::Int(_) if other == Dtype::Bool => Dtype::Int64,
            Value::Float(_) if other.is_float() => other,
            Value::Float(_) if other != Dtype::Unknown => Dtype::Float32,
            _ => Dtype::Unknown,
        };
        let (own, other) = (of(left, right.dtype()), of(right, left.dtype()));
        let rank = |value: &Value| if matches!(value, Value::Tensor(..)) { value.rank() } else { Some(0) };
        match own.promoted(other, (rank(left), rank(right))) {
            Dtype::Bool | Dtype::Int32 | Dtype::Int64 if op == Operator::Div => Dtype::Float32,
            dtype => dtype,
        }
    }

    /// Checks that two operands of a matrix product have the same dtype.
    pub(super) fn check_product(
        &mut self,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<()> {
        let (left, right) = (left.dtype(), right.dtype());
        if left != right && left != Dtype::Unknown && right != Dtype::Unknown && !self.converts {
            return Err(self.fail(range, format!("the product of {left} and {right} is not defined")));
        }
        Ok(())
    }

    /// Checks that no operand of `-` is a Tensor of bools, and none of `&` and `|` a Tensor of floats.
    pub(super) fn check_bools(
        &mut self,
        op: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<()> {
        let is_operand = |value: &Value| {
            matches!(
                value,
                Value::Tensor(..) | Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Number
            )
        };
        if !is_operand(left) || !is_operand(right) {
            return Ok(());
        }
        let dtypes = [left.dtype(), right.dtype()];
        let problem = match op {
            Operator::Sub if dtypes.contains(&Dtype::Bool) => {
                "`-` of a Tensor of bools is not defined: use `~mask`, or convert it first".to_owned()
            }
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => {
                match dtypes.iter().find(|dtype| dtype.is_float()) {
                    Some(dtype) => format!("`{}` of {dtype} is not defined", op.as_str()),
                    None => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        Err(self.fail(range, problem))
    }

    /// Checks the dtype of the input of a module, and returns that of the result.
    pub(super) fn check_layer(
        &mut self,
        layer: &Layer<'a>,
        input: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Dtype> {
        let dtype = input.dtype();
        let (layer, own) = match layer {
            Layer::Cast(layer, own) => (&**layer, *own),
            layer => (layer, Dtype::Float32),
        };
        if self.converts || dtype == Dtype::Unknown {
            return Ok(if matches!(layer, Layer::Elementwise(_)) { dtype } else { Dtype::Unknown });
        }
        match layer {
            Layer::Linear { .. } | Layer::Conv(_) if dtype != own => {
                Err(self
                    .fail(range, format!("the input has the dtype {dtype}, but the parameters are {own}")))
            }
            Layer::Embedding { .. } if !dtype.is_int() => Err(self.fail(
                range,
                format!("the indices of an embedding have the dtype {dtype}: they must be integers"),
            )),
            Layer::Embedding { .. } => Ok(own),
            Layer::Linear { .. }
            | Layer::Conv(_)
            | Layer::Elementwise(_)
            | Layer::Pool { .. }
            | Layer::AdaptivePool { .. }
            | Layer::Flatten => Ok(dtype),
            _ => Ok(Dtype::Unknown),
        }
    }

    /// Checks the dtypes of the operands of a method or function. `first` is the Tensor of the method.
    pub(super) fn check_operands(
        &mut self,
        name: &str,
        first: &Value<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<()> {
        let dtype = first.dtype();
        let argument = |position, name| arguments.get(position, name).map_or(Dtype::Unknown, Value::dtype);
        let problem = match name {
            "matmul" | "mm" | "bmm" => {
                let other = arguments.get(0, "other").or(arguments.get(0, "mat2"));
                let other = other.cloned().unwrap_or(Value::Unknown);
                return self.check_product(first, &other, range);
            }
            "masked_fill" | "masked_fill_" | "masked_select" => {
                let mask = argument(0, "mask");
                (mask != Dtype::Bool && mask != Dtype::Unknown)
                    .then(|| format!("the mask of `{name}` has the dtype {mask}: it must be bool"))
            }
            "gather" | "index_select" => {
                let index = argument(1, "index");
                index.is_float().then(|| format!("the index of `{name}` has the dtype {index}"))
            }
            "mean" | "std" | "var" if arguments.get(usize::MAX, "dtype").is_none() => (dtype.is_int()
                || dtype == Dtype::Bool)
                .then(|| format!("`{name}` of {dtype} is not defined")),
            "one_hot" => (dtype != Dtype::Int64 && dtype != Dtype::Unknown)
                .then(|| format!("`one_hot` of {dtype} is not defined: the classes must be int64")),
            _ => None,
        };
        match problem {
            Some(problem) => Err(self.fail(range, problem)),
            None => Ok(()),
        }
    }
}
