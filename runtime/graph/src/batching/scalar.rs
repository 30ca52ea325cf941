//! Numbers that are computed from the index of the loop and constants.

use super::Batching;
use super::lane::Lane;
use crate::ir::graph::Node;
use crate::ir::op::Scalar;
use crate::ir::operand::Operand;

impl Batching<'_> {
    /// `2 * index + 1`
    pub(super) fn scalar(&mut self, scalar: Scalar, node: &Node, lanes: &[Lane]) -> Option<()> {
        let constant =
            |lane: &Lane| if let Lane::Same(Operand::Int(value)) = lane { Some(*value) } else { None };
        let (start, step, constant, is_first) = match lanes {
            [Lane::Index { start, step }, other] => (*start, *step, constant(other)?, true),
            [other, Lane::Index { start, step }] => (*start, *step, constant(other)?, false),
            _ => return None,
        };
        let (start, step) = match scalar {
            Scalar::Add => (start.checked_add(constant)?, step),
            Scalar::Sub if is_first => (start.checked_sub(constant)?, step),
            Scalar::Mul => (start.checked_mul(constant)?, step.checked_mul(constant)?),
            _ => return None,
        };
        self.lanes.insert(*node.outputs.first()?, Lane::Index { start, step });
        Some(())
    }
}
