//! Compiles `a + b` and `index_add` to steps that write into an operand, if the node is the last use of that operand.

use ag_graph::ir::{Node, Operand};

use super::{Compiled, Compiler};
use crate::in_place;
use crate::plan::{Register, Step, TensorReg};
use ag_graph::liveness::NodeLife;

impl Compiler<'_> {
    /// Emits an in-place step for the node and returns `true`. Returns `false` if that is not possible.
    pub(super) fn in_place(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled<bool> {
        let dies = |operand: &Operand| operand.value().is_some_and(|value| life.operands.contains(&value));
        let tensor = |operand: &Operand| match self.assigned[operand.value()?.index()] {
            Some(Register::Tensor(reg)) => Some(reg),
            _ => None,
        };
        let [output] = node.outputs[..] else { return Ok(false) };
        if self.function.ty(output).tensor().is_none() {
            return Ok(false);
        }
        let step: Box<dyn Fn(TensorReg) -> Step> = match (name, &node.operands[..]) {
            ("aten.add.Tensor", [left, right, Operand::Int(1)]) => match (tensor(left), tensor(right)) {
                (Some(a), Some(b)) if a != b && dies(left) => {
                    Box::new(move |out| Step::AddInPlace { f: in_place::add, out, a, b })
                }
                (Some(b), Some(a)) if a != b && dies(right) => {
                    Box::new(move |out| Step::AddInPlace { f: in_place::add_to, out, a, b })
                }
                _ => return Ok(false),
            },
            ("aten.index_add.default", [table, dimension, index, rows, Operand::Int(1)]) if dies(table) => {
                match (tensor(table), tensor(index), tensor(rows), self.input(dimension)) {
                    (Some(a), Some(index), Some(b), Ok(dimension)) if a != b && a != index => {
                        Box::new(move |out| Step::IndexAddInPlace { out, a, dimension, index, b })
                    }
                    _ => return Ok(false),
                }
            }
            _ => return Ok(false),
        };
        let Register::Tensor(out) = self.define(output) else { return Ok(false) };
        self.step_releasing(step(out), &life.operands);
        Ok(true)
    }
}
