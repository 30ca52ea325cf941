//! Normalization layers and dropout.

use super::rule::{Derivative, Rule};
use crate::autodiff::expression::{Expr, Typing};
use crate::ir::operand::Operand;
use crate::ir::types::{MemoryFormat, Type};

pub(super) fn rule(name: &str) -> Option<Derivative> {
    Some(match name {
        "native_layer_norm.default" => |r| {
            r.no_gradient_from(1)?;
            let (x, shape, weight, bias) = (r.operand(0), r.operand(1), r.operand(2), r.operand(3));
            let operands = vec![x, shape, r.output(1), r.output(2), weight, bias];
            let g = r.g()?;
            kernel(r, "native_layer_norm_backward.default", g, operands, [0, 2, 3])
        },
        "native_group_norm.default" => |r| {
            r.no_gradient_from(1)?;
            let mut operands = vec![r.operand(0), r.output(1), r.output(2), r.operand(1)];
            operands.extend((3..7).map(|index| r.operand(index)));
            // The kernel requires contiguous operands.
            let format = Operand::MemoryFormat(MemoryFormat::Contiguous);
            let g = Expr::call("contiguous.default", vec![r.g()?, format.into()], Typing::Like(0));
            kernel(r, "native_group_norm_backward.default", g, operands, [0, 1, 2])
        },
        "native_batch_norm.default"
        | "_native_batch_norm_legit.default"
        | "_native_batch_norm_legit_functional.default" => |r| batch(r, Some(3)),
        "_native_batch_norm_legit.no_stats" => |r| batch(r, None),
        "native_dropout.default" => |r| {
            let g = r.g()?;
            let kept = 1.0 - r.number(1)?;
            let scale = if kept == 0.0 { 0.0 } else { 1.0 / kept };
            match r.truth(2).unwrap_or(true) {
                true => r.set_gradient(0, g * r.output(1) * scale),
                false => r.set_gradient(0, g),
            }
            Some(())
        },
        "native_dropout_backward.default" => |r| {
            let g = r.g()?;
            r.set_gradient(0, g * r.x(1) * r.x(2));
            Some(())
        },
        _ => return None,
    })
}

/// `statistics` is the index of the first running statistic, if there are any.
fn batch(r: &mut Rule, statistics: Option<usize>) -> Option<()> {
    r.no_gradient_from(1)?;
    let (means, training, eps) = match statistics {
        Some(first) => ([r.operand(first), r.operand(first + 1)], first + 2, first + 4),
        None => ([Operand::None, Operand::None], 3, 5),
    };
    let [mean, variance] = means;
    let (x, weight) = (r.operand(0), r.operand(1));
    let operands =
        vec![x, weight, mean, variance, r.output(1), r.output(2), r.operand(training), r.operand(eps)];
    let g = r.g()?;
    kernel(r, "native_batch_norm_backward.default", g, operands, [0, 1, 2])
}

/// `kernel(g, …, mask)` returns the gradients of three operands; the mask disables those that are not needed.
pub(super) fn kernel(
    r: &mut Rule,
    name: &str,
    g: Expr,
    operands: Vec<Operand>,
    places: [usize; 3],
) -> Option<()> {
    let g = r.put(g);
    let wanted = places.map(|place| r.needs_gradient(place));
    let types =
        places.map(|place| if r.needs_gradient(place) { r.emit.ty(&r.operand(place)) } else { Type::None });
    let mask = Operand::List(wanted.into_iter().map(Operand::Bool).collect());
    let operands = [vec![g], operands, vec![mask]].concat();
    let gradients = r.emit.aten(name, operands, types.to_vec());
    for (place, gradient) in places.into_iter().zip(gradients) {
        r.set_gradient(place, Expr::from(gradient));
    }
    Some(())
}
