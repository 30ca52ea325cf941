//! Operations on abstract arrays: promotion of dtypes, broadcasting, products, reductions.

use ruff_python_ast::Operator;

use super::abstract_value::{DType, Leaf, Value};

/// Returns the dtype of `a + b`.
pub(super) fn promote(left: Option<(DType, bool)>, right: Option<(DType, bool)>) -> Option<(DType, bool)> {
    if let (Some((dtype, _)), None) | (None, Some((dtype, _))) = (left, right) {
        return dtype.is_inexact().then_some((DType::Inexact, false));
    }
    let (left, right) = (left?, right?);
    if left.0 == DType::Inexact || right.0 == DType::Inexact {
        return Some((DType::Inexact, left.1 && right.1));
    }
    let (strong, weak) = match (left.1, right.1) {
        (true, true) => return Some(if left.0.category() >= right.0.category() { left } else { right }),
        (false, false) => {
            let dtype = match (left.0, right.0) {
                (left, right) if left == right => left,
                (DType::Float16, DType::BFloat16) | (DType::BFloat16, DType::Float16) => DType::Float32,
                (left, right) => left.max(right),
            };
            return Some((dtype, false));
        }
        (false, true) => (left.0, right.0),
        (true, false) => (right.0, left.0),
    };
    if weak.category() <= strong.category() { Some((strong, false)) } else { Some((weak, true)) }
}

/// Returns the shape of `a + b`.
pub(super) fn broadcast(left: Option<&[u64]>, right: Option<&[u64]>) -> Option<Vec<u64>> {
    let (left, right) = (left?, right?);
    let (longer, shorter) = if left.len() >= right.len() { (left, right) } else { (right, left) };
    let offset = longer.len() - shorter.len();
    let dimensions = longer.iter().enumerate().map(|(position, &own)| {
        let other = position.checked_sub(offset).and_then(|position| shorter.get(position)).copied();
        match other {
            None | Some(1) => Some(own),
            Some(other) if own == 1 || own == other => Some(other),
            Some(_) => None,
        }
    });
    dimensions.collect()
}

/// Returns the value without its dtype, unless that is `bool`: with `jax_enable_x64`, other dtypes may have 64 bits.
pub(super) fn without_dtype(value: Value) -> Value {
    match value {
        Value::Leaf(leaf) => {
            Value::Leaf(Leaf { dtype: leaf.dtype.filter(|(dtype, _)| *dtype == DType::Bool), ..leaf })
        }
        other => other,
    }
}

/// Returns the array that has these elements.
pub(super) fn stacked(elements: &[Value]) -> Leaf {
    let leaves: Option<Vec<&Leaf>> = elements.iter().map(Value::leaf).collect();
    let Some(leaves) = leaves else {
        let nested = elements.iter().all(|element| matches!(element, Value::List(_) | Value::Tuple(_)));
        let inner: Vec<Leaf> = elements
            .iter()
            .filter_map(|element| match element {
                Value::List(inner) | Value::Tuple(inner) => Some(stacked(inner)),
                _ => None,
            })
            .collect();
        let inner: Vec<Value> = inner.into_iter().map(Value::Leaf).collect();
        return if nested { stacked(&inner) } else { Leaf::default() };
    };
    let Some(first) = leaves.first() else {
        return Leaf { dtype: Some((DType::Float32, false)), shape: Some(vec![0]), ..Leaf::default() };
    };
    let dtype =
        leaves.iter().map(|leaf| leaf.dtype).reduce(promote).flatten().map(|(dtype, _)| (dtype, false));
    let shape = first.shape.clone().map(|mut shape| {
        shape.insert(0, leaves.len() as u64);
        shape
    });
    Leaf {
        dtype,
        shape: shape.filter(|_| leaves.iter().all(|leaf| leaf.shape == first.shape)),
        ..Leaf::default()
    }
}

