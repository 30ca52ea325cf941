//! What the way back needs of the way forward: it is computed again where that costs next to nothing, else kept.

use std::collections::{HashMap, HashSet};

use super::emit::Emit;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

/// The values of a forward region that its way back needs and that have to be kept, in the order of their
/// definitions. What is computed again instead stands at the beginning of the way back.
///
/// `index`: the parameter that the way back has anyway.
pub(super) fn needed(
    emit: &mut Emit,
    forward: &Region,
    index: Option<Value>,
    back: &mut Region,
) -> Vec<Value> {
    let mut used = HashSet::new();
    back.used(&mut |value| {
        used.insert(*value);
    });
    let mut at_hand: HashSet<Value> = index.into_iter().collect();
    let mut kept = Vec::new();
    for param in &forward.params {
        if used.contains(param) && at_hand.insert(*param) {
            kept.push(*param);
        }
    }
    let place: HashMap<Value, usize> = forward
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(place, node)| node.outputs.iter().map(move |output| (*output, place)))
        .collect();
    let own: HashSet<Value> = forward.params.iter().copied().collect();
    // What cannot be computed again is kept first: the rest may be computed from it.
    let mut wanted: Vec<(usize, Value)> = place
        .iter()
        .filter(|(value, _)| used.contains(value))
        .map(|(value, place)| (*place, *value))
        .collect();
    wanted.sort_unstable();
    let mut again: HashSet<usize> = HashSet::new();
    for cheap in [false, true] {
        for (at, value) in wanted.iter().filter(|(at, _)| is_cheap(&forward.nodes[*at]) == cheap) {
            let mut way = HashSet::new();
            if cheap && computed(forward, &place, &own, &at_hand, *at, &mut way) {
                again.extend(way);
            } else if at_hand.insert(*value) {
                kept.push(*value);
            }
        }
    }
    kept.sort_unstable_by_key(|value| place.get(value).map_or(0, |place| place + 1));

    let mut again: Vec<usize> = again.into_iter().collect();
    again.sort_unstable();
    let mut new: HashMap<Value, Value> = HashMap::new();
    let mut nodes = Vec::new();
    for at in again {
        let mut node = forward.nodes[at].clone();
        node.grad &= !emit.circumstances.no_grad;
        node.operands.iter_mut().for_each(|operand| operand.values_mut(&mut |value| renamed(value, &new)));
        for output in &mut node.outputs {
            let copy = emit.builder.value(emit.builder.ty(*output).clone(), None);
            new.insert(*output, copy);
            *output = copy;
        }
        nodes.push(node);
    }
    replace(back, &new);
    back.nodes.splice(0..0, nodes);
    kept
}

/// Whether a node can be computed on the way back; `way` are the nodes that this takes.
fn computed(
    forward: &Region,
    place: &HashMap<Value, usize>,
    own: &HashSet<Value>,
    at_hand: &HashSet<Value>,
    at: usize,
    way: &mut HashSet<usize>,
) -> bool {
    let node = &forward.nodes[at];
    if !is_cheap(node) {
        return false;
    }
    if !way.insert(at) {
        return true;
    }
    let mut all = true;
    node.used(&mut |value| {
        let is_there = at_hand.contains(value)
            || match place.get(value) {
                Some(before) => all && computed(forward, place, own, at_hand, *before, way),
                None => !own.contains(value),
            };
        all &= is_there;
    });
    all
}

/// Arithmetic on registers, and views.
fn is_cheap(node: &Node) -> bool {
    match &node.op {
        Op::Scalar(_) | Op::Size | Op::ListLen | Op::TupleGet(_) => true,
        Op::Operator(name) => matches!(
            &**name,
            "aten.alias.default"
                | "aten.detach.default"
                | "aten.expand.default"
                | "aten.permute.default"
                | "aten.select.int"
                | "aten.slice.Tensor"
                | "aten.squeeze.default"
                | "aten.squeeze.dim"
                | "aten.squeeze.dims"
                | "aten.t.default"
                | "aten.transpose.int"
                | "aten.unsqueeze.default"
                | "aten.view.default"
        ),
        _ => false,
    }
}

/// Every use of some values becomes one of others.
pub(super) fn replace(region: &mut Region, by: &HashMap<Value, Value>) {
    if !by.is_empty() {
        region.used_mut(&mut |value| renamed(value, by));
    }
}

fn renamed(value: &mut Value, by: &HashMap<Value, Value>) {
    if let Some(found) = by.get(value) {
        *value = *found;
    }
}

/// A node that the way back makes necessary beside or within another one.
pub(super) fn node(op: Op, operands: Vec<Operand>, outputs: Vec<Value>, beside: &Node) -> Node {
    Node { op, operands, outputs, regions: Vec::new(), span: beside.span, grad: true }
}
