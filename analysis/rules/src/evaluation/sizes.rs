//! Sizes of the results of operations on Tensors. An error is the reason for which the operation rejects its operands.

use super::MOST_ITERATIONS;
use super::values::{Convolution, Layer, Shape, Size, Value};

pub(super) type Checked<T> = Result<T, String>;

/// Returns the size that two dimensions have in common, which an operation requires to be equal.
pub(super) fn equal(left: Size, right: Size) -> Checked<Size> {
    match (left, right) {
        (Size::Known(left), Size::Known(right)) if left != right => {
            Err(format!("the sizes {left} and {right} differ"))
        }
        (Size::Dynamic(_) | Size::Derived, Size::Known(size))
        | (Size::Known(size), Size::Dynamic(_) | Size::Derived) => {
            Err(format!("a dimension that `dynamic_shapes` declares as dynamic must have the size {size}"))
        }
        (Size::Known(_), Size::Known(_) | Size::Unknown) => Ok(left),
        (Size::Unknown, Size::Known(_)) => Ok(right),
        (Size::Dynamic(_), Size::Dynamic(_)) if left == right => Ok(left),
        (Size::Dynamic(_), Size::Dynamic(_)) => {
            Err("two dimensions that `dynamic_shapes` declares separately must be equal".to_owned())
        }
        _ => Ok(Size::Unknown),
    }
}

/// Returns the size of a dimension that an operation broadcasts.
fn broadcast_size(left: Size, right: Size) -> Checked<Size> {
    match (left, right) {
        (Size::Known(1), other) | (other, Size::Known(1)) => Ok(other),
        _ => equal(left, right),
    }
}

pub(super) fn broadcast(left: &[Size], right: &[Size]) -> Checked<Shape> {
    let length = left.len().max(right.len());
    let at = |shape: &[Size], position: usize| {
        (position + shape.len()).checked_sub(length).map_or(Size::Known(1), |index| shape[index])
    };
    (0..length).map(|position| broadcast_size(at(left, position), at(right, position))).collect()
}

pub(super) fn matmul(left: &[Size], right: &[Size]) -> Checked<Shape> {
    match (left, right) {
        ([], _) | (_, []) => Err("an operand has no dimension".to_owned()),
        ([inner], [other]) => equal(*inner, *other).map(|_| Vec::new()),
        ([inner], [batch @ .., other, columns]) => {
            equal(*inner, *other)?;
            Ok(batch.iter().copied().chain([*columns]).collect())
        }
        ([rows @ .., inner], [other]) => {
            equal(*inner, *other)?;
            Ok(rows.to_vec())
        }
        ([batch @ .., rows, inner], [others @ .., other, columns]) => {
            equal(*inner, *other)?;
            let mut shape = broadcast(batch, others)?;
            shape.extend([*rows, *columns]);
            Ok(shape)
        }
    }
}

/// Returns the shape of `x.expand(*sizes)`.
pub(super) fn expand(shape: &[Size], sizes: &[Size]) -> Checked<Shape> {
    let Some(added) = sizes.len().checked_sub(shape.len()) else {
        return Err(format!("{} sizes for {} dimensions", sizes.len(), shape.len()));
    };
    let own = |index: usize| index.checked_sub(added).map(|index| shape[index]);
    let expanded = |(index, size): (usize, &Size)| match (own(index), *size) {
        (Some(own), Size::Known(-1)) => Ok(own),
        (None | Some(Size::Known(1)), size) => Ok(size),
        (Some(own), size) => equal(own, size),
    };
    sizes.iter().enumerate().map(expanded).collect()
}

/// Returns the shape of `x.repeat(*counts)`.
pub(super) fn repeat(shape: &[Size], counts: &[Size]) -> Option<Shape> {
    let added = counts.len().checked_sub(shape.len())?;
    let repeated = |(index, count): (usize, &Size)| {
        let own = index.checked_sub(added).map_or(Size::Known(1), |index| shape[index]);
        match (own, *count) {
            (Size::Known(own), Size::Known(count)) => {
                own.checked_mul(count).map_or(Size::Unknown, Size::Known)
            }
            (own, Size::Known(1)) => own,
            (Size::Known(1), count) => count,
            _ => Size::Unknown,
        }
    };
    Some(counts.iter().enumerate().map(repeated).collect())
}

