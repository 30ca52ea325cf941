//! The results of functions and methods that rearrange, join or combine arrays: `x.reshape(2, -1)`,
//! `jnp.stack([x, y])`, `jnp.einsum("ij,j->i", a, b)`.

use ag_index::callbacks::argument;
use ruff_python_ast::{self as ast, Expr, Operator};

use super::abstract_value::{DType, Leaf, Value};
use super::array_operations::{binary, broadcast, promote, reduction, stacked};
use super::frame::{Environment, Frame};
use super::indexing::position;
use super::library_results::reduced;

/// A call of a function on an array: `jnp.squeeze(x, 0)`, or of the method: `x.squeeze(0)`.
pub(super) struct ArrayCall<'f, 'e, 'c, 'a> {
    pub frame: &'f Frame<'e, 'c, 'a>,
    pub call: &'a ast::ExprCall,
    pub environment: &'f Environment<'a>,
    /// The number of positional arguments before those of the method: 1 for a function.
    pub skipped: usize,
    pub array: Leaf,
}

impl<'a> ArrayCall<'_, '_, '_, 'a> {
    /// Returns the result; `None` if this is no function that depends on the shape of one array.
    pub(super) fn result(&self, function: &str) -> Option<Value> {
        let shape = match function {
            "reshape" => self.reshaped(),
            "ravel" | "flatten" => self.array.shape.as_ref().map(|shape| vec![shape.iter().product()]),
            "transpose" => self.transposed(),
            "squeeze" => self.squeezed(),
            "expand_dims" => self.expanded(),
            "swapaxes" => self.swapped(),
            "broadcast_to" => self.shape(0, "shape"),
            "repeat" => self.repeated(),
            "std" | "var" => {
                return Some(reduction("mean", &self.array, reduced(self.call, self.skipped, &self.array)));
            }
            "norm" => {
                let shape = reduced(self.call, self.skipped + 1, &self.array);
                return Some(reduction("mean", &self.array, shape));
            }
            "logsumexp" => {
                return Some(reduction("mean", &self.array, reduced(self.call, self.skipped, &self.array)));
            }
            "argsort" => return Some(Value::array(Some(DType::Int32), false, self.array.shape.clone())),
            "top_k" => return Some(self.top_k()),
            "one_hot" => {
                let shape = self.array.shape.clone().zip(self.size(0, "num_classes"));
                let shape = shape.map(|(shape, classes)| shape.into_iter().chain([classes]).collect());
                let dtype = self.argument(1, "dtype").is_none().then_some(DType::Float32);
                return Some(Value::array(dtype, false, shape));
            }
            _ => return None,
        };
        let shape = shape.filter(|_| !self.call.arguments.args.iter().any(Expr::is_starred_expr));
        Some(Value::Leaf(Leaf { dtype: self.array.dtype, shape, ..Leaf::default() }))
    }

    fn argument(&self, position: usize, keyword: &str) -> Option<&'a Expr> {
        argument(self.call, self.skipped + position, keyword)
    }

    fn value(&self, position: usize, keyword: &str) -> Option<Value> {
        self.argument(position, keyword).map(|argument| self.frame.value(argument, self.environment))
    }

    fn size(&self, position: usize, keyword: &str) -> Option<u64> {
        self.value(position, keyword)?.size()
    }

    fn shape(&self, position: usize, keyword: &str) -> Option<Vec<u64>> {
        self.argument(position, keyword).and_then(|shape| self.frame.shape(shape, self.environment))
    }

    /// Returns integers that are passed as a tuple or one by one: `x.reshape((2, 3))`, `x.reshape(2, 3)`.
    fn integers(&self) -> Option<Vec<i64>> {
        let arguments = &self.call.arguments;
        let given = arguments.args.get(self.skipped..).unwrap_or_default();
        let values: Vec<Value> = given.iter().map(|it| self.frame.value(it, self.environment)).collect();
        let integers = |values: &[Value]| values.iter().map(|value| value.leaf()?.integer).collect();
        if !arguments.keywords.is_empty() {
            return None;
        }
        match values.as_slice() {
            [Value::Tuple(values) | Value::List(values)] => integers(values),
            values => integers(values),
        }
    }

    fn reshaped(&self) -> Option<Vec<u64>> {
        let sizes = self.integers().filter(|sizes| !sizes.is_empty())?;
        let known: Vec<u64> = sizes.iter().filter_map(|size| u64::try_from(*size).ok()).collect();
        match sizes.len() - known.len() {
            0 => Some(known),
            1 => {
                let total: u64 = self.array.shape.as_ref()?.iter().product();
                let others: u64 = known.iter().product();
                let inferred = total.checked_div(others).filter(|inferred| inferred * others == total)?;
                Some(sizes.iter().map(|size| u64::try_from(*size).unwrap_or(inferred)).collect())
            }
            _ => None,
        }
    }

    fn transposed(&self) -> Option<Vec<u64>> {
        let shape = self.array.shape.as_ref()?;
        let axes = self.integers()?;
        if axes.is_empty() {
            return Some(shape.iter().rev().copied().collect());
        }
        let axes: Option<Vec<usize>> = axes.iter().map(|axis| position(*axis, shape.len())).collect();
        let axes = axes.filter(|axes| axes.len() == shape.len())?;
        Some(axes.iter().map(|axis| shape[*axis]).collect())
    }

    /// Returns the axis that is passed as an integer.
    fn axis(&self, position: usize, keyword: &str) -> Option<i64> {
        self.value(position, keyword)?.leaf()?.integer
    }

    fn squeezed(&self) -> Option<Vec<u64>> {
        let mut shape = self.array.shape.clone()?;
        match self.argument(0, "axis") {
            None => shape.retain(|size| *size != 1),
            Some(_) => {
                shape.remove(position(self.axis(0, "axis")?, shape.len())?);
            }
        }
        Some(shape)
    }

    fn expanded(&self) -> Option<Vec<u64>> {
        let mut shape = self.array.shape.clone()?;
        shape.insert(position(self.axis(0, "axis")?, shape.len() + 1)?, 1);
        Some(shape)
    }

    fn swapped(&self) -> Option<Vec<u64>> {
        let mut shape = self.array.shape.clone()?;
        let one = position(self.axis(0, "axis1")?, shape.len())?;
        let other = position(self.axis(1, "axis2")?, shape.len())?;
        shape.swap(one, other);
        Some(shape)
    }

    /// `jnp.repeat(x, 3, axis=0)`
    fn repeated(&self) -> Option<Vec<u64>> {
        let (mut shape, times) = (self.array.shape.clone()?, self.size(0, "repeats")?);
        let axis = position(self.axis(1, "axis")?, shape.len())?;
        shape[axis] = shape[axis].checked_mul(times)?;
        Some(shape)
    }

    /// `jax.lax.top_k(x, k)`
    fn top_k(&self) -> Value {
        let shape = self.array.shape.as_ref().and_then(|shape| {
            let rows = shape.split_last()?.1;
            Some(rows.iter().copied().chain([self.size(0, "k")?]).collect::<Vec<u64>>())
        });
        let values = Value::Leaf(Leaf { dtype: self.array.dtype, shape: shape.clone(), ..Leaf::default() });
        Value::Tuple(vec![values, Value::array(Some(DType::Int32), false, shape)])
    }
}

