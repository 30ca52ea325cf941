//! Methods of Tensors, and functions with the same operands.

use std::rc::Rc;

use super::calls::Arguments;
use super::dtypes::Dtype;
use super::sizes::{self, Checked};
use super::values::{Shape, Size, Value};
use super::{Evaluation, MOST_ITERATIONS};

/// Functions and methods whose result has the shape of the first operand.
pub(super) const ELEMENTWISE: &[&str] = &[
    "abs",
    "bernoulli",
    "bfloat16",
    "ceil",
    "celu",
    "clamp",
    "clip",
    "clone",
    "contiguous",
    "cos",
    "cpu",
    "cuda",
    "cumsum",
    "detach",
    "dropout",
    "elu",
    "empty_like",
    "erf",
    "exp",
    "float",
    "floor",
    "full_like",
    "gelu",
    "half",
    "hardswish",
    "leaky_relu",
    "log",
    "log1p",
    "log_softmax",
    "logsigmoid",
    "long",
    "mish",
    "nan_to_num",
    "neg",
    "normalize",
    "numpy",
    "ones_like",
    "rand_like",
    "randn_like",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "tanh",
    "to",
    "tril",
    "triu",
    "trunc",
    "zeros_like",
];
/// Functions and methods that broadcast two Tensors.
pub(super) const BROADCAST: &[&str] = &[
    "add",
    "atan2",
    "div",
    "eq",
    "ge",
    "gt",
    "le",
    "logical_and",
    "logical_or",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "pow",
    "sub",
];
/// Functions and methods whose result without arguments is a Tensor without dimensions.
pub(super) const SCALARS: &[&str] = &[
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "median",
    "min",
    "nanmean",
    "nansum",
    "norm",
    "prod",
];
/// Other methods whose result is a Tensor.
const TENSOR_METHODS: &[&str] = &[
    "argsort",
    "bool",
    "cumprod",
    "diff",
    "double",
    "expand",
    "expand_as",
    "gather",
    "index_select",
    "int",
    "isfinite",
    "isinf",
    "isnan",
    "lerp",
    "movedim",
    "new_ones",
    "new_zeros",
    "repeat",
    "reshape_as",
    "roll",
    "type_as",
    "view_as",
    "where",
];
pub(super) const REDUCTIONS: &[&str] = &["amax", "amin", "logsumexp", "mean", "std", "sum", "var"];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a method of a Tensor.
    pub(super) fn tensor_method(
        &self,
        shape: &Rc<[Size]>,
        name: &str,
        arguments: &Arguments<'a>,
    ) -> Checked<Value<'a>> {
        if arguments.open {
            return Ok(Value::Unknown);
        }
        let same = || Value::Tensor(Some(shape.clone()), Dtype::Unknown);
        let int = |position: usize, keyword: &str| arguments.get(position, keyword).and_then(Value::as_int);
        // The dimension at a position, which is the first one if the argument is omitted.
        let axis = |position: usize| {
            let dimension = arguments.get(position, "dim").map_or(Some(0), Value::as_int)?;
            sizes::index_of(shape.len(), dimension)
        };
        let operand = arguments.get(0, "other").or(arguments.get(0, "mat2")).or(arguments.get(0, "tensor2"));
        Ok(match name {
            _ if ELEMENTWISE.contains(&name) => same(),
            _ if BROADCAST.contains(&name) => match operand {
                Some(Value::Tensor(Some(other), _)) => Value::tensor(sizes::broadcast(shape, other)?),
                Some(Value::Int(_) | Value::Float(_)) => same(),
                _ => Value::unshaped(),
            },
            "matmul" | "mm" | "bmm" => match operand {
                Some(Value::Tensor(Some(other), _)) => Value::tensor(sizes::matmul(shape, other)?),
                _ => Value::unshaped(),
            },
            "masked_fill" => match arguments.get(0, "mask") {
                Some(Value::Tensor(Some(mask), _)) => Value::tensor(sizes::broadcast(shape, mask)?),
                _ => Value::unshaped(),
            },
            "view" | "reshape" => match requested(arguments) {
                Some(requested) => Value::tensor(sizes::view(shape, &requested)?),
                None => Value::unshaped(),
            },
            "expand" => match requested(arguments) {
                Some(requested) => Value::tensor(sizes::expand(shape, &requested)?),
                None => Value::unshaped(),
            },
            "expand_as" => match operand {
                Some(Value::Tensor(Some(other), _)) => Value::tensor(sizes::expand(shape, other)?),
                _ => Value::unshaped(),
            },
            "repeat" => {
                let counts = requested(arguments);
                counts
                    .and_then(|counts| sizes::repeat(shape, &counts))
                    .map_or(Value::unshaped(), Value::tensor)
            }
            "new_zeros" | "new_ones" | "new_empty" => {
                let positional = Arguments::of(arguments.positional.clone());
                requested(&positional).map_or(Value::unshaped(), Value::tensor)
            }
            "gather" => match arguments.get(1, "index") {
                Some(Value::Tensor(Some(index), _)) => Value::tensor(index.to_vec()),
                _ => Value::unshaped(),
            },
            "unbind" => match axis(0).filter(|axis| matches!(shape[*axis], Size::Known(_))) {
                Some(axis) => {
                    let Size::Known(count) = shape[axis] else { return Ok(Value::Unknown) };
                    let Some(count) = usize::try_from(count).ok().filter(|it| *it <= MOST_ITERATIONS) else {
                        return Ok(Value::Unknown);
                    };
                    let mut part = shape.to_vec();
                    part.remove(axis);
                    Value::tuple(vec![Value::tensor(part); count])
                }
                None => Value::Unknown,
            },
            "split" => match (arguments.get(0, "split_size"), axis(1)) {
                (Some(parts), Some(axis)) => split(shape, parts, axis),
                _ => Value::Unknown,
            },
            "max" | "min" | "median" if int(0, "dim").is_some() => match reduced(shape, arguments) {
                Some(shape) => Value::tuple(vec![Value::tensor(shape); 2]),
                None => Value::Unknown,
            },
            "sort" => Value::tuple(vec![same(), same()]),
            "topk" => {
                match (arguments.get(0, "k"), arguments.get(1, "dim").map_or(Some(-1), Value::as_int)) {
                    (Some(count), Some(dimension)) => match sizes::index_of(shape.len(), dimension) {
                        Some(index) => {
                            let mut result = shape.to_vec();
                            result[index] = count.as_size();
                            Value::tuple(vec![Value::tensor(result); 2])
                        }
                        None => Value::Unknown,
                    },
                    _ => Value::Unknown,
                }
            }
            "argmax" | "argmin" if int(0, "dim").is_some() => {
                reduced(shape, arguments).map_or(Value::unshaped(), Value::tensor)
            }
            "any" | "all" | "prod" if int(0, "dim").is_some() => {
                reduced(shape, arguments).map_or(Value::unshaped(), Value::tensor)
            }
            "size" => match arguments.get(0, "dim") {
                None => Value::tuple(shape.iter().map(|size| Value::size(*size)).collect()),
                Some(dimension) => {
                    let index = dimension.as_int().and_then(|it| sizes::index_of(shape.len(), it));
                    index.map_or(Value::Unknown, |index| Value::size(shape[index]))
                }
            },
            "numel" | "nelement" => match sizes::count(shape).map(Value::Int) {
                Some(count) => count,
                None if shape.contains(&Size::Data) => Value::Number,
                None => Value::Unknown,
            },
            "dim" => i64::try_from(shape.len()).map_or(Value::Unknown, Value::Int),
            "t" if shape.len() == 2 => Value::tensor(vec![shape[1], shape[0]]),
            "transpose" => {
                let index =
                    |position, name| int(position, name).and_then(|it| sizes::index_of(shape.len(), it));
                match (index(0, "dim0"), index(1, "dim1")) {
                    (Some(first), Some(second)) => {
                        let mut result = shape.to_vec();
                        result.swap(first, second);
                        Value::tensor(result)
                    }
                    _ => Value::unshaped(),
                }
            }
            "permute" => {
                let order: Option<Shape> = requested(arguments);
                let order = order.and_then(|order| {
                    let place = |size: &Size| match size {
                        Size::Known(index) => Some(shape[sizes::index_of(shape.len(), *index)?]),
                        _ => None,
                    };
                    order.iter().map(place).collect::<Option<Shape>>()
                });
                order.filter(|order| order.len() == shape.len()).map_or(Value::unshaped(), Value::tensor)
            }
            "unsqueeze" => match int(0, "dim").and_then(|it| sizes::index_of(shape.len() + 1, it)) {
                Some(index) => {
                    let mut result = shape.to_vec();
                    result.insert(index, Size::Known(1));
                    Value::tensor(result)
                }
                None => Value::unshaped(),
            },
            "squeeze" => match int(0, "dim").and_then(|it| sizes::index_of(shape.len(), it)) {
                Some(index) if shape[index] == Size::Known(1) => {
                    let mut result = shape.to_vec();
                    result.remove(index);
                    Value::tensor(result)
                }
                Some(index) if matches!(shape[index], Size::Known(_)) => same(),
                _ => Value::unshaped(),
            },
            "flatten" => {
                let bound = |position, name, default| match arguments.get(position, name) {
                    Some(value) => value.as_int(),
                    None => Some(default),
                };
                let result = bound(0, "start_dim", 0).zip(bound(1, "end_dim", -1));
                let result = result.and_then(|(start, end)| sizes::flatten(shape, start, end));
                result.map_or(Value::unshaped(), Value::tensor)
            }
            _ if REDUCTIONS.contains(&name) => {
                reduced(shape, arguments).map_or(Value::unshaped(), Value::tensor)
            }
            "chunk" => {
                let parts = int(0, "chunks").and_then(|it| usize::try_from(it).ok());
                let axis = arguments.get(1, "dim").map_or(Some(0), Value::as_int);
                let axis = axis.and_then(|axis| sizes::index_of(shape.len(), axis));
                match (parts, axis) {
                    (Some(parts), Some(axis)) if (1..=MOST_ITERATIONS).contains(&parts) => {
                        let count = i64::try_from(parts).unwrap_or(1);
                        let mut part = shape.to_vec();
                        match part[axis] {
                            Size::Known(size) if size % count == 0 => part[axis] = Size::Known(size / count),
                            _ => return Ok(Value::Unknown),
                        }
                        Value::tuple(vec![Value::tensor(part); parts])
                    }
                    _ => Value::Unknown,
                }
            }
            _ if SCALARS.contains(&name) => match arguments.positional.is_empty() {
                true if arguments.keywords.is_empty() => Value::tensor(Vec::new()),
                _ if matches!(name, "max" | "min" | "median") => Value::Unknown,
                _ => Value::unshaped(),
            },
            "nonzero" | "argwhere" if arguments.len() == 0 => {
                let rank = i64::try_from(shape.len()).map_or(Size::Unknown, Size::Known);
                Value::tensor(vec![self.data_size(), rank])
            }
            "masked_select" | "unique"
                if arguments.positional.len() <= 1 && arguments.keywords.is_empty() =>
            {
                Value::tensor(vec![self.data_size()])
            }
            _ if TENSOR_METHODS.contains(&name) => Value::unshaped(),
            _ => Value::Unknown,
        })
    }
}