/// Returns the product of known sizes.
pub(super) fn count(shape: &[Size]) -> Option<i64> {
    shape.iter().try_fold(1_i64, |product, size| match size {
        Size::Known(size) => product.checked_mul(*size),
        _ => None,
    })
}

/// Returns the shape of `x.view(*sizes)`.
pub(super) fn view(shape: &[Size], sizes: &[Size]) -> Checked<Shape> {
    let total = count(shape);
    let open: Vec<usize> = (0..sizes.len()).filter(|index| sizes[*index] == Size::Known(-1)).collect();
    let rest: Shape = sizes.iter().copied().filter(|size| *size != Size::Known(-1)).collect();
    let known = count(&rest);
    let mut result = sizes.to_vec();
    if open.len() < 2
        && let Some(divisor) = multiple(shape, &rest, open.len() == 1)
    {
        return Err(format!(
            "a dimension that `dynamic_shapes` declares as dynamic must be a multiple of {divisor}"
        ));
    }
    match open.as_slice() {
        [] => match (total, known) {
            (Some(total), Some(known)) if total != known => {
                Err(format!("{total} elements do not fit into {known}"))
            }
            (None, Some(known))
                if shape.iter().all(|size| *size != Size::Unknown)
                    && shape.iter().any(|size| matches!(size, Size::Dynamic(_))) =>
            {
                Err(format!(
                    "the result has {known} elements, but `dynamic_shapes` declares a dimension as dynamic"
                ))
            }
            _ => match fixed(shape, sizes) {
                Some(fixed) => Err(format!(
                    "{fixed} elements remain for a dimension that `dynamic_shapes` declares as dynamic"
                )),
                None => Ok(result),
            },
        },
        [only] => {
            result[*only] = match (total, known) {
                (Some(total), Some(known)) if known > 0 => {
                    if total % known != 0 {
                        return Err(format!("{total} elements are not divisible by {known}"));
                    }
                    Size::Known(total / known)
                }
                _ => remaining(shape, &rest),
            };
            Ok(result)
        }
        _ => Ok(result.into_iter().map(|_| Size::Unknown).collect()),
    }
}

/// Returns the number of which the only dynamic dimension must be a multiple: 8 for `x.view(b, -1, 8)` and
/// `x.view(b, t // 8, 8)`, where `x` has the shape `(b, t)`.
fn multiple(shape: &[Size], sizes: &[Size], is_open: bool) -> Option<i64> {
    let mut left = shape.to_vec();
    let mut product = 1_i64;
    let mut quotient = None;
    for size in sizes {
        match size {
            Size::Known(size) => product = product.checked_mul(*size)?,
            Size::Dynamic(_) => drop(left.remove(left.iter().position(|other| other == size)?)),
            Size::Quotient(id, divisor) if quotient.is_none() => quotient = Some((*id, *divisor)),
            _ => return None,
        }
    }
    let position = left.iter().position(|size| matches!(size, Size::Dynamic(_)))?;
    let Size::Dynamic(id) = left.remove(position) else { return None };
    let own = count(&left)?;
    match quotient {
        // `(t // 8) * 8` is `t` for multiples only.
        Some((other, divisor)) => {
            (other == id && !is_open && own.checked_mul(divisor) == Some(product)).then_some(divisor)
        }
        None if is_open && product > 0 && own > 0 && own % product != 0 => {
            Some(product / greatest_divisor(own, product))
        }
        None => None,
    }
}

