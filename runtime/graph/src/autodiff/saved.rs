//! Chooses which forward values the backward pass saves, and recomputes the cheap ones (rematerialization).

use std::collections::{HashMap, HashSet};

use super::emit::Emit;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

/// Returns the values of a forward region that the backward region needs and that must be saved, in definition order.
/// Values that are recomputed instead are emitted at the start of the backward region.
///
/// `index` is the index of a `for`. It is not saved, because the backward region computes it.
pub(super) fn needed(
    emit: &mut Emit,
    forward: &Region,
    index: Option<Value>,
    backward: &mut Region,
) -> Vec<Value> {
    let mut used = HashSet::new();
    backward.used(&mut |value| {
        used.insert(*value);
    });
    let mut available: HashSet<Value> = index.into_iter().collect();
    let mut saved = Vec::new();
    for param in &forward.params {
        if used.contains(param) && available.insert(*param) {
            saved.push(*param);
        }
    }
    let position: HashMap<Value, usize> = forward
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(position, node)| node.outputs.iter().map(move |output| (*output, position)))
        .collect();
    let own: HashSet<Value> = forward.params.iter().copied().collect();
    // Values that cannot be recomputed are saved first, because other values may be recomputed from them.
    let mut wanted: Vec<(usize, Value)> = position
        .iter()
        .filter(|(value, _)| used.contains(value))
        .map(|(value, position)| (*position, *value))
        .collect();
    wanted.sort_unstable();
    let mut recomputed: HashSet<usize> = HashSet::new();
    for cheap in [false, true] {
        for (at, value) in wanted.iter().filter(|(at, _)| is_cheap(&forward.nodes[*at]) == cheap) {
            let mut path = HashSet::new();
            if cheap && can_recompute(forward, &position, &own, &available, *at, &mut path) {
                recomputed.extend(path);
            } else if available.insert(*value) {
                saved.push(*value);
            }
        }
    }
    saved.sort_unstable_by_key(|value| position.get(value).map_or(0, |position| position + 1));

    let mut recomputed: Vec<usize> = recomputed.into_iter().collect();
    recomputed.sort_unstable();
    let mut new: HashMap<Value, Value> = HashMap::new();
    let mut nodes = Vec::new();
    for at in recomputed {
        let mut node = forward.nodes[at].clone();
        node.grad &= !emit.attrs.no_grad;
        node.operands.iter_mut().for_each(|operand| operand.values_mut(&mut |value| renamed(value, &new)));
        for output in &mut node.outputs {
            let copy = emit.builder.value(emit.builder.ty(*output).clone(), None);
            new.insert(*output, copy);
            *output = copy;
        }
        nodes.push(node);
    }
    replace(backward, &new);
    backward.nodes.splice(0..0, nodes);
    saved
}

/// Returns whether a node can be recomputed. `path` collects the nodes that must be recomputed for this.
fn can_recompute(
    forward: &Region,
    position: &HashMap<Value, usize>,
    own: &HashSet<Value>,
    available: &HashSet<Value>,
    at: usize,
    path: &mut HashSet<usize>,
) -> bool {
    let node = &forward.nodes[at];
    if !is_cheap(node) {
        return false;
    }
    if !path.insert(at) {
        return true;
    }
    let mut all = true;
    node.used(&mut |value| {
        let is_there = available.contains(value)
            || match position.get(value) {
                Some(before) => all && can_recompute(forward, position, own, available, *before, path),
                None => !own.contains(value),
            };
        all &= is_there;
    });
    all
}

/// Returns whether a node is cheap to recompute: scalar arithmetic, sizes, lengths, items of tuples, and views. A reshape
/// that copies costs as much as saving its result.
fn is_cheap(node: &Node) -> bool {
    match &node.op {
        Op::Scalar(_) | Op::Size | Op::ListLen | Op::TupleGet(_) => true,
        Op::Operator(operator) => matches!(
            operator.text(),
            "aten.alias.default"
                | "aten.detach.default"
                | "aten.expand.default"
                | "aten.permute.default"
                | "aten.reshape.default"
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

/// Replaces uses of values.
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

/// Returns a new node that takes its span from another one.
pub(super) fn node(op: Op, operands: Vec<Operand>, outputs: Vec<Value>, like: &Node) -> Node {
    Node { op, operands, outputs, regions: Vec::new(), span: like.span, grad: true }
}
