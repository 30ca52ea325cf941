//! Reductions: sums, means, extrema, norms, sorting.

use super::rule::{Derivative, Rule, int_list, none};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::op::Scalar;
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, TensorType};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "sum.default" => |r| spread_all(r, |g, _| g),
        "mean.default" => |r| spread_all(r, |g, count| g / count),
        "sum.dim_IntList" => |r| spread(r, 1, 2, |g, _| g),
        "mean.dim" => |r| spread(r, 1, 2, |g, count| g / count),
        "sum_to_size.default" => |r| {
            let (g, sizes) = (r.g()?, r.sizes(0)?);
            r.set_gradient(0, r.shaped(0, "expand.default", g, vec![sizes.into(), false.into()]));
            Some(())
        },
        "var.correction" => |r| {
            let g = r.g()?;
            variance(r, g)
        },
        "std.correction" => |r| {
            let g = r.g()? / (r.y() * 2);
            let g = g.where_false(r.y().eq_number(0));
            variance(r, g)
        },
        "var_mean.correction" => |r| {
            let (variance_of, mean) = (r.result_gradient(0), r.result_gradient(1));
            if let Some(mean) = mean {
                let dims = r.dims(1)?;
                let count = count(r, &dims);
                let kept = restored(r, mean, &dims, r.truth(3)?)?;
                spread_as(r, Expr::from(kept) / count)?;
            }
            variance_of.map_or(Some(()), |g| variance(r, g.into()))
        },
        "max.default" | "min.default" => |r| {
            let dims = r.dims(NO_OPERAND)?;
            evenly_to_extrema(r, &dims, true)
        },
        "amax.default" | "amin.default" => |r| {
            let (dims, keeps) = (r.dims(1)?, r.truth(2)?);
            evenly_to_extrema(r, &dims, keeps)
        },
        "max.dim" | "min.dim" | "median.dim" | "nanmedian.dim" | "mode.default" => {
            |r| selected(r, 1, Some(2))
        }
        "kthvalue.default" => |r| selected(r, 2, Some(3)),
        "cummax.default" | "cummin.default" | "sort.default" => |r| selected(r, 1, None),
        "topk.default" | "sort.stable" => |r| selected(r, 2, None),
        "logsumexp.default" => |r| {
            let (dims, keeps) = (r.dims(1)?, r.truth(2)?);
            let g = r.g()?;
            let g = r.put(g);
            let g = restored(r, g, &dims, keeps)?;
            let y = restored(r, r.output(0), &dims, keeps)?;
            r.set_gradient(0, Expr::from(g) * (r.x(0) - y).exp());
            Some(())
        },
        "linalg_vector_norm.default" => |r| {
            let (dims, keeps) = (r.dims(2)?, r.truth(3)?);
            norm(r, &dims, keeps)
        },
        "norm.Scalar" => |r| {
            let dims = r.dims(NO_OPERAND)?;
            norm(r, &dims, true)
        },
        "norm.ScalarOpt_dim" => |r| {
            let (dims, keeps) = (r.dims(2)?, r.truth(3)?);
            norm(r, &dims, keeps)
        },
        "cumsum.default" => |r| {
            let dim = int_list(&[r.dim(1)?]);
            let flip = |x: Expr| Expr::call("flip.default", vec![x, dim.clone().into()], Typing::Like(0));
            let g = flip(r.g()?);
            let sum = Expr::call("cumsum.default", vec![g, r.x(1), none()], Typing::Like(0));
            r.set_gradient(0, flip(sum));
            Some(())
        },
        _ => return None,
    })
}

/// The index for `dims` if the operator has no such operand, because it reduces all dimensions.
const NO_OPERAND: usize = usize::MAX;

/// Broadcasts the gradient of a full reduction; `scale` gets the number of elements.
fn spread_all(r: &mut Rule, scale: fn(Expr, Operand) -> Expr) -> Option<()> {
    let g = r.g()?;
    let dims: Vec<usize> = (0..r.rank(0)?).collect();
    let count = count(r, &dims);
    let gradient = scale(g, count);
    spread_as(r, gradient)
}

fn spread(r: &mut Rule, dims: usize, keeps: usize, scale: fn(Expr, Operand) -> Expr) -> Option<()> {
    let (dims, keeps) = (r.dims(dims)?, r.truth(keeps)?);
    let g = r.g()?;
    let g = r.put(g);
    let count = count(r, &dims);
    let gradient = restored(r, g, &dims, keeps)?;
    spread_as(r, scale(gradient.into(), count))
}

