//! Infers result types of operators: type promotion and broadcasting as in torch.

use crate::ir::types::{DType, Device, Dim, TensorType, Type};

/// Returns the result type of an elementwise operator on tensors and numbers.
pub(super) fn pointwise(operands: &[Type]) -> TensorType {
    let tensors = || operands.iter().filter_map(Type::tensor);
    let shape =
        tensors().try_fold(Vec::new(), |shape, tensor| Some(broadcast(&shape, tensor.shape.as_ref()?)));
    // A zero-dimensional tensor may be combined with tensors of another device.
    let device = tensors().find(|tensor| tensor.rank() != Some(0)).or_else(|| tensors().next());
    TensorType {
        dtype: result_type(operands),
        shape,
        device: device.map_or(Device::Cpu, |tensor| tensor.device),
    }
}

pub(super) fn broadcast(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[Dim], index: usize| {
        (index + shape.len()).checked_sub(rank).map_or(Dim::Known(1), |index| shape[index])
    };
    (0..rank).map(|index| joined(dim(a, index), dim(b, index))).collect()
}

fn joined(a: Dim, b: Dim) -> Dim {
    match (a, b) {
        (Dim::Known(1), other) | (other, Dim::Known(1)) => other,
        (Dim::Known(size), _) | (_, Dim::Known(size)) => Dim::Known(size),
        (a, b) if a == b => a,
        _ => Dim::Unknown,
    }
}

/// Returns the dtype of a result. Tensors with dimensions determine it. Zero-dimensional tensors, and after them
/// numbers, count only if their category is higher.
fn result_type(operands: &[Type]) -> DType {
    let (mut with_dims, mut without, mut numbers) = (None, None, None);
    for operand in operands {
        let (place, dtype) = match operand {
            Type::Tensor(tensor) if tensor.rank() == Some(0) => (&mut without, tensor.dtype),
            Type::Tensor(tensor) => (&mut with_dims, tensor.dtype),
            Type::Bool => (&mut numbers, DType::Bool),
            Type::Int => (&mut numbers, DType::I64),
            Type::Float => (&mut numbers, DType::F32),
            _ => continue,
        };
        *place = Some(place.map_or(dtype, |before| promoted(before, dtype)));
    }
    let below = outranked(without, numbers);
    outranked(with_dims, below).unwrap_or(DType::F32)
}

fn outranked(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) => {
            Some(if kind(lower) > kind(higher) { promoted(higher, lower) } else { higher })
        }
        (higher, lower) => higher.or(lower),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Integer,
    Floating,
    Complex,
}

fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Bool => Kind::Bool,
        DType::C32 | DType::C64 | DType::C128 => Kind::Complex,
        dtype if dtype.is_floating() => Kind::Floating,
        _ => Kind::Integer,
    }
}

/// `torch.promote_types`.
fn promoted(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    let (lower, higher) = if kind(a) <= kind(b) { (a, b) } else { (b, a) };
    match (kind(lower), kind(higher)) {
        (Kind::Floating, Kind::Complex) if lower.size() * 2 > higher.size() => match lower {
            DType::F64 => DType::C128,
            DType::F32 => DType::C64,
            _ => DType::C32,
        },
        (Kind::Floating, Kind::Floating) if lower.size() == higher.size() => DType::F32,
        (Kind::Integer, Kind::Integer) if lower.size() == higher.size() => match lower.size() {
            1 => DType::I16,
            2 => DType::I32,
            _ => DType::I64,
        },
        (low, high) if low == high => {
            if lower.size() > higher.size() {
                lower
            } else {
                higher
            }
        }
        _ => higher,
    }
}
