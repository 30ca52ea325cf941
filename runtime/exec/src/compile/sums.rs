//! Compiles sums of products that are deferred. A tensor becomes a sum where it is passed to a function or a loop, and
//! a sum becomes a tensor where the outermost call or loop returns it.

use ag_graph::ir::{FunctionId, Node, Operand, Value};
use ag_graph::liveness::NodeLife;

use super::{Compiled, Compiler};
use crate::plan::{ObjectReg, Register, Source, Step, TensorReg};

impl Compiler<'_> {
    /// Returns whether the register of a value holds a sum.
    pub(super) fn is_sum(&self, value: Value) -> bool {
        self.own.values.contains(&value)
    }

    /// Compiles a node that takes part in a sum: a deferred product, or its addition. Otherwise returns `false`.
    ///
    /// The product is added where it would be computed. The addition emits no step.
    pub(super) fn sum(&mut self, node: &Node, life: &NodeLife) -> Compiled<bool> {
        let [output] = node.outputs[..] else { return Ok(false) };
        if self.own.added.contains(&output) {
            // The step of the product has moved the sum before the addition out of its register.
            self.release(&life.operands, true);
            return Ok(true);
        }
        let Some((before, after)) = self.own.products.get(&output).copied() else { return Ok(false) };
        let tensor = |operand: Option<&Operand>| match operand.and_then(Operand::value) {
            Some(value) => match self.register_of(value)? {
                Register::Tensor(reg) => Ok(reg),
                _ => Err("expected a tensor operand".to_owned()),
            },
            None => Err("expected a tensor operand".to_owned()),
        };
        let (a, b) = (tensor(node.operands.first())?, tensor(node.operands.get(1))?);
        let Register::Object(sum) = self.register_of(before)? else {
            return Err("expected a sum of products".into());
        };
        let Register::Object(out) = self.define(after) else {
            return Err("expected a sum of products".into());
        };
        self.plan.deferred += 1;
        self.step_releasing(Step::AddProduct { out, sum, a, b }, &life.operands);
        Ok(true)
    }

    /// Makes sums of the tensors that a call passes as sums. Returns their registers with the indices of the operands.
    pub(super) fn sums_of_operands(
        &mut self,
        operands: &[Operand],
        dies: &[Value],
        is_sum: impl Fn(&Self, usize) -> bool,
    ) -> Compiled<Vec<(usize, ObjectReg)>> {
        let mut sums = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            let Some(value) = operand.value() else { continue };
            if !is_sum(self, index) || self.is_sum(value) {
                continue;
            }
            let Register::Tensor(reg) = self.register_of(value)? else {
                return Err("expected a tensor operand".into());
            };
            let others = operands.iter().filter(|other| other.value() == Some(value)).count();
            let is_taken = dies.contains(&value) && others == 1;
            let total = self.source_entry(Source::Tensor(reg, is_taken));
            let out = self.registers.unused_object();
            self.step(Step::NewSum { out, total });
            sums.push((index, out));
        }
        Ok(sums)
    }

    /// Computes the sums that a call or a loop has returned.
    pub(super) fn finish_sums(&mut self, sums: Vec<(TensorReg, ObjectReg)>) {
        for (out, sum) in sums {
            self.step(Step::FinishSum { out, sum });
        }
    }

    /// Compiles a call. Sums are passed and returned in registers of objects.
    pub(super) fn call(&mut self, function: FunctionId, node: &Node, dies: &[Value]) -> Compiled {
        let sums = self.sums;
        let new =
            self.sums_of_operands(&node.operands, dies, |_, index| sums.result(function, index).is_some())?;
        let mut sources = self.sources(&node.operands, dies)?;
        for (index, sum) in new {
            sources[index] = Source::Object(sum, true);
        }
        let arguments = crate::plan::Slice::add(&mut self.plan.tables.sources, sources);
        let mut finished = Vec::new();
        let mut registers = Vec::new();
        for (index, output) in node.outputs.iter().enumerate() {
            let register = self.define(*output);
            registers.push(match register {
                Register::Tensor(out) if sums.is_result(function, index) => {
                    let sum = self.registers.unused_object();
                    finished.push((out, sum));
                    Register::Object(sum)
                }
                register => register,
            });
        }
        let outputs = crate::plan::Slice::add(&mut self.plan.tables.registers, registers);
        self.step(Step::Call { function: function.0, arguments, outputs });
        self.finish_sums(finished);
        Ok(())
    }
}
