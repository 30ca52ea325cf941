//! Loop-invariant code motion: moves nodes before the loop if they have no effect, cannot raise, and do not
//! depend on the iteration.

use std::collections::HashSet;

use crate::ir::escape::escaping;
use crate::ir::graph::{Function, Node, Region, Value};
use crate::ir::op::Op;

pub(super) fn run(function: &mut Function) {
    let escaping = escaping(function);
    nodes(&mut function.body.nodes, &escaping);
}

/// Moves nodes out of inner loops first: a node that leaves an inner loop may also leave the outer one.
fn nodes(list: &mut Vec<Node>, escaping: &HashSet<Value>) {
    let mut hoisted = Vec::with_capacity(list.len());
    for mut node in list.drain(..) {
        node.regions.iter_mut().for_each(|region| nodes(&mut region.nodes, escaping));
        if matches!(node.op, Op::While | Op::For) {
            node.regions.iter_mut().for_each(|region| hoist(region, escaping, &mut hoisted));
        }
        hoisted.push(node);
    }
    *list = hoisted;
}

fn hoist(region: &mut Region, escaping: &HashSet<Value>, before: &mut Vec<Node>) {
    let mut inside: HashSet<Value> = region.params.iter().copied().collect();
    let mut stay = Vec::with_capacity(region.nodes.len());
    for node in region.nodes.drain(..) {
        let mut varies = !can_hoist(&node) || node.outputs.iter().any(|output| escaping.contains(output));
        node.used_at_any_depth(&mut |value| varies |= inside.contains(value));
        if varies {
            inside.extend(node.outputs.iter().copied());
            stay.push(node);
        } else {
            before.push(node);
        }
    }
    region.nodes = stay;
}

/// Returns whether a node may be hoisted. A loop may run zero iterations, so a node that can raise must stay. Lists
/// must stay with the code that modifies them.
fn can_hoist(node: &Node) -> bool {
    match node.op {
        Op::Operator(_) | Op::Scalar(_) | Op::Size | Op::TupleGet(_) | Op::ListLen => {
            !node.op.has_effect() && !super::dead_code_elimination::can_raise(node)
        }
        _ => false,
    }
}
