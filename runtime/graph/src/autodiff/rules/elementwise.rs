//! Elementwise operators: arithmetic, powers, exponentials, trigonometry, rounding, selection.

use std::f64::consts::{LN_2, LN_10, PI};

use super::rule::{Derivative, Rule};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::op::Scalar;
use crate::ir::operand::Operand;

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "add.Tensor" | "add.Scalar" => |r| added(r, false),
        "sub.Tensor" | "sub.Scalar" => |r| added(r, true),
        "rsub.Tensor" | "rsub.Scalar" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(0, -(g.clone() * r.x(2)))?;
            r.set_summed_gradient(1, g)
        },
        "mul.Tensor" | "mul.Scalar" => |r| r.binary([|g, _, b, _| g * b, |g, a, _, _| g * a]),
        "div.Tensor" | "div.Scalar" => |r| r.binary([|g, _, b, _| g / b, |g, _, b, y| -(g * y) / b]),
        "div.Tensor_mode" | "div.Scalar_mode" => |r| {
            if r.is_none(2) {
                return r.binary([|g, _, b, _| g / b, |g, _, b, y| -(g * y) / b]);
            }
            zero(r)
        },
        "addcmul.default" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(0, g.clone())?;
            r.set_summed_gradient(1, g.clone() * r.x(2) * r.x(3))?;
            r.set_summed_gradient(2, g * r.x(1) * r.x(3))
        },
        "addcdiv.default" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(0, g.clone())?;
            r.set_summed_gradient(1, g.clone() / r.x(2) * r.x(3))?;
            r.set_summed_gradient(2, -(g * r.x(1) * r.x(3)) / r.x(2).squared())
        },
        "lerp.Scalar" | "lerp.Tensor" => |r| {
            let g = r.g()?;
            let other = r.put(g.clone() * r.x(2));
            r.set_summed_gradient(0, g.clone() - &other)?;
            r.set_summed_gradient(1, &other)?;
            r.set_summed_gradient(2, g * (r.x(1) - r.x(0)))
        },
        "pow.Tensor_Scalar" => power,
        "pow.Tensor_Tensor" => |r| {
            r.binary([
                |g, a, b, _| (g * b.clone() * a.pow_tensor(b.clone() - 1)).where_false(b.eq_number(0)),
                |g, a, b, y| (g * y * a.clone().log()).where_false(a.eq_number(0).and(b.ge_number(0))),
            ])
        },
        "pow.Scalar" => |r| {
            let base = r.number(0)?;
            let g = r.g()?;
            r.set_summed_gradient(1, if base == 0.0 { g * 0.0 } else { g * r.y() * base.ln() })
        },
        "maximum.default" => |r| {
            r.binary([
                |g, a, b, _| half_where_equal(g, a.clone().eq_tensor(b.clone())).where_false(a.lt_tensor(b)),
                |g, a, b, _| half_where_equal(g, a.clone().eq_tensor(b.clone())).where_false(a.gt_tensor(b)),
            ])
        },
        "minimum.default" => |r| {
            r.binary([
                |g, a, b, _| half_where_equal(g, a.clone().eq_tensor(b.clone())).where_false(a.gt_tensor(b)),
                |g, a, b, _| half_where_equal(g, a.clone().eq_tensor(b.clone())).where_false(a.lt_tensor(b)),
            ])
        },
        "atan2.default" => |r| {
            r.binary([
                |g, a, b, _| g * b.clone() / (a.squared() + b.squared()),
                |g, a, b, _| -(g * a.clone()) / (a.squared() + b.squared()),
            ])
        },
        "fmod.Scalar" | "remainder.Scalar" => |r| r.unary(|g, _, _| g),
        "remainder.Tensor" => |r| r.binary([|g, _, _, _| g, |g, a, b, _| -(g * quotient(a, b, "floor"))]),
        "fmod.Tensor" => |r| r.binary([|g, _, _, _| g, |g, a, b, _| -(g * quotient(a, b, "trunc"))]),
        "where.self" | "where.ScalarSelf" | "where.ScalarOther" | "where.Scalar" => |r| {
            let g = r.g()?;
            r.set_summed_gradient(1, g.clone().where_true(r.x(0)))?;
            r.set_summed_gradient(2, g.where_false(r.x(0)))
        },
        "clamp.default" => |r| clamped(r, r.operand(1), r.operand(2), false),
        "clamp_min.default" => |r| clamped(r, r.operand(1), Operand::None, false),
        "clamp_max.default" => |r| clamped(r, Operand::None, r.operand(1), false),
        "hardtanh.default" => |r| clamped(r, r.operand(1), r.operand(2), true),
        "neg.default" => |r| r.unary(|g, _, _| -g),
        "abs.default" => |r| r.unary(|g, x, _| g * x.sgn()),
        "exp.default" => |r| r.unary(|g, _, y| g * y),
        "exp2.default" => |r| r.unary(|g, _, y| g * y * LN_2),
        "expm1.default" => |r| r.unary(|g, _, y| g * (y + 1)),
        "log.default" => |r| r.unary(|g, x, _| g / x),
        "log2.default" => |r| r.unary(|g, x, _| g / (x * LN_2)),
        "log10.default" => |r| r.unary(|g, x, _| g / (x * LN_10)),
        "log1p.default" => |r| r.unary(|g, x, _| g / (x + 1)),
        "sqrt.default" => |r| r.unary(|g, _, y| g / (y * 2)),
        "rsqrt.default" => |r| r.unary(|g, _, y| g * y.pow_number(3) * -0.5),
        "reciprocal.default" => |r| r.unary(|g, _, y| -(g * y.squared())),
        "square.default" => |r| r.unary(|g, x, _| g * x * 2),
        "sin.default" => |r| r.unary(|g, x, _| g * x.cos()),
        "cos.default" => |r| r.unary(|g, x, _| -(g * x.sin())),
        "tan.default" => |r| r.unary(|g, _, y| g * (y.squared() + 1)),
        "asin.default" => |r| r.unary(|g, x, _| g * x.squared().one_minus().rsqrt()),
        "acos.default" => |r| r.unary(|g, x, _| -(g * x.squared().one_minus().rsqrt())),
        "atan.default" => |r| r.unary(|g, x, _| g / (x.squared() + 1)),
        "sinh.default" => |r| r.unary(|g, x, _| g * x.cosh()),
        "cosh.default" => |r| r.unary(|g, x, _| g * x.sinh()),
        "tanh.default" => |r| r.unary(|g, _, y| g.tanh_backward(y)),
        "asinh.default" => |r| r.unary(|g, x, _| g * (x.squared() + 1).rsqrt()),
        "acosh.default" => |r| r.unary(|g, x, _| g * (x.squared() - 1).rsqrt()),
        "atanh.default" => |r| r.unary(|g, x, _| g / x.squared().one_minus()),
        "erf.default" => |r| r.unary(|g, x, _| g * (-x.squared()).exp() * (2.0 / PI.sqrt())),
        "erfc.default" => |r| r.unary(|g, x, _| g * (-x.squared()).exp() * (-2.0 / PI.sqrt())),
        "lgamma.default" => |r| r.unary(|g, x, _| g * x.digamma()),
        "sigmoid.default" => |r| r.unary(|g, _, y| g.sigmoid_backward(y)),
        "tanh_backward.default" => {
            |r| r.binary([|g, _, y, _| g.tanh_backward(y), |g, before, y, _| g * before * y * -2])
        }
        "sigmoid_backward.default" => |r| {
            r.binary([|g, _, y, _| g.sigmoid_backward(y), |g, before, y, _| g * before * (y * 2).one_minus()])
        },
        "frac.default" => |r| r.unary(|g, _, _| g),
        "floor.default" | "ceil.default" | "round.default" | "round.decimals" | "trunc.default"
        | "sign.default" | "sgn.default" | "heaviside.default" => zero,
        _ => return None,
    })
}

