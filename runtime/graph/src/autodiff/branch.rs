//! Differentiates `if`: the backward pass takes the same branch. Values that the backward pass needs become
//! additional results of the branch.

use std::collections::HashMap;

use super::Error;
use super::activity::is_differentiable;
use super::adjoint::{self, Adjoints};
use super::reverse::Reverse;
use super::saved;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::Type;

impl Reverse<'_> {
    /// Adds the derivative of an `if`: an `if` with the same condition, whose branches compute the gradients.
    pub(super) fn differentiate_if(&mut self, node: &mut Node, adjoints: &mut Adjoints) -> Result<(), Error> {
        let attrs = self.emit.attrs.clone();
        let outside = self.used_from_outside(&node.regions);
        let before: Vec<Option<Operand>> =
            outside.iter().map(|value| adjoints.get(&mut self.emit, *value)).collect();
        let gradients_of_results: Vec<Option<Operand>> =
            node.outputs.iter().map(|output| adjoints.get(&mut self.emit, *output)).collect();

        let mut backward_branches = Vec::new();
        for region in &mut node.regions {
            self.emit.builder.open(Vec::new());
            let mut inside = Adjoints::default();
            for (value, gradient) in outside.iter().zip(&before) {
                if let Some(gradient) = gradient {
                    inside.set(*value, gradient.clone());
                }
            }
            for (result, gradient) in region.results.iter().zip(&gradients_of_results) {
                if let Some(gradient) = gradient {
                    self.add_to_result(&mut inside, result, gradient.clone());
                }
            }
            self.nodes(&mut region.nodes, &mut inside)?;
            let after: Vec<Option<Operand>> =
                outside.iter().map(|value| inside.get(&mut self.emit, *value)).collect();
            backward_branches.push((self.emit.builder.open.pop().unwrap_or_default(), after));
        }

        // Gradients that neither branch adds to are not passed through the `if`.
        let changed: Vec<usize> = (0..outside.len())
            .filter(|index| backward_branches.iter().any(|(_, after)| after[*index] != before[*index]))
            .collect();
        let mut backward = Vec::new();
        for (region, after) in backward_branches {
            self.emit.builder.open.push(region);
            let results = changed
                .iter()
                .map(|index| match &after[*index] {
                    Some(gradient) => gradient.clone(),
                    None => adjoint::zero(&mut self.emit, outside[*index]),
                })
                .collect();
            backward.extend(self.emit.builder.close(results));
        }
        self.emit.attrs = attrs.clone();
        self.save_values(node, &mut backward);
        let types =
            changed.iter().map(|index| adjoint::type_of(self.emit.builder.ty(outside[*index]))).collect();
        let condition = node.operands.clone();
        let gradients = self.emit.builder.emit(Op::If, condition, types, backward, &attrs);
        for (index, gradient) in changed.into_iter().zip(gradients) {
            adjoints.set(outside[index], gradient.into());
        }
        Ok(())
    }

    /// Adds the values that the backward pass needs to the results of the `if`. Two values of the same type, one from
    /// each branch, share a result.
    fn save_values(&mut self, node: &mut Node, backward: &mut [Region]) {
        let mut saved_values: Vec<(Type, [Option<Value>; 2])> = Vec::new();
        let mut found = [HashMap::new(), HashMap::new()];
        for (side, (forward, backward)) in node.regions.iter().zip(backward.iter_mut()).enumerate().take(2) {
            for value in saved::needed(&mut self.emit, forward, None, backward) {
                // The branch already returns this value.
                if let Some(place) = forward.results.iter().position(|result| result.value() == Some(value)) {
                    found[side].insert(value, node.outputs[place]);
                    continue;
                }
                let ty = self.emit.builder.ty(value).clone();
                match saved_values.iter_mut().find(|(other, values)| *other == ty && values[side].is_none()) {
                    Some((_, values)) => values[side] = Some(value),
                    None => {
                        let mut values = [None, None];
                        values[side] = Some(value);
                        saved_values.push((ty, values));
                    }
                }
            }
        }
        let plain = Node { regions: Vec::new(), ..node.clone() };
        for (ty, values) in saved_values {
            let is_shared = values.iter().all(Option::is_some);
            // A second derivative needs a value in each branch, but only one branch defines it. So the result is a list,
            // which is empty in the other branch.
            let in_list = !is_shared && !self.emit.attrs.no_grad && is_differentiable(&ty);
            let output =
                self.emit.builder.value(if in_list { Type::list(ty.clone()) } else { ty.clone() }, None);
            node.outputs.push(output);
            for (side, value) in values.into_iter().enumerate() {
                let item = value.map(Operand::Value);
                let forward = &mut node.regions[side];
                let result = match item {
                    _ if in_list => {
                        let list = self.emit.builder.value(Type::list(ty.clone()), None);
                        let items = item.into_iter().collect();
                        forward.nodes.push(saved::node(Op::ListNew, items, vec![list], &plain));
                        list.into()
                    }
                    Some(item) => item,
                    None => absent(&ty),
                };
                forward.results.push(result);
                let Some(value) = value else { continue };
                let mut item = output;
                if in_list {
                    item = self.emit.builder.value(ty.clone(), None);
                    let operands = vec![output.into(), 0.into()];
                    backward[side].nodes.insert(0, saved::node(Op::ListGet, operands, vec![item], &plain));
                }
                found[side].insert(value, item);
            }
        }
        for (backward, found) in backward.iter_mut().zip(&found) {
            saved::replace(backward, found);
        }
    }
}

/// Returns the placeholder for a value that this branch does not define.
fn absent(ty: &Type) -> Operand {
    match ty {
        Type::Int => Operand::Int(0),
        Type::Float => Operand::Float(0.0),
        Type::Bool => Operand::Bool(false),
        _ => Operand::None,
    }
}
