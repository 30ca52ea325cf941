//! Activation functions, most of which torch differentiates with one kernel.

use super::rule::{Derivative, Rule, none};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::operand::Operand;

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "relu.default" => |r| r.unary(|g, _, y| g.threshold_backward(y, 0)),
        "threshold_backward.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, g.threshold_backward(r.x(1), r.operand(2)));
            Some(())
        },
        "threshold.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, g.threshold_backward(r.x(0), r.operand(1)));
            Some(())
        },
        "leaky_relu.default" => |r| kernel(r, "leaky_relu_backward.default", &[1], vec![false.into()]),
        "hardsigmoid.default" => |r| kernel(r, "hardsigmoid_backward.default", &[], vec![]),
        "hardswish.default" => |r| kernel(r, "hardswish_backward.default", &[], vec![]),
        "mish.default" => |r| kernel(r, "mish_backward.default", &[], vec![]),
        "gelu.default" => |r| kernel(r, "gelu_backward.default", &[1], vec![]),
        "silu.default" => |r| kernel(r, "silu_backward.default", &[], vec![]),
        "softplus.default" => |r| kernel(r, "softplus_backward.default", &[1, 2], vec![]),
        "softplus_backward.default" => softplus_backward,
        "log_sigmoid_forward.default" => |r| {
            r.no_gradient_from(1)?;
            let buffer = r.output(1);
            kernel(r, "log_sigmoid_backward.default", &[], vec![buffer])
        },
        "elu.default" => |r| {
            let g = r.g()?;
            let operands = vec![g, r.x(1), r.x(2), r.x(3), false.into(), r.x(0)];
            r.set_gradient(0, Expr::call("elu_backward.default", operands, Typing::Like(0)));
            Some(())
        },
        "_softmax.default" => |r| softmax(r, "_softmax_backward_data.default"),
        "_log_softmax.default" => |r| softmax(r, "_log_softmax_backward_data.default"),
        // y (g - sum(g y))
        "_softmax_backward_data.default" => |r| {
            let incoming = r.g()?;
            let (g, y) = (r.x(0), r.x(1));
            r.set_gradient(
                0,
                r.shaped(
                    0,
                    "_softmax_backward_data.default",
                    incoming.clone(),
                    vec![y.clone(), r.x(2), r.x(3)],
                ),
            );
            if r.needs_gradient(1) {
                let weighted = summed(r, g.clone() * y.clone())?;
                let other = summed(r, incoming.clone() * y)?;
                r.set_gradient(1, incoming * (g.clone() - weighted) - g * other);
            }
            Some(())
        },
        // g - exp(y) sum(g)
        "_log_softmax_backward_data.default" => |r| {
            let incoming = r.g()?;
            let y = r.put(r.x(1).exp());
            if r.needs_gradient(0) {
                let weighted = summed(r, incoming.clone() * &y)?;
                r.set_gradient(0, incoming.clone() - weighted);
            }
            if r.needs_gradient(1) {
                let sum = summed(r, r.x(0))?;
                r.set_gradient(1, -(incoming * &y * sum));
            }
            Some(())
        },
        _ => return None,
    })
}

/// `kernel(g, x, …)` with some of the forward operands, followed by other operands.
fn kernel(r: &mut Rule, name: &'static str, operands: &[usize], others: Vec<Operand>) -> Option<()> {
    let mut given = vec![r.g()?, r.x(0)];
    given.extend(operands.iter().map(|index| r.x(*index)));
    given.extend(others.into_iter().map(Expr::from));
    r.set_gradient(0, Expr::call(name, given, Typing::Like(0)));
    Some(())
}

fn softmax(r: &mut Rule, name: &'static str) -> Option<()> {
    let g = r.g()?;
    let dtype = Operand::DType(r.tensor(0).dtype);
    let ty = r.tensor(0);
    r.set_gradient(0, Expr::typed(name, vec![g, r.y(), r.x(1), dtype.into()], ty));
    Some(())
}

/// Returns the sum over the dimension that the third operand gives. The dimension is kept, with size one.
fn summed(r: &mut Rule, tensor: Expr) -> Option<Operand> {
    let dim = r.int(2)?;
    let tensor = r.put(tensor);
    let mut ty = r.emit.tensor(&tensor);
    if let Some(shape) = &mut ty.shape
        && let Some(dim) = super::rule::dimension(dim, shape.len())
        && dim < shape.len()
    {
        shape[dim] = crate::ir::types::Dim::Known(1);
    }
    let dims = Operand::List(vec![dim.into()]);
    Some(r.put(Expr::typed("sum.dim_IntList", vec![tensor.into(), dims.into(), true.into(), none()], ty)))
}

/// `g * sigmoid(beta x)`; `g` above the threshold.
fn softplus_backward(r: &mut Rule) -> Option<()> {
    let incoming = r.g()?;
    let operands = vec![incoming.clone(), r.x(1), r.x(2), r.x(3)];
    r.set_gradient(0, Expr::call("softplus_backward.default", operands, Typing::Like(0)));
    if r.needs_gradient(1) {
        let scaled = r.put(r.x(1) * r.x(2));
        let s = r.put(Expr::from(&scaled).sigmoid());
        let slope = Expr::from(&s) * Expr::from(&s).one_minus() * r.x(2);
        r.set_gradient(
            1,
            (incoming * r.x(0) * slope).where_false(Expr::from(&scaled).gt_number(r.operand(3))),
        );
    }
    Some(())
}
