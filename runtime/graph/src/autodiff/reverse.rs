//! The backward walk: propagates gradients from the results of each node to its operands.

use super::activity::{Activity, stops_gradient};
use super::adjoint::Adjoints;
use super::emit::Emit;
use super::expression::{Expr, Typing};
use super::{Error, Formulas, Functions, formula, list, rules};
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;

pub(super) struct Reverse<'a> {
    pub(super) emit: Emit<'a>,
    pub(super) activity: Activity,
    pub(super) functions: &'a mut Functions,
    pub(super) formulas: &'a mut dyn Formulas,
}

/// Returns the seed, detached unless `create_graph` is set. Without `create_graph`, the gradient must not depend on the
/// seed. The seeds of a backward function need not be detached, because no gradient flows through its call.
pub(super) fn detached(emit: &mut Emit<'_>, seed: Operand) -> Operand {
    let is_tensor = emit.builder.type_of(&seed).tensor().is_some();
    if emit.attrs.no_grad && is_tensor {
        emit.put(Expr::call("detach.default", vec![seed.into()], Typing::Like(0)))
    } else {
        seed
    }
}

pub(super) fn gradient(
    emit: Emit<'_>,
    forward: &mut [Vec<Node>],
    outputs: &[Value],
    seeds: &[Option<Operand>],
    inputs: &[Value],
    functions: &mut Functions,
    formulas: &mut dyn Formulas,
) -> Result<Vec<Option<Operand>>, Error> {
    // Nodes before the first input cannot depend on it.
    let first = first_definition(forward, inputs);
    let mut untouched = Vec::new();
    if let Some((region, node)) = first {
        untouched = forward[..region].iter_mut().map(std::mem::take).collect();
        let mut rest = forward[region].split_off(node);
        std::mem::swap(&mut rest, &mut forward[region]);
        untouched.push(rest);
    }
    let activity = Activity::new(&emit.builder.values, forward, inputs, outputs);
    let mut reverse = Reverse { emit, activity, functions, formulas };
    let gradients = reverse.gradients(forward, outputs, seeds, inputs);
    for (nodes, mut before) in forward.iter_mut().zip(untouched) {
        before.append(nodes);
        *nodes = before;
    }
    gradients
}

/// Returns the region and the node that define the first of these values; `None` if one of them is a parameter.
fn first_definition(forward: &[Vec<Node>], values: &[Value]) -> Option<(usize, usize)> {
    let mut missing = values.to_vec();
    for (region, nodes) in forward.iter().enumerate().rev() {
        for (index, node) in nodes.iter().enumerate().rev() {
            missing.retain(|value| !node.outputs.contains(value));
            if missing.is_empty() {
                return Some((region, index));
            }
        }
    }
    None
}