/// Returns the result of a function such as `jnp.sum`, which has this shape.
pub(super) fn reduction(function: &str, leaf: &Leaf, shape: Option<Vec<u64>>) -> Value {
    let dtype = match function {
        "any" | "all" => Some(DType::Bool),
        "argmax" | "argmin" => Some(DType::Int32),
        "mean" => Some(match leaf.dtype {
            Some((dtype, _)) if dtype.is_inexact() => dtype,
            Some(_) => DType::Float32,
            None => DType::Inexact,
        }),
        "sum" | "prod" => {
            leaf.dtype.map(|(dtype, _)| if dtype == DType::Bool { DType::Int32 } else { dtype })
        }
        _ => leaf.dtype.map(|(dtype, _)| dtype),
    };
    Value::array(dtype, false, shape)
}

/// Returns the result of a binary operation: on arrays and numbers, or `(n,) + x.shape[1:]`.
pub(super) fn binary(left: &Value, op: Operator, right: &Value) -> Value {
    if let (Value::Tuple(left), Operator::Add, Value::Tuple(right)) = (left, op, right) {
        return Value::Tuple(left.iter().chain(right).cloned().collect());
    }
    let (Some(left), Some(right)) = (left.leaf(), right.leaf()) else {
        // An operation on an array and an unknown value returns an array of unknown dtype.
        let array = [left, right].iter().any(|side| side.leaf().is_some());
        let other = [left, right].iter().all(|side| matches!(side, Value::Unknown | Value::Leaf(_)));
        let dtype = promote(left.leaf().and_then(|it| it.dtype), right.leaf().and_then(|it| it.dtype));
        let dtype = dtype.map(|(dtype, _)| dtype).or((op == Operator::Div).then_some(DType::Inexact));
        return if array && other { Value::array(dtype, false, None) } else { Value::Unknown };
    };
    let promoted = promote(left.dtype, right.dtype);
    let dtype = match op {
        Operator::Div => promoted
            .map(|(dtype, weak)| if dtype.is_inexact() { (dtype, weak) } else { (DType::Float32, weak) })
            .or(Some((DType::Inexact, false))),
        Operator::Pow | Operator::MatMult | Operator::LShift | Operator::RShift => {
            promoted.filter(|(dtype, _)| dtype.is_inexact())
        }
        _ => promoted.filter(|(dtype, _)| {
            *dtype != DType::Bool || matches!(op, Operator::BitAnd | Operator::BitOr | Operator::BitXor)
        }),
    };
    let shapes = (left.shape.as_deref(), right.shape.as_deref());
    let shape = match op {
        Operator::MatMult => product(shapes.0, shapes.1),
        _ => broadcast(shapes.0, shapes.1),
    };
    let integer = left.integer.zip(right.integer).and_then(|(left, right)| arithmetic(left, op, right));
    Value::Leaf(Leaf { dtype, shape, integer, ..Leaf::default() })
}

/// Returns the result of an operation on Python integers.
fn arithmetic(left: i64, op: Operator, right: i64) -> Option<i64> {
    match op {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mult => left.checked_mul(right),
        // Python rounds down, Rust towards zero.
        Operator::FloorDiv if right > 0 => Some(left.div_euclid(right)),
        Operator::Mod if right > 0 => Some(left.rem_euclid(right)),
        Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
        _ => None,
    }
}

/// Returns the shape of `a @ b`.
fn product(left: Option<&[u64]>, right: Option<&[u64]>) -> Option<Vec<u64>> {
    let (left, right) = (left?, right?);
    let ((inner, rows), (columns, outer)) = (left.split_last()?, right.split_last()?);
    match (rows.split_last(), outer.split_last()) {
        (_, None) => (inner == columns).then(|| rows.to_vec()),
        (None, Some((other, batch))) => {
            (inner == other).then(|| batch.iter().chain([columns]).copied().collect())
        }
        (Some((row, batch)), Some((other, other_batch))) if inner == other => {
            let mut shape = broadcast(Some(batch), Some(other_batch))?;
            shape.extend([row, columns]);
            Some(shape)
        }
        _ => None,
    }
}
