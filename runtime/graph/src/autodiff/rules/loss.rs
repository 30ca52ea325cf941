//! Loss functions.

use super::rule::{Derivative, Rule};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::types::{TensorType, Type};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "nll_loss_forward.default" => |r| nll_loss(r, "nll_loss_backward.default"),
        "nll_loss2d_forward.default" => |r| nll_loss(r, "nll_loss2d_backward.default"),
        "nll_loss_backward.default" => |r| nll_loss_backward(r, "nll_loss_forward.default"),
        "nll_loss2d_backward.default" => |r| nll_loss_backward(r, "nll_loss2d_forward.default"),
        "mse_loss.default" => |r| {
            let g = per_element(r, 2)? * 2;
            let g = r.put(g);
            r.set_summed_gradient(0, Expr::from(&g) * (r.x(0) - r.x(1)))?;
            r.set_summed_gradient(1, Expr::from(&g) * (r.x(1) - r.x(0)))
        },
        "smooth_l1_loss.default" => |r| difference_loss(r, "smooth_l1_loss_backward.default"),
        "huber_loss.default" => |r| difference_loss(r, "huber_loss_backward.default"),
        "binary_cross_entropy.default" => |r| {
            if r.needs_gradient(1) {
                return None;
            }
            let operands = vec![r.g()?, r.x(0), r.x(1), r.x(2), r.x(3)];
            let ty = r.tensor(0);
            r.set_gradient(0, Expr::typed("binary_cross_entropy_backward.default", operands, ty));
            Some(())
        },
        "binary_cross_entropy_with_logits.default" => |r| {
            if !r.is_none(2) || !r.is_none(3) {
                return None;
            }
            let g = per_element(r, 4)?;
            r.set_summed_gradient(0, g.clone() * (r.x(0).sigmoid() - r.x(1)))?;
            r.set_summed_gradient(1, -(g * r.x(0)))
        },
        _ => return None,
    })
}

/// Codes of `reduction`.
const MEAN: i64 = 1;

/// Returns the gradient of each element of a reduced loss.
fn per_element(r: &mut Rule, reduction: usize) -> Option<Expr> {
    let g = r.g()?;
    if r.int(reduction)? != MEAN {
        return Some(g);
    }
    let (a, b) = (r.operand(0), r.operand(1));
    let larger = if r.rank(1)? > r.rank(0)? { b } else { a };
    let rank = r.emit.tensor(&larger).rank()?;
    let count = r.emit.count(&larger, 0..rank);
    Some(g / count)
}

fn nll_loss(r: &mut Rule, name: &'static str) -> Option<()> {
    let (g, total) = (r.g()?, r.output(1));
    let ty = r.tensor(0);
    let operands = vec![g, r.x(0), r.x(1), r.x(2), r.x(3), r.x(4), total.into()];
    r.set_gradient(0, Expr::typed(name, operands, ty));
    Some(())
}

/// The operator is linear in the gradient, so its derivative is `nll_loss` of the incoming gradient.
fn nll_loss_backward(r: &mut Rule, name: &'static str) -> Option<()> {
    let g = r.g()?;
    let g = r.put(g);
    let (loss, total) = (r.tensor(0), TensorType { shape: Some(Vec::new()), ..r.tensor(1) });
    let operands = vec![g, r.operand(2), r.operand(3), r.operand(4), r.operand(5)];
    let results = r.emit.aten(name, operands, vec![Type::Tensor(loss), Type::Tensor(total)]);
    r.set_gradient(0, &results[0]);
    Some(())
}

/// Returns a loss that depends on the difference of two operands: their gradients have opposite signs.
fn difference_loss(r: &mut Rule, name: &'static str) -> Option<()> {
    if r.tensor(0).shape != r.tensor(1).shape {
        return None;
    }
    let operands = vec![r.g()?, r.x(0), r.x(1), r.x(2), r.x(3)];
    let gradient = r.put(Expr::call(name, operands, Typing::Like(1)));
    r.set_gradient(0, &gradient);
    if r.needs_gradient(1) {
        r.set_gradient(1, -Expr::from(gradient));
    }
    Some(())
}