/// Returns the parts of `x.split(size, axis)` and `x.split([2, 3], axis)`.
fn split<'a>(shape: &[Size], parts: &Value<'a>, axis: usize) -> Value<'a> {
    let sizes: Option<Vec<i64>> = match (parts, shape[axis]) {
        (Value::Int(part), Size::Known(size)) if *part > 0 && size >= 0 => {
            let (whole, rest) = (size / part, size % part);
            let count = usize::try_from(whole).unwrap_or(usize::MAX);
            (count <= MOST_ITERATIONS).then(|| {
                let last = Some(rest).filter(|rest| *rest > 0);
                std::iter::repeat_n(*part, count).chain(last).collect()
            })
        }
        (Value::List(_) | Value::Tuple(_), _) => {
            parts.elements().and_then(|parts| parts.iter().map(Value::as_int).collect())
        }
        _ => None,
    };
    let Some(sizes) = sizes else { return Value::Unknown };
    let part = |size: i64| {
        let mut part = shape.to_vec();
        part[axis] = Size::Known(size);
        Value::tensor(part)
    };
    Value::tuple(sizes.into_iter().map(part).collect())
}

/// Returns whether only Tensors have a method, so that its object is no container, module or number.
pub(super) fn is_of_tensors(name: &str) -> bool {
    REDUCTIONS.contains(&name)
        || SCALARS.contains(&name)
        || matches!(
            name,
            "abs"
                | "clamp"
                | "detach"
                | "exp"
                | "isfinite"
                | "isinf"
                | "isnan"
                | "item"
                | "log"
                | "masked_fill"
                | "permute"
                | "reshape"
                | "softmax"
                | "sqrt"
                | "squeeze"
                | "tolist"
                | "topk"
                | "unsqueeze"
                | "view"
        )
}