/// `a ± alpha * b`
fn added(r: &mut Rule, is_subtracted: bool) -> Option<()> {
    let g = r.g()?;
    r.set_summed_gradient(0, g.clone())?;
    if r.needs_gradient(1) {
        let scaled = g * r.x(2);
        r.set_summed_gradient(1, if is_subtracted { -scaled } else { scaled })?;
    }
    Some(())
}

fn power(r: &mut Rule) -> Option<()> {
    let g = r.g()?;
    let exponent = r.operand(1);
    let less = r.emit.scalar(Scalar::Sub, vec![exponent.clone(), 1.into()]);
    let gradient = match less {
        Operand::Int(-1) | Operand::Float(-1.0) => return zero(r),
        Operand::Int(0) | Operand::Float(0.0) => g,
        Operand::Int(1) | Operand::Float(1.0) => g * r.x(0) * 2,
        less => g * r.x(0).pow_number(less) * exponent,
    };
    r.set_gradient(0, gradient);
    Some(())
}

/// Returns the gradient, halved where two operands are equal: each operand gets half of it.
fn half_where_equal(g: Expr, are_equal: Expr) -> Expr {
    let half = g.clone() / 2;
    Expr::call("where.self", vec![are_equal, half, g], Typing::Pointwise)
}

fn quotient(a: Expr, b: Expr, rounding: &str) -> Expr {
    let mode = Operand::Str(rounding.into()).into();
    Expr::call("div.Tensor_mode", vec![a, b, mode], Typing::Pointwise)
}

/// Returns the derivative of clamping, where either bound may be missing. At the bounds, it is 0 for `hardtanh` and 1
/// for `clamp`.
fn clamped(r: &mut Rule, low: Operand, high: Operand, is_flat_there: bool) -> Option<()> {
    let g = r.g()?;
    let above = |x: Expr| if is_flat_there { x.gt_number(low.clone()) } else { x.ge_number(low.clone()) };
    let below = |x: Expr| if is_flat_there { x.lt_number(high.clone()) } else { x.le_number(high.clone()) };
    let gradient = match (low == Operand::None, high == Operand::None) {
        (false, false) => g.where_true(above(r.x(0)).and(below(r.x(0)))),
        (false, true) => g.where_true(above(r.x(0))),
        (true, false) => g.where_true(below(r.x(0))),
        (true, true) => g,
    };
    r.set_gradient(0, gradient);
    Some(())
}

/// Sets a gradient of zeros: the derivative is zero everywhere.
fn zero(r: &mut Rule) -> Option<()> {
    for index in 0..r.node.operands.len() {
        if r.needs_gradient(index) {
            let zeros = r.zeros(index);
            r.set_gradient(index, zeros);
        }
    }
    Some(())
}
