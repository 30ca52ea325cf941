//! Products of matrices and vectors.

use super::rule::{Derivative, Rule};
use crate::autodiff::expression::Expr;
use crate::ir::operand::Operand;
use crate::ir::types::TensorType;

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "mm.default" => |r| product(r, [0, 1], "mm.default", 1.into()),
        "bmm.default" => |r| product(r, [0, 1], "bmm.default", 1.into()),
        "matmul.default" => |r| match (r.rank(0)?, r.rank(1)?) {
            (2, 2) => product(r, [0, 1], "mm.default", 1.into()),
            _ => None,
        },
        "addmm.default" => |r| {
            scaled_first(r)?;
            product(r, [1, 2], "mm.default", r.operand(4))
        },
        "baddbmm.default" => |r| {
            scaled_first(r)?;
            product(r, [1, 2], "bmm.default", r.operand(4))
        },
        "mv.default" => |r| matrix_vector(r, [0, 1], 1.into()),
        "addmv.default" => |r| {
            scaled_first(r)?;
            matrix_vector(r, [1, 2], r.operand(4))
        },
        "dot.default" => |r| r.binary([|g, _, b, _| g * b, |g, a, _, _| g * a]),
        "addr.default" => |r| {
            scaled_first(r)?;
            let g = r.g()? * r.operand(4);
            let g = r.put(g);
            r.set_gradient(1, times_vector(r, g.clone().into(), r.x(2), 1));
            let transposed = transposed(r, &g);
            r.set_gradient(2, times_vector(r, transposed.into(), r.x(1), 2));
            Some(())
        },
        "linear.default" => linear,
        _ => return None,
    })
}

/// Returns the gradient of the operand to which the product is added, as `beta * x`.
fn scaled_first(r: &mut Rule) -> Option<()> {
    let g = r.g()? * r.operand(3);
    r.set_summed_gradient(0, g)
}

/// `alpha * a @ b`
fn product(r: &mut Rule, [a, b]: [usize; 2], name: &'static str, alpha: Operand) -> Option<()> {
    let g = r.g()?;
    if r.needs_gradient(a) {
        let other = transposed(r, &r.operand(b));
        let gradient = r.shaped(a, name, g.clone(), vec![other.into()]);
        r.set_gradient(a, gradient * &alpha);
    }
    if r.needs_gradient(b) {
        let other = transposed(r, &r.operand(a));
        let ty = r.like(b, &g);
        r.set_gradient(b, Expr::typed(name, vec![other.into(), g], ty) * &alpha);
    }
    Some(())
}

/// Returns the matrix with its last two dimensions transposed.
fn transposed(r: &mut Rule, matrix: &Operand) -> Operand {
    let mut ty = r.emit.tensor(matrix);
    if let Some(shape) = &mut ty.shape
        && shape.len() >= 2
    {
        let last = shape.len() - 1;
        shape.swap(last - 1, last);
    }
    let expression = match ty.rank() {
        Some(2) => Expr::typed("t.default", vec![matrix.into()], ty),
        _ => Expr::typed("transpose.int", vec![matrix.into(), (-2).into(), (-1).into()], ty),
    };
    r.put(expression)
}

/// `alpha * matrix @ vector`
fn matrix_vector(r: &mut Rule, [matrix, vector]: [usize; 2], alpha: Operand) -> Option<()> {
    let g = r.g()? * &alpha;
    let g = r.put(g);
    if r.needs_gradient(matrix) {
        let (column, row) = (unsqueezed(r, &g, 1), unsqueezed(r, &r.operand(vector), 0));
        r.set_gradient(matrix, Expr::from(column) * row);
    }
    if r.needs_gradient(vector) {
        let transposed = transposed(r, &r.operand(matrix));
        r.set_gradient(vector, times_vector(r, transposed.into(), g.into(), vector));
    }
    Some(())
}

/// Returns a product whose result has the shape of an operand.
fn times_vector(r: &Rule, matrix: Expr, vector: Expr, index: usize) -> Expr {
    r.shaped(index, "mv.default", matrix, vec![vector])
}

fn unsqueezed(r: &mut Rule, tensor: &Operand, dim: usize) -> Operand {
    let mut ty = r.emit.tensor(tensor);
    if let Some(shape) = &mut ty.shape
        && dim <= shape.len()
    {
        shape.insert(dim, crate::ir::types::Dim::Known(1));
    }
    r.put(Expr::typed("unsqueeze.default", vec![tensor.into(), (dim as i64).into()], ty))
}

/// `x @ weight.t() + bias`, over all dimensions of `x` except the last.
fn linear(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    let (x, weight) = (r.operand(0), r.operand(1));
    let rows = |r: &mut Rule, tensor: &Operand| -> Option<Operand> {
        let ty = r.emit.tensor(tensor);
        let shape = ty.shape.clone()?;
        if shape.len() == 2 {
            return Some(tensor.clone());
        }
        let last = *shape.last()?;
        let columns = r.emit.size(tensor, shape.len() - 1);
        let sizes = ty.sizes();
        let count = sizes.map(|sizes| sizes[..sizes.len() - 1].iter().product());
        let first = count.map_or(crate::ir::types::Dim::Unknown, crate::ir::types::Dim::Known);
        let ty = TensorType { shape: Some(vec![first, last]), ..ty };
        let sizes = Operand::List(vec![(-1).into(), columns]);
        Some(r.put(Expr::typed("reshape.default", vec![tensor.into(), sizes.into()], ty)))
    };
    let flat = rows(r, &g)?;
    if r.needs_gradient(0) {
        let rank = r.rank(0)?;
        let mut ty = r.emit.tensor(&flat);
        ty.shape = Some(vec![*ty.shape?.first()?, *r.tensor(1).shape?.last()?]);
        let gradient = Expr::typed("mm.default", vec![flat.clone().into(), weight.into()], ty);
        if rank == 2 {
            r.set_gradient(0, gradient);
        } else {
            let sizes = r.sizes(0)?;
            r.set_gradient(0, Expr::typed("reshape.default", vec![gradient, sizes.into()], r.tensor(0)));
        }
    }
    if r.needs_gradient(1) {
        let x = rows(r, &x)?;
        let transposed = transposed(r, &flat);
        r.set_gradient(1, r.shaped(1, "mm.default", transposed.into(), vec![x.into()]));
    }
    if r.needs_gradient(2) {
        let sum = r.sum_to(flat, 2)?;
        r.set_gradient(2, sum);
    }
    Some(())
}
