//! Convolutions and pooling. Torch has a backward kernel for each of these operators.

use super::normalization::kernel;
use super::rule::{Derivative, Rule};
use crate::autodiff::expression::Expr;
use crate::ir::operand::Operand;

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "convolution.default" => |r| {
            let bias = r.operand(2);
            let sizes = if bias == Operand::None { bias } else { r.emit.sizes(&bias)? };
            let mut operands = vec![r.operand(0), r.operand(1), sizes];
            operands.extend((3..9).map(|index| r.operand(index)));
            let g = r.g()?;
            kernel(r, "convolution_backward.default", g, operands, [0, 1, 2])
        },
        "max_pool2d_with_indices.default" => |r| {
            r.no_gradient_from(1)?;
            pooled(r, "max_pool2d_with_indices_backward.default", 1..6, true)
        },
        "max_pool3d_with_indices.default" => |r| {
            r.no_gradient_from(1)?;
            pooled(r, "max_pool3d_with_indices_backward.default", 1..6, true)
        },
        "adaptive_max_pool2d.default" => |r| {
            r.no_gradient_from(1)?;
            pooled(r, "adaptive_max_pool2d_backward.default", 0..0, true)
        },
        "avg_pool2d.default" => |r| pooled(r, "avg_pool2d_backward.default", 1..7, false),
        "avg_pool3d.default" => |r| pooled(r, "avg_pool3d_backward.default", 1..7, false),
        "_adaptive_avg_pool2d.default" => |r| pooled(r, "_adaptive_avg_pool2d_backward.default", 0..0, false),
        _ => return None,
    })
}

/// `kernel(g, x, operands…)`, with the indices that the forward operator selected.
fn pooled(
    r: &mut Rule,
    name: &'static str,
    operands: std::ops::Range<usize>,
    has_places: bool,
) -> Option<()> {
    let mut given = vec![r.g()?, r.x(0)];
    given.extend(operands.map(|index| r.x(index)));
    if has_places {
        given.push(r.output(1).into());
    }
    let ty = r.tensor(0);
    r.set_gradient(0, Expr::typed(name, given, ty));
    Some(())
}
