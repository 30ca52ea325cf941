//! Shapes, views, slices and their inverses, copies.

use super::rule::{Derivative, Rule, int_list};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::op::Scalar;
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, TensorType};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "view.default"
        | "_unsafe_view.default"
        | "reshape.default"
        | "squeeze.default"
        | "squeeze.dim"
        | "squeeze.dims"
        | "unsqueeze.default"
        | "flatten.using_ints"
        | "view_copy.default" => |r| {
            let (g, sizes) = (r.g()?, r.sizes(0)?);
            r.set_gradient(0, r.shaped(0, "reshape.default", g, vec![sizes.into()]));
            Some(())
        },
        "expand.default" | "expand_copy.default" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(0, g)
        },
        "permute.default" => |r| {
            let g = r.g()?;
            let dims = r.dims(1)?;
            let mut back = vec![0; dims.len()];
            for (to, from) in dims.into_iter().enumerate() {
                *back.get_mut(from)? = to;
            }
            r.set_gradient(0, r.shaped(0, "permute.default", g, vec![int_list(&back).into()]));
            Some(())
        },
        "transpose.int" => |r| {
            let g = r.g()?;
            r.set_gradient(0, r.shaped(0, "transpose.int", g, vec![r.x(1), r.x(2)]));
            Some(())
        },
        "t.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, r.shaped(0, "t.default", g, vec![]));
            Some(())
        },
        "alias.default"
        | "clone.default"
        | "contiguous.default"
        | "lift_fresh.default"
        | "lift_fresh_copy.default"
        | "_to_copy.default"
        | "to.dtype" => |r| r.unary(|g, _, _| g),
        "copy.default" => |r| {
            let g = r.g()?;
            if r.needs_gradient(0) {
                let zeros = r.zeros(0);
                r.set_gradient(0, zeros);
            }
            r.set_summed_gradient(1, g)
        },
        "slice.Tensor" => |r| {
            let (g, sizes) = (r.g()?, r.sizes(0)?);
            let bound = |index: usize, missing: i64| {
                if r.is_none(index) { missing.into() } else { r.x(index) }
            };
            let operands = vec![sizes.into(), r.x(1), bound(2, 0), bound(3, i64::MAX), r.x(4)];
            r.set_gradient(0, r.shaped(0, "slice_backward.default", g, operands));
            Some(())
        },
        "slice_backward.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, r.shaped(0, "slice.Tensor", g, vec![r.x(2), r.x(3), r.x(4), r.x(5)]));
            Some(())
        },
        "select.int" => |r| {
            let (g, sizes) = (r.g()?, r.sizes(0)?);
            r.set_gradient(0, r.shaped(0, "select_backward.default", g, vec![sizes.into(), r.x(1), r.x(2)]));
            Some(())
        },
        "select_backward.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, r.shaped(0, "select.int", g, vec![r.x(2), r.x(3)]));
            Some(())
        },
        "diagonal.default" => |r| {
            let (g, sizes) = (r.g()?, r.sizes(0)?);
            let operands = vec![sizes.into(), r.x(1), r.x(2), r.x(3)];
            r.set_gradient(0, r.shaped(0, "diagonal_backward.default", g, operands));
            Some(())
        },
        "diagonal_backward.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, r.shaped(0, "diagonal.default", g, vec![r.x(2), r.x(3), r.x(4)]));
            Some(())
        },
        "select_scatter.default" => |r| scatter(r, "select_scatter.default", "select.int"),
        "slice_scatter.default" => |r| scatter(r, "slice_scatter.default", "slice.Tensor"),
        "diagonal_scatter.default" => |r| scatter(r, "diagonal_scatter.default", "diagonal.default"),
        "flip.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, Expr::call("flip.default", vec![g, r.x(1)], Typing::Like(0)));
            Some(())
        },
        "roll.default" => |r| {
            let g = r.g()?;
            let back = r.ints(1)?.into_iter().map(|shift| (-shift).into()).collect::<Vec<Operand>>();
            r.set_gradient(
                0,
                Expr::call("roll.default", vec![g, Operand::List(back).into(), r.x(2)], Typing::Like(0)),
            );
            Some(())
        },
        "tril.default" => |r| triangle(r, "tril.default"),
        "triu.default" => |r| triangle(r, "triu.default"),
        "constant_pad_nd.default" => |r| {
            let g = r.g()?;
            let Operand::List(pads) = r.operand(1) else { return None };
            let back = pads.into_iter().map(|pad| r.emit.scalar(Scalar::Neg, vec![pad])).collect();
            r.set_gradient(
                0,
                r.shaped(0, "constant_pad_nd.default", g, vec![Operand::List(back).into(), 0.into()]),
            );
            Some(())
        },
        "repeat.default" => repeat,
        _ => return None,
    })
}

/// Returns the rule for operators that replace a part of `x` by `src`.
fn scatter(r: &mut Rule, write: &'static str, read: &'static str) -> Option<()> {
    let g = r.g()?;
    let place: Vec<Expr> = (2..r.node.operands.len()).map(|index| r.x(index)).collect();
    if r.needs_gradient(0) {
        let zeros = r.zeros(1);
        let operands = [vec![zeros.into()], place.clone()].concat();
        r.set_gradient(0, r.shaped(0, write, g.clone(), operands));
    }
    if r.needs_gradient(1) {
        r.set_gradient(1, r.shaped(1, read, g, place));
    }
    Some(())
}

/// Returns the rule for `tril` and `triu`: applies the same operator to the gradient.
fn triangle(r: &mut Rule, name: &'static str) -> Option<()> {
    let g = r.g()?;
    r.set_gradient(0, Expr::call(name, vec![g, r.x(1)], Typing::Like(0)));
    Some(())
}

/// Returns the rule for `repeat`: sums the gradient over the repetitions.
fn repeat(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    let (times, shape, x) = (r.ints(1)?, r.tensor(0).shape?, r.operand(0));
    let leading = times.len().checked_sub(shape.len())?;
    let (mut split, mut sizes, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for (index, times) in times.into_iter().enumerate() {
        repeated.push(split.len());
        split.push(Dim::Known(u64::try_from(times).ok()?));
        sizes.push(times.into());
        if index >= leading {
            split.push(shape[index - leading]);
            sizes.push(r.emit.size(&x, index - leading));
        }
    }
    let g = r.put(g);
    let ty = TensorType { shape: Some(split), ..r.emit.tensor(&g) };
    let apart = Expr::typed("reshape.default", vec![g.into(), Operand::List(sizes).into()], ty);
    let operands = vec![int_list(&repeated).into(), false.into(), super::rule::none()];
    let apart = r.put(apart);
    r.set_gradient(0, r.shaped(0, "sum.dim_IntList", apart.into(), operands));
    Some(())
}