/// Returns the result of a method of a Tensor whose shape is not known.
pub(super) fn of_unknown_shape<'a>(name: &str, arguments: &Arguments<'a>) -> Value<'a> {
    let is_scalar = SCALARS.contains(&name);
    let is_tensor = ELEMENTWISE.contains(&name)
        || BROADCAST.contains(&name)
        || REDUCTIONS.contains(&name)
        || TENSOR_METHODS.contains(&name)
        || is_scalar && !matches!(name, "max" | "min" | "median")
        || matches!(
            name,
            "bmm"
                | "flatten"
                | "masked_fill"
                | "matmul"
                | "mm"
                | "permute"
                | "reshape"
                | "squeeze"
                | "t"
                | "transpose"
                | "unsqueeze"
                | "view"
        );
    let has_dimension = matches!(arguments.get(0, "dim"), Some(Value::Int(_)));
    if matches!(name, "topk" | "sort" | "mode" | "kthvalue" | "cummax" | "cummin")
        || matches!(name, "max" | "min" | "median") && has_dimension
    {
        Value::tuple(vec![Value::unshaped(), Value::unshaped()])
    } else if let ("chunk", Some(Value::Int(parts @ 1..=16))) = (name, arguments.get(0, "chunks")) {
        Value::tuple((0..*parts).map(|_| Value::unshaped()).collect())
    } else if is_scalar && arguments.len() == 0 && !arguments.open {
        Value::tensor(Vec::new())
    } else if is_tensor {
        Value::unshaped()
    } else {
        Value::Unknown
    }
}

