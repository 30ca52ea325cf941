//! Through `if`: on the way back the same branch is taken. What a branch computed and its way back needs is yielded
//! by it in addition.

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
    pub(super) fn branch(&mut self, node: &mut Node, adjoints: &mut Adjoints) -> Result<(), Error> {
        let circumstances = self.emit.circumstances.clone();
        let outside = self.used_from_outside(&node.regions);
        let before: Vec<Option<Operand>> =
            outside.iter().map(|value| adjoints.get(&mut self.emit, *value)).collect();
        let arrived: Vec<Option<Operand>> =
            node.outputs.iter().map(|output| adjoints.get(&mut self.emit, *output)).collect();

        let mut ways = Vec::new();
        for region in &mut node.regions {
            self.emit.builder.open(Vec::new());
            let mut inside = Adjoints::default();
            for (value, gradient) in outside.iter().zip(&before) {
                if let Some(gradient) = gradient {
                    inside.set(*value, gradient.clone());
                }
            }
            for (result, gradient) in region.results.iter().zip(&arrived) {
                if let Some(gradient) = gradient {
                    self.yielded(&mut inside, result, gradient.clone());
                }
            }
            self.nodes(&mut region.nodes, &mut inside)?;
            let after: Vec<Option<Operand>> =
                outside.iter().map(|value| inside.get(&mut self.emit, *value)).collect();
            ways.push((self.emit.builder.open.pop().unwrap_or_default(), after));
        }

        // What neither branch has added to stays as it was.
        let changed: Vec<usize> = (0..outside.len())
            .filter(|index| ways.iter().any(|(_, after)| after[*index] != before[*index]))
            .collect();
        let mut back = Vec::new();
        for (region, after) in ways {
            self.emit.builder.open.push(region);
            let results = changed
                .iter()
                .map(|index| match &after[*index] {
                    Some(gradient) => gradient.clone(),
                    None => adjoint::zero(&mut self.emit, outside[*index]),
                })
                .collect();
            back.extend(self.emit.builder.close(results));
        }
        self.emit.circumstances = circumstances.clone();
        self.keep(node, &mut back);
        let types =
            changed.iter().map(|index| adjoint::type_of(self.emit.builder.ty(outside[*index]))).collect();
        let condition = node.operands.clone();
        let gradients = self.emit.builder.emit(Op::If, condition, types, back, &circumstances);
        for (index, gradient) in changed.into_iter().zip(gradients) {
            adjoints.set(outside[index], gradient.into());
        }
        Ok(())
    }

    /// What the way back through each branch needs of that branch becomes a result of the `if`. Values of both
    /// branches that have the same type share one.
    fn keep(&mut self, node: &mut Node, back: &mut [Region]) {
        let mut kept: Vec<(Type, [Option<Value>; 2])> = Vec::new();
        let mut found = [HashMap::new(), HashMap::new()];
        for (side, (forward, back)) in node.regions.iter().zip(back.iter_mut()).enumerate().take(2) {
            for value in saved::needed(&mut self.emit, forward, None, back) {
                // What the branch yields anyway is there.
                if let Some(place) = forward.results.iter().position(|result| result.value() == Some(value)) {
                    found[side].insert(value, node.outputs[place]);
                    continue;
                }
                let ty = self.emit.builder.ty(value).clone();
                match kept.iter_mut().find(|(other, values)| *other == ty && values[side].is_none()) {
                    Some((_, values)) => values[side] = Some(value),
                    None => {
                        let mut values = [None, None];
                        values[side] = Some(value);
                        kept.push((ty, values));
                    }
                }
            }
        }
        let beside = Node { regions: Vec::new(), ..node.clone() };
        for (ty, values) in kept {
            let is_shared = values.iter().all(Option::is_some);
            // Gradients of gradients need a value in every branch: a list that is empty in the other one.
            let in_list = !is_shared && !self.emit.circumstances.no_grad && is_differentiable(&ty);
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
                        forward.nodes.push(saved::node(Op::ListNew, items, vec![list], &beside));
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
                    back[side].nodes.insert(0, saved::node(Op::ListGet, operands, vec![item], &beside));
                }
                found[side].insert(value, item);
            }
        }
        for (back, found) in back.iter_mut().zip(&found) {
            saved::replace(back, found);
        }
    }
}

/// In place of a value that this branch does not have.
fn absent(ty: &Type) -> Operand {
    match ty {
        Type::Int => Operand::Int(0),
        Type::Float => Operand::Float(0.0),
        Type::Bool => Operand::Bool(false),
        _ => Operand::None,
    }
}
