//! Concatenating tensors, and splitting a tensor into a list.

use super::rule::{Derivative, Rule};
use crate::autodiff::emit::int;
use crate::autodiff::expression::Expr;
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, TensorType, Type};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "cat.default" => cat,
        "stack.default" => stack,
        "split.Tensor" => |r| {
            let (dim, size) = (r.dim(2)?, r.int(1)?);
            let sizes = pieces(r, dim, size);
            joined(r, dim, sizes)
        },
        "split_with_sizes.default" => |r| {
            let dim = r.dim(2)?;
            let sizes =
                r.ints(1).and_then(|sizes| sizes.into_iter().map(|size| u64::try_from(size).ok()).collect());
            joined(r, dim, sizes)
        },
        "unbind.int" | "unbind_copy.int" => unbind,
        _ => return None,
    })
}

/// Returns the size of a dimension, if it is known.
fn known(ty: &TensorType, dim: usize) -> Option<u64> {
    match ty.shape.as_ref()?.get(dim)? {
        Dim::Known(size) => Some(*size),
        _ => None,
    }
}

fn with_size(ty: &TensorType, dim: usize, size: u64) -> TensorType {
    let mut ty = ty.clone();
    if let Some(place) = ty.shape.as_mut().and_then(|shape| shape.get_mut(dim)) {
        *place = Dim::Known(size);
    }
    ty
}

/// Returns the sizes of the pieces of the first operand; the last may be smaller.
fn pieces(r: &Rule, dim: usize, size: i64) -> Option<Vec<u64>> {
    let (whole, size) = (known(&r.tensor(0), dim)?, u64::try_from(size).ok().filter(|size| *size > 0)?);
    Some((0..whole.div_ceil(size)).map(|piece| size.min(whole - piece * size)).collect())
}

/// Concatenates the gradients of the pieces along a dimension.
fn joined(r: &mut Rule, dim: usize, sizes: Option<Vec<u64>>) -> Option<()> {
    let output = *r.node.outputs.first()?;
    let items = sizes.and_then(|sizes| Some((r.adjoints.items(output, sizes.len())?, sizes)));
    let ty = r.tensor(0);
    let pieces = match items {
        Some((items, sizes)) => {
            let mut pieces = Vec::new();
            for (item, size) in items.into_iter().zip(sizes) {
                pieces.push(match item {
                    Some(item) => item,
                    None => r.emit.filled("zeros", &with_size(&ty, dim, size))?,
                });
            }
            Operand::List(pieces)
        }
        None => r.result_gradient(0)?,
    };
    r.set_gradient(0, Expr::typed("cat.default", vec![pieces.into(), (dim as i64).into()], ty));
    Some(())
}

/// Returns the rule for `unbind`: stacks the gradients of the results.
fn unbind(r: &mut Rule) -> Option<()> {
    let (dim, output) = (r.dim(1)?, *r.node.outputs.first()?);
    let ty = r.tensor(0);
    let items = known(&ty, dim).and_then(|size| r.adjoints.items(output, usize::try_from(size).ok()?));
    let rows = match items {
        Some(items) => {
            let mut row = ty.clone();
            row.shape.as_mut()?.remove(dim);
            let mut rows = Vec::new();
            for item in items {
                rows.push(match item {
                    Some(item) => item,
                    None => r.emit.filled("zeros", &row)?,
                });
            }
            Operand::List(rows)
        }
        None => r.result_gradient(0)?,
    };
    r.set_gradient(0, Expr::typed("stack.default", vec![rows.into(), (dim as i64).into()], ty));
    Some(())
}

/// Returns the rule for `stack`: selects each operand's part of the gradient.
fn stack(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    let rank = r.emit.tensor(&g).rank().or_else(|| r.emit.tensor(&r.output(0)).rank())?;
    let dim = super::rule::dimension(r.int(1)?, rank)? as i64;
    match r.operand(0) {
        Operand::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let ty = r.emit.tensor(item);
                let ty = TensorType { shape: ty.shape, ..r.emit.tensor(&g) };
                let operands = vec![(&g).into(), dim.into(), (index as i64).into()];
                r.set_gradient_of(item, Expr::typed("select.int", operands, ty));
            }
        }
        list => {
            let ty = r.emit.ty(&list);
            let rows = r.emit.aten("unbind.int", vec![g, dim.into()], vec![ty]);
            r.set_gradient_of(&list, rows[0].clone());
        }
    }
    Some(())
}

/// Returns the rule for `cat`: slices each operand's part of the gradient.
fn cat(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    let ty = r.emit.tensor(&g);
    let rank = ty.rank().or_else(|| r.emit.tensor(&r.output(0)).rank())?;
    let dim = super::rule::dimension(r.int(1)?, rank)?;
    match r.operand(0) {
        Operand::List(items) => {
            let mut start = Operand::Int(0);
            for item in items {
                let own = r.emit.tensor(&item);
                if own.shape.as_deref() == Some(&[Dim::Known(0)]) && rank != 1 {
                    // `cat` accepts an empty tensor of any rank.
                    continue;
                }
                let size = r.emit.size(&item, dim);
                let end = r.emit.scalar(Scalar::Add, vec![start.clone(), size]);
                let ty = TensorType { shape: own.shape, ..ty.clone() };
                let operands =
                    vec![(&g).into(), (dim as i64).into(), start.into(), end.clone().into(), 1.into()];
                r.set_gradient_of(&item, Expr::typed("slice.Tensor", operands, ty));
                start = end;
            }
        }
        list => {
            let Type::List(item) = r.emit.ty(&list) else { return None };
            let pieces = split_like_list(r, g, &list, &item, dim);
            r.set_gradient_of(&list, pieces);
        }
    }
    Some(())
}

/// Splits a gradient into pieces with the sizes of a list's items.
fn split_like_list(r: &mut Rule, g: Operand, list: &Operand, item: &Type, dim: usize) -> Operand {
    let ty = Type::list(item.clone());
    let size = item.tensor().and_then(|item| known(item, dim));
    if let Some(size) = size.filter(|size| *size > 0) {
        return r.emit.aten("split.Tensor", vec![g, int(size), (dim as i64).into()], vec![ty]).swap_remove(0);
    }
    let length = r.emit.node(Op::ListLen, vec![list.clone()], Type::Int);
    let start = vec![r.emit.node(Op::ListNew, Vec::new(), ty.clone()), 0.into()];
    r.emit
        .count_loop(length, start, vec![ty.clone(), Type::Int], |emit, index, carried| {
            let own = emit.node(Op::ListGet, vec![list.clone(), index], item.clone());
            let size = emit.node(Op::Size, vec![own.clone(), (dim as i64).into()], Type::Int);
            let end = emit.scalar(Scalar::Add, vec![carried[1].clone(), size]);
            let operands =
                vec![(&g).into(), (dim as i64).into(), (&carried[1]).into(), (&end).into(), 1.into()];
            let shape = emit.tensor(&own).shape;
            let piece = TensorType { shape, ..emit.tensor(&g) };
            let piece = emit.put(Expr::typed("slice.Tensor", operands, piece));
            vec![emit.node(Op::ListAppend, vec![carried[0].clone(), piece], ty), end]
        })
        .swap_remove(0)
}