/// Returns the sizes in `x.view(2, -1)` and `x.view((2, -1))`.
pub(super) fn requested(arguments: &Arguments) -> Option<Shape> {
    if !arguments.keywords.is_empty() {
        return None;
    }
    match arguments.positional.as_slice() {
        [only @ (Value::Tuple(_) | Value::List(_))] => {
            Some(only.elements()?.iter().map(Value::as_size).collect())
        }
        [Value::Unknown] => None,
        sizes if !sizes.is_empty() => {
            let is_size = |it: &Value| {
                matches!(it, Value::Int(_) | Value::Size(_) | Value::Quotient(..) | Value::Unknown)
            };
            let are_sizes = sizes.iter().all(is_size);
            are_sizes.then(|| sizes.iter().map(Value::as_size).collect())
        }
        _ => None,
    }
}

/// Returns the shape of `x.mean(1)`, `x.sum(dim=(1, 2), keepdim=True)`, `x.mean()`.
fn reduced(shape: &[Size], arguments: &Arguments) -> Option<Shape> {
    let keeps = match arguments.get(1, "keepdim") {
        None => false,
        Some(Value::Bool(keeps)) => *keeps,
        Some(_) => return None,
    };
    let dimensions = match arguments.get(0, "dim") {
        None if arguments.get(0, "axis").is_none() && arguments.positional.is_empty() => {
            return Some(Vec::new());
        }
        Some(Value::Int(dimension)) => vec![*dimension],
        Some(several @ (Value::Tuple(_) | Value::List(_))) => {
            several.elements()?.iter().map(Value::as_int).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let mut removed = Vec::new();
    for dimension in dimensions {
        removed.push(sizes::index_of(shape.len(), dimension)?);
    }
    let kept = |(index, size): (usize, &Size)| match removed.contains(&index) {
        true => keeps.then_some(Size::Known(1)),
        false => Some(*size),
    };
    Some(shape.iter().enumerate().filter_map(kept).collect())
}
