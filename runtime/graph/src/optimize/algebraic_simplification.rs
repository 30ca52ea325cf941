//! Algebraic simplification: removes operators that return their operand unchanged. Values are immutable, so
//! a copy can be replaced by its source.

use std::collections::HashSet;

use super::rewrite::{Rewrite, Rewritten, rewrite};
use crate::ir::escape::escaping;
use crate::ir::graph::{Function, Node, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::TensorType;

pub(super) fn run(function: &mut Function) {
    let escaping = escaping(function);
    rewrite(function, &mut AlgebraicSimplification { escaping });
}

struct AlgebraicSimplification {
    /// The values that the caller can observe: a returned tensor must stay distinct from the argument of which it is a
    /// view.
    escaping: HashSet<Value>,
}

impl Rewrite for AlgebraicSimplification {
    fn node(&mut self, node: Node, values: &mut Vec<ValueInfo>) -> Rewritten {
        let escapes = node.outputs.iter().any(|output| self.escaping.contains(output));
        match unchanged_operand(&node, values).filter(|_| !escapes) {
            Some(operand) => Rewritten::Replace(vec![operand], node),
            None => Rewritten::Keep(node),
        }
    }
}

/// Returns the operand that equals the result.
fn unchanged_operand(node: &Node, values: &[ValueInfo]) -> Option<Operand> {
    if node.op == Op::Overwritten {
        return node.operands.get(1).cloned();
    }
    let Op::Operator(operator) = &node.op else { return None };
    let (Some(Operand::Value(operand_value)), [result]) = (node.operands.first(), &node.outputs[..]) else {
        return None;
    };
    let tensor = |value: usize| -> Option<&TensorType> { values.get(value)?.ty.tensor() };
    let (operand_type, result_type) = (tensor(operand_value.index())?, tensor(result.index())?);
    let has_shape = operand_type == result_type && operand_type.sizes().is_some();
    let second = node.operands.get(1);
    let is_same = match operator.text() {
        "aten.detach.default" | "aten.alias.default" | "aten.lift_fresh.default" => {
            operand_type == result_type
        }
        "aten.expand.default"
        | "aten.view.default"
        | "aten.reshape.default"
        | "aten._unsafe_view.default"
        | "aten.sum_to_size.default" => has_shape,
        "aten.mul.Tensor" | "aten.mul.Scalar" | "aten.div.Tensor" | "aten.div.Scalar" => {
            operand_type == result_type && second.is_some_and(|other| is_number(other, 1.0))
        }
        // `add` is not among them, because -0.0 + 0 is 0.0.
        "aten.sub.Tensor" | "aten.sub.Scalar" => {
            operand_type == result_type && second.is_some_and(|other| is_number(other, 0.0))
        }
        _ => false,
    };
    is_same.then(|| (*operand_value).into())
}

fn is_number(operand: &Operand, number: f64) -> bool {
    match operand {
        Operand::Int(value) => *value as f64 == number,
        Operand::Float(value) => value.to_bits() == number.to_bits(),
        _ => false,
    }
}
