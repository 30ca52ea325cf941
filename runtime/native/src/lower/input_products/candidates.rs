//! Finds the products of a loop whose left operands, or parts of them, depend only on the index of the loop and on
//! values from outside of it.

use ag_graph::ir::{Function, Node, Op, Operand, Region, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower::known;

/// A left operand of a product, or a part of it that `torch.cat` joins with others.
pub(super) struct Part {
    pub(super) operand: Value,
    /// The index of the part's first column in the left operand.
    pub(super) start: usize,
    pub(super) columns: usize,
    /// Whether a slice computes it.
    pub(super) is_slice: bool,
}

/// A product that is computed for a group, completely or in part.
pub(super) struct Candidate {
    pub(super) output: Value,
    pub(super) added: Option<Operand>,
    pub(super) weight: Operand,
    pub(super) parts: Vec<Part>,
    pub(super) rows: usize,
    /// Whether only products use the joined parts, so that the parts need not be joined.
    pub(super) is_split: bool,
}

/// The dependence of a value of a loop's body.
#[derive(PartialEq, Clone, Copy)]
pub(super) enum Dependence {
    /// The index, and values from outside.
    Index,
    /// Values of earlier iterations, or a product with a slice.
    Iterations,
}

fn is_product(name: &str) -> bool {
    matches!(name, "mm.default" | "addmm.default")
}

fn aten(node: &Node) -> Option<&str> {
    if let Op::Operator(operator) = &node.op { operator.in_aten() } else { None }
}

/// Returns the dependences of the values of a loop's body. Values from outside are not in the map.
pub(super) fn dependences(body: &Region) -> FxHashMap<Value, Dependence> {
    let mut found: FxHashMap<Value, Dependence> = FxHashMap::default();
    for (place, param) in body.params.iter().enumerate() {
        found.insert(*param, if place == 0 { Dependence::Index } else { Dependence::Iterations });
    }
    for node in &body.nodes {
        let is_slice = matches!(node.op, Op::Operator(_) | Op::Scalar(_))
            && !node.op.has_effect()
            && !aten(node).is_some_and(is_product);
        let mut dependence = if is_slice { Dependence::Index } else { Dependence::Iterations };
        node.used(&mut |value| {
            if found.get(value) == Some(&Dependence::Iterations) {
                dependence = Dependence::Iterations;
            }
        });
        found.extend(node.outputs.iter().map(|output| (*output, dependence)));
    }
    found
}

/// Returns the product that a node computes, if a slice computes its left operand or a part of the left operand, and
/// the other operands are from outside.
pub(super) fn candidate(
    function: &Function,
    node: &Node,
    body: &Region,
    dependences: &FxHashMap<Value, Dependence>,
) -> Option<Candidate> {
    let (added, a, weight) = match (aten(node)?, &node.operands[..]) {
        ("mm.default", [a, b]) => (None, a, b),
        ("addmm.default", [added, a, b, Operand::Int(1), Operand::Int(1)]) => (Some(added.clone()), a, b),
        _ => return None,
    };
    let is_outside =
        |operand: &Operand| operand.value().is_some_and(|value| !dependences.contains_key(&value));
    (is_outside(weight) && added.as_ref().is_none_or(is_outside)).then_some(())?;
    let a = a.value()?;
    let output = node.outputs[0];
    let dtype_of = |value: Value| Some(known(function.ty(value).tensor()?)?.0);
    let (element, sizes) = known(function.ty(a).tensor()?)?;
    let others = [weight.value(), Some(output), added.as_ref().and_then(Operand::value)];
    others.into_iter().flatten().all(|value| dtype_of(value) == Some(element)).then_some(())?;
    let [rows, columns] = sizes[..] else { return None };
    let mut parts = vec![Part { operand: a, start: 0, columns, is_slice: true }];
    match dependences.get(&a)? {
        Dependence::Index => {}
        Dependence::Iterations => {
            let joined = body.nodes.iter().find(|node| node.outputs == [a])?;
            parts = joined_parts(function, joined, dependences)?;
            parts.iter().any(|part| part.is_slice).then_some(())?;
        }
    }
    let is_split = parts.len() > 1 && is_used_by_products_only(body, a);
    (rows > 0).then(|| Candidate { output, added, weight: weight.clone(), parts, rows, is_split })
}

/// Returns whether only products use this value, and it is not a result of the loop's body.
fn is_used_by_products_only(body: &Region, value: Value) -> bool {
    let mut found = false;
    let mut visit = |used: &Value| found |= *used == value;
    body.results.iter().for_each(|result| result.values(&mut visit));
    for node in body.nodes.iter().filter(|node| !aten(node).is_some_and(is_product)) {
        node.used_at_any_depth(&mut visit);
    }
    !found
}

/// Returns the operands of a `torch.cat` along the columns, as parts of its result.
fn joined_parts(
    function: &Function,
    node: &Node,
    dependences: &FxHashMap<Value, Dependence>,
) -> Option<Vec<Part>> {
    let ("cat.default", [Operand::List(items), Operand::Int(1 | -1)]) = (aten(node)?, &node.operands[..])
    else {
        return None;
    };
    let (element, _) = known(function.ty(node.outputs[0]).tensor()?)?;
    let mut start = 0;
    items
        .iter()
        .map(|item| {
            let operand = item.value()?;
            let (item, sizes) = known(function.ty(operand).tensor()?)?;
            let [_, columns] = sizes[..] else { return None };
            let is_slice = dependences.get(&operand) != Some(&Dependence::Iterations);
            start += columns;
            (item == element).then_some(Part { operand, start: start - columns, columns, is_slice })
        })
        .collect()
}

/// Returns the nodes that compute the slices of these products, in order.
pub(super) fn slices<'n>(body: &'n Region, candidates: &[Candidate]) -> Vec<&'n Node> {
    let parts = candidates.iter().flat_map(|candidate| &candidate.parts);
    let mut wanted: FxHashSet<Value> = parts.filter(|part| part.is_slice).map(|part| part.operand).collect();
    let mut found = Vec::new();
    for node in body.nodes.iter().rev() {
        if node.outputs.iter().any(|output| wanted.contains(output)) {
            node.used(&mut |value| _ = wanted.insert(*value));
            found.push(node);
        }
    }
    found.reverse();
    found
}

/// Returns the slices and the joined tensors that nothing else needs.
pub(super) fn unneeded(body: &Region, candidates: &[Candidate], slices: &[&Node]) -> Vec<Value> {
    let mut needed: FxHashSet<Value> = FxHashSet::default();
    body.results.iter().for_each(|result| result.values(&mut |value| _ = needed.insert(*value)));
    let mut found = Vec::new();
    for node in body.nodes.iter().rev() {
        if let Some(candidate) = candidates.iter().find(|candidate| node.outputs == [candidate.output]) {
            let others = candidate.parts.iter().filter(|part| !part.is_slice);
            needed.extend(others.map(|part| part.operand));
            continue;
        }
        let is_replaced =
            aten(node) == Some("cat.default") || slices.iter().any(|slice| std::ptr::eq(*slice, node));
        if is_replaced && !node.outputs.iter().any(|output| needed.contains(output)) {
            found.push(node.outputs[0]);
            continue;
        }
        node.used_at_any_depth(&mut |value| _ = needed.insert(*value));
    }
    found
}
