//! What every round of a loop computes again is computed once before the loop: it has no effect, raises nothing, and
//! has nothing of the round in its operands.

use std::collections::HashSet;

use crate::ir::escape::escaping;
use crate::ir::graph::{Function, Node, Region, Value};
use crate::ir::op::Op;

pub(super) fn run(function: &mut Function) {
    let escaping = escaping(function);
    nodes(&mut function.body.nodes, &escaping);
}

/// Inner loops first: what leaves them may leave the outer one too.
fn nodes(list: &mut Vec<Node>, escaping: &HashSet<Value>) {
    let mut moved = Vec::with_capacity(list.len());
    for mut node in list.drain(..) {
        node.regions.iter_mut().for_each(|region| nodes(&mut region.nodes, escaping));
        if matches!(node.op, Op::While | Op::For) {
            node.regions.iter_mut().for_each(|region| leave(region, escaping, &mut moved));
        }
        moved.push(node);
    }
    *list = moved;
}

fn leave(region: &mut Region, escaping: &HashSet<Value>, before: &mut Vec<Node>) {
    let mut inside: HashSet<Value> = region.params.iter().copied().collect();
    let mut stay = Vec::with_capacity(region.nodes.len());
    for node in region.nodes.drain(..) {
        let mut varies = !can_leave(&node) || node.outputs.iter().any(|output| escaping.contains(output));
        node.used(&mut |value| varies |= inside.contains(value));
        for region in &node.regions {
            region.used(&mut |value| varies |= inside.contains(value));
        }
        if varies {
            inside.extend(node.outputs.iter().copied());
            stay.push(node);
        } else {
            before.push(node);
        }
    }
    region.nodes = stay;
}

/// A loop may have no rounds, so that nothing leaves it which can raise. Lists stay with who changes them.
fn can_leave(node: &Node) -> bool {
    match node.op {
        Op::Operator(_) | Op::Scalar(_) | Op::Size | Op::TupleGet(_) | Op::ListLen => {
            !node.op.has_effect() && !super::dead::can_raise(node)
        }
        _ => false,
    }
}
