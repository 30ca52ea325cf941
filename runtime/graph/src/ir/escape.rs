//! Escape analysis. The values that the caller can observe are the results and all values that may share memory with a
//! result. Passes must not merge two of them, because the caller may modify one in place.

use std::collections::HashSet;

use super::graph::{Function, Node, Value};
use super::op::Op;
use super::operand::Operand;

/// Returns the results of a function and everything that may share memory with them.
pub fn escaping(function: &Function) -> HashSet<Value> {
    sharing(function, &function.body.results)
}

/// Returns the given operands and everything that may share memory with them.
pub fn sharing(function: &Function, operands: &[Operand]) -> HashSet<Value> {
    let mut seen = HashSet::new();
    operands.iter().for_each(|operand| reach(operand, &mut seen));
    // A walk goes from results to operands. A loop-carried value may lead back to code that was already visited, so the
    // walk is repeated until nothing is added.
    let mut before = usize::MAX;
    while before != seen.len() {
        before = seen.len();
        nodes(&function.body.nodes, &mut seen);
    }
    seen
}

fn reach(operand: &Operand, seen: &mut HashSet<Value>) {
    operand.values(&mut |value| {
        seen.insert(*value);
    });
}

fn nodes(list: &[Node], seen: &mut HashSet<Value>) {
    list.iter().rev().for_each(|node| self::node(node, seen));
}

fn node(node: &Node, seen: &mut HashSet<Value>) {
    let (body, first, start) = match node.op {
        Op::For => (0, 1, 3),
        Op::While => (1, 0, 0),
        _ => (0, 0, 0),
    };
    match node.op {
        Op::If => {
            for region in &node.regions {
                hand_back(&node.outputs, &region.results, seen);
            }
        }
        Op::While | Op::For => {
            let carried = &node.regions[body].params[first..];
            hand_back(&node.outputs, &node.regions[body].results, seen);
            hand_back(&node.outputs, &node.operands[start..], seen);
            hand_back(carried, &node.regions[body].results, seen);
            hand_back(carried, &node.operands[start..], seen);
        }
        _ if shares(&node.op) && node.outputs.iter().any(|output| seen.contains(output)) => {
            node.operands.iter().for_each(|operand| reach(operand, seen));
        }
        _ => {}
    }
    node.regions.iter().for_each(|region| nodes(&region.nodes, seen));
}

fn hand_back(to: &[Value], from: &[Operand], seen: &mut HashSet<Value>) {
    for (to, from) in to.iter().zip(from) {
        if seen.contains(to) {
            reach(from, seen);
        }
    }
}

/// Returns whether the results may share memory with the operands.
fn shares(op: &Op) -> bool {
    let Op::Operator(operator) = op else {
        return !matches!(op, Op::Scalar(_) | Op::Item | Op::Size | Op::ListLen);
    };
    matches!(
        operator.name(),
        "alias"
            | "as_strided"
            | "chunk"
            | "contiguous"
            | "detach"
            | "diagonal"
            | "expand"
            | "flatten"
            | "lift_fresh"
            | "movedim"
            | "narrow"
            | "permute"
            | "real"
            | "reshape"
            | "select"
            | "slice"
            | "split"
            | "split_with_sizes"
            | "squeeze"
            | "t"
            | "to"
            | "_to_copy"
            | "transpose"
            | "unbind"
            | "unfold"
            | "unsqueeze"
            | "_unsafe_view"
            | "view"
            | "view_as_complex"
            | "view_as_real"
    )
}
