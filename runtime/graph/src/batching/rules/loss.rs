//! Losses that compute an element from an element of the input and one of the target, and then their mean or sum.

use crate::batching::Batching;
use crate::batching::lane::Lane;
use crate::ir::graph::Node;
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{TensorType, Type};

/// Values of the argument `reduction` (`at::Reduction`).
const NONE: i64 = 0;
const MEAN: i64 = 1;
const SUM: i64 = 2;

/// Returns the index of the operand `reduction`.
pub(super) fn reduction_operand(name: &str) -> Option<usize> {
    Some(match name {
        "mse_loss.default" | "smooth_l1_loss.default" | "huber_loss.default" => 2,
        "binary_cross_entropy.default" => 3,
        "binary_cross_entropy_with_logits.default" => 4,
        _ => return None,
    })
}

impl Batching<'_> {
    pub(super) fn loss(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        let output = *node.outputs.first()?;
        let place = reduction_operand(name)?;
        let Lane::Same(Operand::Int(reduction)) = *lanes.get(place)? else { return None };
        // The shapes of all tensors must be the same, so that they need not be broadcast.
        let mut shape: Option<TensorType> = None;
        let mut operands = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            operands.push(match lane {
                _ if index == place => NONE.into(),
                Lane::Same(operand) if !matches!(self.ty(operand), Type::Tensor(_)) => operand.clone(),
                lane => {
                    let value = self.each(lane)?;
                    let ty = self.ty(&value.into()).tensor()?.clone();
                    (shape.get_or_insert_with(|| ty.clone()) == &ty).then_some(())?;
                    value.into()
                }
            });
        }
        let ty = shape?;
        let sizes = ty.sizes()?;
        let rank = sizes.len() - 1;
        let elements = self.tensor(name, operands, &ty, &sizes);
        if reduction == NONE || rank == 0 {
            return self.define_each(output, elements);
        }
        let reduced = match reduction {
            MEAN => "mean.dim",
            SUM => "sum.dim_IntList",
            _ => return None,
        };
        let dims = Operand::List((1..=rank as i64).map(Operand::Int).collect());
        let operands = vec![elements.into(), dims, false.into(), Operand::None];
        self.batched(&Node { op: Op::aten(reduced), ..node.clone() }, operands)
    }
}
