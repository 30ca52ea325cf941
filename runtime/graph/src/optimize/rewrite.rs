//! A forward walk over all nodes that replaces nodes by operands.

use std::collections::HashMap;

use crate::ir::graph::{Function, Node, Region, Value, ValueInfo};
use crate::ir::operand::Operand;
use crate::ir::types::Type;

/// The result of rewriting a node.
pub(super) enum Rewritten {
    Keep(Node),
    /// Replaced by one operand for each result.
    Replace(Vec<Operand>, Node),
    /// Replaced by other nodes and one operand for each result.
    Inline(Vec<Node>, Vec<Operand>),
}

pub(super) trait Rewrite {
    /// Rewrites a node. Its operands are already rewritten, but its regions are not. Nodes that replace it may define new
    /// values, which are appended to `values`.
    fn node(&mut self, node: Node, values: &mut Vec<ValueInfo>) -> Rewritten;

    /// Called before the nodes of a region, and [`Self::leave`] after them.
    fn enter(&mut self) {}
    fn leave(&mut self) {}
}

pub(super) fn rewrite(function: &mut Function, pass: &mut dyn Rewrite) {
    let mut walk = Walk { values: &mut function.values, known: HashMap::new(), pass };
    walk.region(&mut function.body);
}

struct Walk<'a> {
    values: &'a mut Vec<ValueInfo>,
    known: HashMap<Value, Operand>,
    pass: &'a mut dyn Rewrite,
}

impl Walk<'_> {
    fn region(&mut self, region: &mut Region) {
        self.pass.enter();
        let nodes = std::mem::take(&mut region.nodes);
        self.nodes(nodes, &mut region.nodes);
        region.results.iter_mut().for_each(|result| substitute(result, &self.known));
        self.pass.leave();
    }

    /// Rewrites the nodes of a region in order.
    fn nodes(&mut self, nodes: Vec<Node>, rewritten: &mut Vec<Node>) {
        for mut node in nodes {
            node.operands.iter_mut().for_each(|operand| substitute(operand, &self.known));
            let outputs = node.outputs.clone();
            match self.pass.node(node, self.values) {
                Rewritten::Replace(operands, _) if self.fits(&outputs, &operands) => {
                    self.known.extend(outputs.into_iter().zip(operands));
                }
                Rewritten::Keep(mut node) | Rewritten::Replace(_, mut node) => {
                    node.regions.iter_mut().for_each(|region| self.region(region));
                    rewritten.push(node);
                }
                Rewritten::Inline(inner, mut results) => {
                    self.nodes(inner, rewritten);
                    results.iter_mut().for_each(|result| substitute(result, &self.known));
                    self.known.extend(outputs.into_iter().zip(results));
                }
            }
        }
    }

    /// Returns whether each value is replaced by one of the same type.
    fn fits(&self, outputs: &[Value], operands: &[Operand]) -> bool {
        let declared = |value: &Value| self.values.get(value.index()).map(|info| &info.ty);
        outputs.iter().zip(operands).all(|(output, operand)| match operand {
            Operand::Value(value) => declared(output) == declared(value),
            Operand::Int(_) => declared(output) == Some(&Type::Int),
            Operand::Float(_) => declared(output) == Some(&Type::Float),
            Operand::Bool(_) => declared(output) == Some(&Type::Bool),
            _ => false,
        })
    }
}

fn substitute(operand: &mut Operand, known: &HashMap<Value, Operand>) {
    match operand {
        Operand::Value(value) => {
            if let Some(found) = known.get(value) {
                *operand = found.clone();
            }
        }
        Operand::List(items) => items.iter_mut().for_each(|item| substitute(item, known)),
        _ => {}
    }
}