/// Returns `jnp.dot(a, b)` for arrays with at most two dimensions.
pub(super) fn dot(left: &Value, right: &Value) -> Value {
    let rank = |value: &Value| Some(value.leaf()?.shape.as_ref()?.len());
    match (rank(left), rank(right)) {
        (Some(1 | 2), Some(1 | 2)) => binary(left, Operator::MatMult, right),
        _ => Value::array(None, false, None),
    }
}

/// Returns `jnp.outer(a, b)`.
pub(super) fn outer(left: &Value, right: &Value) -> Value {
    let (Some(left), Some(right)) = (left.leaf(), right.leaf()) else {
        return Value::array(None, false, None);
    };
    let size = |leaf: &Leaf| leaf.shape.as_ref().map(|shape| shape.iter().product::<u64>());
    let shape = size(left).zip(size(right)).map(|(left, right)| vec![left, right]);
    Value::Leaf(Leaf { dtype: promote(left.dtype, right.dtype), shape, ..Leaf::default() })
}

/// Returns `jnp.stack(parts, axis)`.
pub(super) fn stack(parts: &[Value], axis: Option<i64>) -> Value {
    let leaf = stacked(parts);
    let shape = leaf.shape.and_then(|mut shape| {
        let count = shape.remove(0);
        shape.insert(position(axis?, shape.len() + 1)?, count);
        Some(shape)
    });
    Value::Leaf(Leaf { dtype: leaf.dtype, shape, ..Leaf::default() })
}

/// Returns the shape of `jnp.concatenate(parts, axis)`.
pub(super) fn concatenated(parts: &[&Leaf], axis: i64) -> Option<Vec<u64>> {
    let shapes: Vec<&Vec<u64>> = parts.iter().map(|part| part.shape.as_ref()).collect::<Option<_>>()?;
    let mut joined = (*shapes.first()?).clone();
    let axis = position(axis, joined.len())?;
    joined[axis] = 0;
    for shape in shapes {
        let same = shape.len() == joined.len()
            && shape.iter().zip(&joined).enumerate().all(|(at, (own, other))| at == axis || own == other);
        if !same {
            return None;
        }
        joined[axis] += shape[axis];
    }
    Some(joined)
}

/// Returns `jnp.einsum("ij,jk->ik", a, b)`. The subscripts must name the result, and contain no `...`.
pub(super) fn einsum(subscripts: &str, operands: &[Value]) -> Value {
    let leaves: Vec<&Leaf> = operands.iter().filter_map(Value::leaf).collect();
    let dtype = leaves.iter().map(|leaf| leaf.dtype).reduce(promote).flatten();
    let dtype = dtype.filter(|_| leaves.len() == operands.len()).map(|(dtype, _)| (dtype, false));
    let shape = || {
        let subscripts: String = subscripts.chars().filter(|it| !it.is_whitespace()).collect();
        let (inputs, output) = subscripts.split_once("->")?;
        let inputs: Vec<&str> = inputs.split(',').collect();
        let size = |letter: char| {
            let mut found = None;
            for (input, leaf) in inputs.iter().zip(&leaves) {
                let shape = leaf.shape.as_ref()?;
                if input.chars().count() != shape.len() {
                    return None;
                }
                for size in input.chars().zip(shape).filter(|(own, _)| *own == letter).map(|(_, size)| *size)
                {
                    found = Some(broadcast(Some(&[found.unwrap_or(size)]), Some(&[size]))?[0]);
                }
            }
            found
        };
        (inputs.len() == operands.len() && leaves.len() == operands.len() && !subscripts.contains('.'))
            .then(|| output.chars().map(size).collect::<Option<Vec<u64>>>())
            .flatten()
    };
    Value::Leaf(Leaf { dtype, shape: shape(), ..Leaf::default() })
}