impl Reverse<'_> {
    /// Differentiates the nodes of the outermost region in reverse order.
    fn gradients(
        &mut self,
        forward: &mut [Vec<Node>],
        outputs: &[Value],
        seeds: &[Option<Operand>],
        inputs: &[Value],
    ) -> Result<Vec<Option<Operand>>, Error> {
        let mut adjoints = Adjoints::default();
        for (index, output) in outputs.iter().enumerate() {
            let seed = match seeds.get(index) {
                Some(Some(seed)) => seed.clone(),
                _ => self.default_seed((*output).into())?,
            };
            if self.activity.is_active(*output) {
                adjoints.add(&mut self.emit, *output, seed);
            }
        }
        for nodes in forward.iter_mut().rev() {
            self.nodes(nodes, &mut adjoints)?;
        }
        Ok(inputs.iter().map(|input| adjoints.get(&mut self.emit, *input)).collect())
    }

    /// Returns the default seed of an output.
    fn default_seed(&mut self, output: Operand) -> Result<Operand, Error> {
        const MESSAGE: &str = "grad can be implicitly created only for scalar outputs";
        let ty = self.emit.tensor(&output);
        match ty.sizes() {
            Some(sizes) if sizes.iter().all(|size| *size == 1) => {}
            Some(_) => return Err(self.error(MESSAGE)),
            None => {
                let Some(rank) = ty.rank() else { return Err(self.error(MESSAGE)) };
                let count = self.emit.count(&output, 0..rank);
                let is_one = self.emit.scalar(Scalar::Eq, vec![count, 1.into()]);
                let raise = Op::Raise("RuntimeError".into());
                let at = self.emit.attrs.clone();
                self.emit.builder.open(Vec::new());
                self.emit.builder.emit(raise, vec![MESSAGE.into()], Vec::new(), Vec::new(), &at);
                let otherwise = self.emit.builder.close(Vec::new()).unwrap_or_default();
                let regions = vec![Region::default(), otherwise];
                self.emit.builder.emit(Op::If, vec![is_one], Vec::new(), regions, &at);
            }
        }
        Ok(self.emit.filled_like("ones", &output))
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error { message: message.into(), span: self.emit.attrs.span }
    }

    pub(super) fn nodes(&mut self, nodes: &mut Vec<Node>, adjoints: &mut Adjoints) -> Result<(), Error> {
        let mut index = nodes.len();
        while index > 0 {
            index -= 1;
            let node = &mut nodes[index];
            if stops_gradient(node) || !node.outputs.iter().any(|output| adjoints.has(*output)) {
                continue;
            }
            self.emit.attrs.span = node.span.or(self.emit.attrs.span);
            match node.op {
                Op::If => self.differentiate_if(node, adjoints)?,
                Op::Call(function) => self.differentiate_call(node, function, adjoints)?,
                Op::While | Op::For => {
                    let before = self.differentiate_loop(node, adjoints)?;
                    nodes.splice(index..index, before);
                }
                _ if node.operands.iter().any(|operand| self.activity.any(operand)) => {
                    self.simple(node, adjoints)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Differentiates a node without regions.
    fn simple(&mut self, node: &Node, adjoints: &mut Adjoints) -> Result<(), Error> {
        let Op::Operator(operator) = &node.op else {
            return match &node.op {
                Op::Python(_) | Op::Start(_) => Err(self.error("no derivative: a call back into Python")),
                Op::Overwritten => {
                    if let Some(gradient) = adjoints.get(&mut self.emit, node.outputs[0]) {
                        self.add_to_result(adjoints, &node.operands[0], gradient);
                    }
                    Ok(())
                }
                _ => {
                    list::derivative(&mut self.emit, &self.activity, node, adjoints);
                    Ok(())
                }
            };
        };
        let gradients = match rules::apply(&mut self.emit, &self.activity, node, adjoints) {
            Some(gradients) => gradients,
            None => {
                let gradients_of_results =
                    node.outputs.iter().map(|output| adjoints.get(&mut self.emit, *output)).collect();
                formula::apply(&mut self.emit, self.formulas, operator, node, gradients_of_results)
                    .map_err(|message| self.error(message))?
            }
        };
        for (value, gradient) in gradients {
            if self.activity.is_active(value) {
                adjoints.add(&mut self.emit, value, gradient);
            }
        }
        Ok(())
    }

    /// Propagates the gradient of a region's result to the value that the region returns.
    pub(super) fn add_to_result(&mut self, adjoints: &mut Adjoints, result: &Operand, gradient: Operand) {
        if let Operand::Value(value) = result
            && self.activity.is_active(*value)
        {
            adjoints.add(&mut self.emit, *value, gradient);
        }
    }

    /// Returns the active values from outside that these regions use.
    pub(super) fn used_from_outside(&self, regions: &[Region]) -> Vec<Value> {
        let mut outside = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for region in regions {
            region.used(&mut |value| {
                if self.activity.is_active(*value) && seen.insert(*value) {
                    outside.push(*value);
                }
            });
        }
        for region in regions {
            defined(region, &mut |value| {
                seen.remove(&value);
            });
        }
        outside.retain(|value| seen.contains(value));
        outside
    }
}

/// Visits every value defined in a region, at any depth.
fn defined(region: &Region, visit: &mut dyn FnMut(Value)) {
    region.params.iter().for_each(|param| visit(*param));
    for node in &region.nodes {
        node.outputs.iter().for_each(|output| visit(*output));
        node.regions.iter().for_each(|region| defined(region, visit));
    }
}