/// Expands a gradient to the shape of the first operand.
fn spread_as(r: &mut Rule, gradient: Expr) -> Option<()> {
    let sizes = r.sizes(0)?;
    let gradient = r.put(gradient);
    r.set_gradient(0, r.shaped(0, "expand.default", gradient.into(), vec![sizes.into(), false.into()]));
    Some(())
}

/// Returns the number of elements that were reduced to one.
fn count(r: &mut Rule, dims: &[usize]) -> Operand {
    if r.rank(0) == Some(0) {
        return 1.into();
    }
    let x = r.operand(0);
    r.emit.count(&x, dims.iter().copied())
}

/// Reinserts the reduced dimensions with size 1.
fn restored(r: &mut Rule, reduced: Operand, dims: &[usize], keeps: bool) -> Option<Operand> {
    let rank = r.rank(0)?;
    if keeps || rank == 0 {
        return Some(reduced);
    }
    let mut sorted = dims.to_vec();
    sorted.sort_unstable();
    let mut restored = reduced;
    for dim in sorted {
        let ty = r.emit.tensor(&restored);
        let shape = ty.shape.map(|mut shape| {
            shape.insert(dim.min(shape.len()), Dim::Known(1));
            shape
        });
        let operands = vec![restored.into(), (dim as i64).into()];
        restored = r.put(Expr::typed("unsqueeze.default", operands, TensorType { shape, ..ty }));
    }
    Some(restored)
}

/// `2 (x - mean(x)) g / (count - correction)`
fn variance(r: &mut Rule, g: Expr) -> Option<()> {
    let (dims, keeps) = (r.dims(1)?, r.truth(3)?);
    let g = r.put(g);
    let g = restored(r, g, &dims, keeps)?;
    let count = count(r, &dims);
    let correction = if r.is_none(2) { 1.into() } else { r.operand(2) };
    let free = r.emit.scalar(Scalar::Sub, vec![count, correction]);
    let mut ty = r.tensor(0);
    if let Some(shape) = &mut ty.shape
        && !shape.is_empty()
    {
        dims.iter().for_each(|dim| shape[*dim] = Dim::Known(1));
    }
    let mean = Expr::typed("mean.dim", vec![r.x(0), int_list(&dims).into(), true.into(), none()], ty);
    r.set_gradient(0, (r.x(0) - mean) * g * 2 / free);
    Some(())
}

/// Distributes the gradient evenly over the elements equal to the extremum.
fn evenly_to_extrema(r: &mut Rule, dims: &[usize], keeps: bool) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    let g = restored(r, g, dims, keeps)?;
    let y = restored(r, r.output(0), dims, keeps)?;
    let mask = r.put(r.x(0).eq_tensor(&y));
    let sizes = TensorType { dtype: crate::ir::types::DType::I64, ..r.emit.tensor(&y) };
    let count = if keeps && r.emit.tensor(&y).rank() != r.rank(0) {
        Expr::typed("sum.default", vec![(&mask).into(), none()], sizes)
    } else {
        let dims = int_list(dims).into();
        Expr::typed("sum.dim_IntList", vec![(&mask).into(), dims, true.into(), none()], sizes)
    };
    r.set_gradient(0, (Expr::from(g) / count).where_true(&mask));
    Some(())
}

/// Scatters the gradient to the indices in the second result.
fn selected(r: &mut Rule, dim: usize, keeps: Option<usize>) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    if r.rank(0)? == 0 {
        r.set_gradient(0, g);
        return Some(());
    }
    let dim = r.dim(dim)?;
    let keeps = match keeps {
        Some(keeps) => r.truth(keeps)?,
        None => true,
    };
    let places = restored(r, r.output(1), &[dim], keeps)?;
    let g = restored(r, g, &[dim], keeps)?;
    let zeros = r.zeros(0);
    let operands = vec![zeros.into(), (dim as i64).into(), places.into(), g.into()];
    r.set_gradient(0, Expr::call("scatter_add.default", operands, Typing::Like(0)));
    Some(())
}

/// Sets the derivative of the norm of vectors along some dimensions. The derivative at the zero vector is zero.
fn norm(r: &mut Rule, dims: &[usize], keeps: bool) -> Option<()> {
    let order = if r.is_none(1) { 2.0 } else { r.number(1)? };
    let g = r.g()?;
    let g = r.put(g);
    let is_whole = r.emit.tensor(&g).rank() == Some(0);
    let g = if is_whole { g } else { restored(r, g, dims, keeps)? };
    let y = if is_whole { r.output(0) } else { restored(r, r.output(0), dims, keeps)? };
    let gradient = match order {
        1.0 => Expr::from(g) * r.x(0).sgn(),
        2.0 => (r.x(0) / &y * g).where_false(Expr::from(&y).eq_number(0)),
        _ => return None,
    };
    r.set_gradient(0, gradient);
    Some(())
}
