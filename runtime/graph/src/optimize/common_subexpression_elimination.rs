//! Common subexpression elimination: a node is replaced by an earlier visible node with the same operation and
//! operands.

use std::collections::{HashMap, HashSet};

use super::rewrite::{Rewrite, Rewritten, rewrite};
use crate::ir::escape::escaping;
use crate::ir::graph::{Function, Node, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

pub(super) fn run(function: &mut Function) {
    let escaping = escaping(function);
    rewrite(function, &mut CommonSubexpressionElimination { regions: Vec::new(), escaping });
}

/// Results of nodes by operation and operands.
type Seen = HashMap<(Op, Vec<Key>), Vec<Value>>;

/// Visible nodes, one map per enclosing region.
struct CommonSubexpressionElimination {
    regions: Vec<Seen>,
    escaping: HashSet<Value>,
}

impl Rewrite for CommonSubexpressionElimination {
    fn node(&mut self, node: Node, _: &mut Vec<ValueInfo>) -> Rewritten {
        if !is_shared(&node) || node.outputs.iter().any(|output| self.escaping.contains(output)) {
            return Rewritten::Keep(node);
        }
        let key = (node.op.clone(), node.operands.iter().map(Key::of).collect());
        match self.regions.iter().rev().find_map(|region| region.get(&key)) {
            Some(values) => {
                let operands = values.iter().copied().map(Operand::Value).collect();
                Rewritten::Replace(operands, node)
            }
            None => {
                if let Some(region) = self.regions.last_mut() {
                    region.insert(key, node.outputs.clone());
                }
                Rewritten::Keep(node)
            }
        }
    }

    fn enter(&mut self) {
        self.regions.push(HashMap::new());
    }

    fn leave(&mut self) {
        self.regions.pop();
    }
}

/// Returns whether equal nodes may be merged. Lists may not: a list with a single owner is modified in place.
fn is_shared(node: &Node) -> bool {
    match node.op {
        Op::Operator(_) => !node.op.has_effect(),
        Op::Scalar(_) | Op::Item | Op::Size | Op::ListLen | Op::ListGet | Op::TupleGet(_) => true,
        _ => false,
    }
}

/// A hashable operand. Floats compare by their bits.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Float(u64),
    List(Vec<Key>),
    Value(Value),
    Literal(String),
}

impl Key {
    fn of(operand: &Operand) -> Self {
        match operand {
            Operand::Value(value) => Self::Value(*value),
            Operand::Float(number) => Self::Float(number.to_bits()),
            Operand::List(items) => Self::List(items.iter().map(Self::of).collect()),
            literal => Self::Literal(format!("{literal:?}")),
        }
    }
}
