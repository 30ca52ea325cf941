//! Starts each collective as soon as its operands are known, so that it runs at the same time as nodes on which it does
//! not depend:
//!
//! ```python
//! loss.backward()                          # computes the gradients of the last layers first
//! ag.average_gradients(model.parameters())
//! ```
//!
//! A start moves before nodes that have no effect and cannot raise. Collectives keep their order, which must be the same
//! in all processes.

use std::collections::HashSet;

use super::dead_code_elimination::has_effect_or_raises;
use crate::ir::graph::{Function, Node, Region, Value};
use crate::ir::op::Op;

pub(super) fn run(function: &mut Function) {
    region(&mut function.body);
}

fn region(region: &mut Region) {
    for inner in region.nodes.iter_mut().flat_map(|node| &mut node.regions) {
        self::region(inner);
    }
    if region.nodes.iter().any(is_start) {
        region.nodes = started_early(std::mem::take(&mut region.nodes));
    }
}

fn is_start(node: &Node) -> bool {
    matches!(node.op, Op::Start(_))
}

fn started_early(nodes: Vec<Node>) -> Vec<Node> {
    let mut placed = Vec::with_capacity(nodes.len());
    // The nodes since the last one that has an effect or may raise.
    let mut movable = Vec::new();
    for node in nodes {
        if is_start(&node) {
            let (needed, other) = split(movable, &node);
            placed.extend(needed);
            placed.push(node);
            movable = other;
        } else if has_effect_or_raises(&node) {
            placed.append(&mut movable);
            placed.push(node);
        } else {
            movable.push(node);
        }
    }
    placed.append(&mut movable);
    placed
}

/// Splits nodes into those that compute operands of the start, and all other nodes. Both keep their order.
fn split(nodes: Vec<Node>, start: &Node) -> (Vec<Node>, Vec<Node>) {
    let mut used: HashSet<Value> = HashSet::new();
    start.used(&mut |value| _ = used.insert(*value));
    let (mut needed, mut other) = (Vec::new(), Vec::new());
    for node in nodes.into_iter().rev() {
        if node.outputs.iter().any(|output| used.contains(output)) {
            node.used_at_any_depth(&mut |value| _ = used.insert(*value));
            needed.push(node);
        } else {
            other.push(node);
        }
    }
    needed.reverse();
    other.reverse();
    (needed, other)
}
