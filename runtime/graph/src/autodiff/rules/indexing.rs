//! Indexing with indices and masks: reading and writing elements.

use super::rule::{Derivative, Rule};
use crate::autodiff::expression::{Expr, Typing};
use crate::autodiff::shape::broadcast;
use crate::ir::operand::Operand;
use crate::ir::types::{DType, Dim, TensorType};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "index.Tensor" => |r| {
            let (g, zeros) = (r.g()?, r.zeros(0));
            let operands = vec![zeros.into(), r.x(1), g, true.into()];
            r.set_gradient(0, Expr::call("index_put.default", operands, Typing::Like(0)));
            Some(())
        },
        "index_put.default" => index_put,
        "index_select.default" => |r| {
            let (g, zeros) = (r.g()?, r.zeros(0));
            let operands = vec![zeros.into(), r.x(1), r.x(2), g, 1.into()];
            r.set_gradient(0, Expr::call("index_add.default", operands, Typing::Like(0)));
            Some(())
        },
        "index_add.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, g.clone());
            let part = r.shaped(3, "index_select.default", g, vec![r.x(1), r.x(2)]);
            r.set_gradient(3, part * r.operand(4));
            Some(())
        },
        "gather.default" => |r| {
            let (g, zeros) = (r.g()?, r.zeros(0));
            let operands = vec![zeros.into(), r.x(1), r.x(2), g];
            r.set_gradient(0, Expr::call("scatter_add.default", operands, Typing::Like(0)));
            Some(())
        },
        "scatter_add.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, g.clone());
            gathered(r, g)
        },
        "scatter.src" => |r| {
            let g = r.g()?;
            let rest = vec![g.clone(), r.x(1), r.x(2), 0.into()];
            r.set_gradient(0, Expr::call("scatter.value", rest, Typing::Like(0)));
            gathered(r, g)
        },
        "scatter.value" => |r| {
            let g = r.g()?;
            let rest = vec![g, r.x(1), r.x(2), 0.into()];
            r.set_gradient(0, Expr::call("scatter.value", rest, Typing::Like(0)));
            Some(())
        },
        "masked_fill.Scalar" | "masked_fill.Tensor" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(0, g.clone().where_false(r.x(1)))?;
            r.set_summed_gradient(2, g.where_true(r.x(1)))
        },
        "embedding.default" => |r| {
            let weight = r.operand(0);
            let (g, rows) = (r.g()?, r.emit.size(&weight, 0));
            let operands = vec![r.x(1), rows.into(), r.x(2), r.x(3)];
            r.set_gradient(0, r.shaped(0, "embedding_dense_backward.default", g, operands));
            Some(())
        },
        "embedding_dense_backward.default" => |r| {
            // Not supported: a padding row, which has no gradient, and scaling by frequency, which divides by counts.
            if r.int(3)? >= 0 || r.truth(4)? {
                return None;
            }
            let g = r.g()?;
            let operands = vec![g, r.x(1), r.x(3), false.into(), false.into()];
            r.set_gradient(0, Expr::typed("embedding.default", operands, r.tensor(0)));
            Some(())
        },
        _ => return None,
    })
}

fn gathered(r: &mut Rule, g: Expr) -> Option<()> {
    // If the source is longer than the index, there is no derivative, as in torch.
    if let (Some(index), Some(source)) = (r.tensor(2).sizes(), r.tensor(3).sizes())
        && index != source
    {
        return None;
    }
    r.set_gradient(3, r.shaped(3, "gather.default", g, vec![r.x(1), r.x(2), false.into()]));
    Some(())
}

fn index_put(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    if r.needs_gradient(0) {
        let rest = if r.truth(3)? {
            g.clone()
        } else {
            let ty = TensorType { shape: Some(Vec::new()), ..r.tensor(0) };
            let zero = r.emit.filled("zeros", &ty)?;
            let operands = vec![g.clone(), r.x(1), zero.into(), false.into()];
            Expr::call("index_put.default", operands, Typing::Like(0))
        };
        r.set_gradient(0, rest);
    }
    if r.needs_gradient(2) {
        let ty = TensorType { shape: indexed(r), ..r.tensor(0) };
        let part = r.put(Expr::typed("index.Tensor", vec![g, r.x(1)], ty));
        let part = r.sum_to(part, 2)?;
        r.set_gradient(2, part);
    }
    Some(())
}

/// Returns the shape of `x[indices]`. A mask with n dimensions indexes n dimensions of `x`, and selects an unknown
/// number of elements.
fn indexed(r: &Rule) -> Option<Vec<Dim>> {
    let (Operand::List(indices), shape) = (r.operand(1), r.tensor(0).shape?) else { return None };
    let mut chosen = Vec::new();
    let mut rest = Vec::new();
    // The position of the first index, and whether a non-indexed dimension lies between two indices.
    let (mut first, mut is_apart, mut dim) = (None, false, 0);
    for index in &indices {
        if *index == Operand::None {
            rest.push(*shape.get(dim)?);
            dim += 1;
            continue;
        }
        let ty = r.emit.tensor(index);
        let place = *first.get_or_insert(rest.len());
        is_apart |= place != rest.len();
        let (own, taken) = match ty.dtype {
            DType::Bool | DType::U8 => (vec![Dim::Unknown], ty.rank()?),
            _ => (ty.shape?, 1),
        };
        chosen = broadcast(&chosen, &own);
        dim += taken;
    }
    rest.extend(shape.get(dim..)?);
    // Non-adjacent indices move their dimensions to the front.
    let front = if is_apart { 0 } else { first? };
    rest.splice(front..front, chosen);
    Some(rest)
}
