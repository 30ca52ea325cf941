//! What is computed twice is computed once: the same operation with the same operands, where the first one is visible.

use std::collections::{HashMap, HashSet};

use super::rewrite::{Outcome, Rewrite, rewrite};
use crate::ir::escape::escaping;
use crate::ir::graph::{Function, Node, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

pub(super) fn run(function: &mut Function) {
    let escaping = escaping(function);
    rewrite(function, &mut Common { regions: Vec::new(), escaping });
}

/// The results of nodes by what was computed.
type Seen = HashMap<(Op, Vec<Key>), Vec<Value>>;

/// What can be seen, region by region.
struct Common {
    regions: Vec<Seen>,
    escaping: HashSet<Value>,
}

impl Rewrite for Common {
    fn node(&mut self, node: Node, _: &[ValueInfo]) -> Outcome {
        if !is_shared(&node) || node.outputs.iter().any(|output| self.escaping.contains(output)) {
            return Outcome::Stays(node);
        }
        let key = (node.op.clone(), node.operands.iter().map(Key::of).collect());
        match self.regions.iter().rev().find_map(|region| region.get(&key)) {
            Some(values) => {
                let operands = values.iter().copied().map(Operand::Value).collect();
                Outcome::Becomes(operands, node)
            }
            None => {
                if let Some(region) = self.regions.last_mut() {
                    region.insert(key, node.outputs.clone());
                }
                Outcome::Stays(node)
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

/// Lists are changed in place by who alone has them: each has its own.
fn is_shared(node: &Node) -> bool {
    match node.op {
        Op::Operator(_) => !node.op.has_effect(),
        Op::Scalar(_) | Op::Item | Op::Size | Op::ListLen | Op::ListGet | Op::TupleGet(_) => true,
        _ => false,
    }
}

/// An operand as it is compared: floats by their bits.
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