fn greatest_divisor(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Returns the number of elements that remain for dynamic dimensions, if the requested sizes fix them: 4 for
/// `x.view(b, 4, 6)` where `x` has the shape `(b, t, 6)`.
fn fixed(shape: &[Size], sizes: &[Size]) -> Option<i64> {
    let mut left = shape.to_vec();
    let mut requested = Vec::new();
    for size in sizes {
        match left.iter().position(|other| other == size && matches!(size, Size::Dynamic(_))) {
            Some(index) => drop(left.remove(index)),
            None => requested.push(*size),
        }
    }
    let is_known = |size: &Size| matches!(size, Size::Known(_) | Size::Dynamic(_));
    let has_dynamic = left.iter().any(|size| matches!(size, Size::Dynamic(_)));
    count(&requested).filter(|_| has_dynamic && left.iter().all(is_known))
}

/// Returns the size for `-1` if all other dimensions cancel: `x.view(b, t, 4, -1)` where `x` has the shape `(b, t, 12)`.
fn remaining(shape: &[Size], sizes: &[Size]) -> Size {
    let mut left = shape.to_vec();
    let mut product = 1_i64;
    for size in sizes {
        match size {
            Size::Known(size) => product = product.saturating_mul(*size),
            Size::Dynamic(_) => match left.iter().position(|other| other == size) {
                Some(index) => drop(left.remove(index)),
                None => return Size::Unknown,
            },
            Size::Derived | Size::Quotient(..) | Size::Data | Size::Unknown => return Size::Unknown,
        }
    }
    match count(&left) {
        Some(total) if product > 0 && total % product == 0 => Size::Known(total / product),
        _ => Size::Unknown,
    }
}

pub(super) fn index_of(rank: usize, dimension: i64) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let index = if dimension < 0 { dimension + rank } else { dimension };
    usize::try_from(index).ok().filter(|_| index < rank)
}

/// Returns the shape of `torch.cat(shapes, dimension)`.
pub(super) fn cat(shapes: &[Shape], dimension: i64) -> Checked<Option<Shape>> {
    let Some((first, others)) = shapes.split_first() else { return Ok(None) };
    let Some(axis) = index_of(first.len(), dimension) else { return Ok(None) };
    let mut result = first.clone();
    for other in others {
        if other.len() != first.len() {
            // `torch.cat` skips an empty Tensor with one dimension.
            return Ok(None);
        }
        for (index, size) in result.iter_mut().enumerate() {
            *size = match (*size, other[index]) {
                (Size::Known(left), Size::Known(right)) if index == axis => Size::Known(left + right),
                _ if index == axis => Size::Unknown,
                (left, right) => equal(left, right)?,
            };
        }
    }
    Ok(Some(result))
}

/// Returns the shape of `torch.stack(shapes, dimension)`.
pub(super) fn stack(shapes: &[Shape], dimension: i64) -> Checked<Option<Shape>> {
    let Some((first, others)) = shapes.split_first() else { return Ok(None) };
    let mut result = first.clone();
    for other in others {
        if other.len() != first.len() {
            return Err(format!("the Tensors have {} and {} dimensions", first.len(), other.len()));
        }
        for (size, other) in result.iter_mut().zip(other) {
            *size = equal(*size, *other)?;
        }
    }
    let Some(axis) = index_of(first.len() + 1, dimension) else { return Ok(None) };
    let length = i64::try_from(shapes.len()).map_or(Size::Unknown, Size::Known);
    result.insert(axis, length);
    Ok(Some(result))
}

/// Returns the shape of the result of a layer; `None` if it is not known. Containers are evaluated by the caller.
pub(super) fn layer(layer: &Layer, shape: &[Size]) -> Checked<Option<Shape>> {
    let mut result = shape.to_vec();
    match layer {
        Layer::Linear { inputs, outputs, .. } => {
            let Some(last) = result.last_mut() else { return Ok(None) };
            equal(*last, Size::Known(*inputs)).map_err(|reason| format!("{reason}: `in_features`"))?;
            *last = Size::Known(*outputs);
        }
        Layer::Other => return Ok(None),
        Layer::Cast(inner, _) => return self::layer(inner, shape),
        Layer::Upsample { factor } => {
            for size in result.iter_mut().skip(2) {
                *size = match size {
                    Size::Known(size) => Size::Known(*size * factor),
                    Size::Dynamic(_) | Size::Quotient(..) | Size::Derived => Size::Derived,
                    Size::Data | Size::Unknown => Size::Unknown,
                };
            }
        }
        Layer::Embedding { width } => result.push(Size::Known(*width)),
        Layer::Normalization(sizes) => {
            let Some(start) = result.len().checked_sub(sizes.len()) else {
                return Err(format!("the input has {} dimensions", shape.len()));
            };
            for (size, known) in result[start..].iter_mut().zip(sizes) {
                *size = equal(*size, Size::Known(*known))?;
            }
        }
        Layer::BatchNorm { channels } => {
            let Some(size) = result.get_mut(1) else { return Ok(None) };
            *size = equal(*size, Size::Known(*channels))?;
        }
        Layer::Conv(convolution) => return convolve(convolution, shape),
        Layer::Pool { dimensions, kernel, stride, padding } => {
            let Some(start) = spatial(shape, *dimensions) else { return Ok(None) };
            for size in &mut result[start..] {
                *size = window(*size, *kernel, *stride, *padding, 1);
            }
        }
        Layer::AdaptivePool { dimensions, size } => {
            let Some(start) = spatial(shape, *dimensions) else { return Ok(None) };
            result[start..].iter_mut().for_each(|it| *it = Size::Known(*size));
        }
        Layer::Flatten => return Ok(flatten(shape, 1, -1)),
        Layer::Elementwise(_) => {}
        Layer::Sequential(_) => return Ok(None),
    }
    Ok(Some(result))
}

/// Returns the position of the first spatial dimension, if the input has a batch dimension or none.
fn spatial(shape: &[Size], dimensions: usize) -> Option<usize> {
    let start = shape.len().checked_sub(dimensions)?;
    matches!(start, 1 | 2).then_some(start)
}

fn convolve(convolution: &Convolution, shape: &[Size]) -> Checked<Option<Shape>> {
    let Some(start) = spatial(shape, convolution.dimensions) else { return Ok(None) };
    let mut result = shape.to_vec();
    equal(result[start - 1], Size::Known(convolution.inputs))
        .map_err(|reason| format!("{reason}: `in_channels`"))?;
    result[start - 1] = Size::Known(convolution.outputs);
    let Convolution { kernel, stride, padding, dilation, .. } = *convolution;
    for size in &mut result[start..] {
        *size = match (*size, convolution.transposed) {
            (Size::Known(size), true) => {
                let strided = size.checked_sub(1).and_then(|steps| steps.checked_mul(stride));
                let result = strided.and_then(|it| it.checked_add(dilation * (kernel - 1) - 2 * padding + 1));
                result.map_or(Size::Unknown, Size::Known)
            }
            (Size::Dynamic(_), true) => Size::Derived,
            (size, true) => size,
            (size, false) => window(size, kernel, stride, padding, dilation),
        };
    }
    Ok(Some(result))
}

fn window(size: Size, kernel: i64, stride: i64, padding: i64, dilation: i64) -> Size {
    let lost = dilation * (kernel - 1) - 2 * padding;
    match size {
        Size::Known(size) if stride > 0 && size > lost => Size::Known((size - lost - 1) / stride + 1),
        Size::Dynamic(_) if lost == 0 && stride == 1 => size,
        Size::Dynamic(_) | Size::Derived => Size::Derived,
        _ => Size::Unknown,
    }
}

pub(super) fn flatten(shape: &[Size], start: i64, end: i64) -> Option<Shape> {
    let (start, end) = (index_of(shape.len(), start)?, index_of(shape.len(), end)?);
    let merged = match shape.get(start..=end)? {
        [only] => *only,
        several if several.contains(&Size::Unknown) => Size::Unknown,
        several => count(several).map_or(Size::Derived, Size::Known),
    };
    let mut result = shape[..start].to_vec();
    result.push(merged);
    result.extend_from_slice(&shape[end + 1..]);
    Some(result)
}

/// Returns the values that a loop over a Tensor of known size yields: its rows.
pub(super) fn first_dimension<'a>(value: &Value<'a>) -> Option<Vec<Value<'a>>> {
    let Value::Tensor(Some(shape), _) = value else { return None };
    let Size::Known(length) = *shape.first()? else { return None };
    let length = usize::try_from(length).ok().filter(|length| *length <= MOST_ITERATIONS)?;
    Some(vec![row(value)?; length])
}

/// Returns `x[0]`.
pub(super) fn row<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    let Value::Tensor(Some(shape), dtype) = value else { return None };
    Some(Value::tensor(shape.get(1..)?.to_vec()).with_dtype(*dtype))
}
