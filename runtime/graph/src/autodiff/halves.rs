//! A graph that ends in its own gradient, as two: the way forward, which leaves what the way back needs.

use std::collections::HashSet;

use crate::ir::escape::sharing;
use crate::ir::graph::{Function, Graph, Node, Origin, Outcome, Region, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

/// The results of the first are those of the way forward, then what is saved; the parameters of the second are what
/// is saved, then the seeds.
#[derive(Debug)]
pub struct Halves {
    pub forward: Graph,
    pub back: Graph,
    /// The parameters of the first that what is saved may share its memory with, by number.
    pub kept: Vec<usize>,
}

/// The first `results` of the graph's results belong to the way forward, the others are gradients; its last `seeds`
/// parameters are what the gradients begin with. `None` if there are not so many, and where a list that is returned has
/// elements that are saved: the program outside may change them before the way back.
pub fn halves(graph: &Graph, results: usize, seeds: usize) -> Option<Halves> {
    let entry = graph.entry()?;
    let (inputs, seeds) = entry.params().split_at_checked(entry.params().len().checked_sub(seeds)?)?;
    let (results, gradients) = entry.body.results.split_at_checked(results)?;
    let nodes = &entry.body.nodes;

    let mut late: HashSet<Value> = seeds.iter().copied().collect();
    for node in nodes {
        if used(node).iter().any(|value| late.contains(value)) {
            late.extend(&node.outputs);
        }
    }
    let is_late = |node: &Node| used(node).iter().any(|value| late.contains(value));
    let first = needed(nodes, results, |node| node.has_effect() && !is_late(node));
    let second = needed(nodes, gradients, |node| node.has_effect() && is_late(node));
    let (mut forward, mut back) = (Vec::new(), Vec::new());
    for (index, node) in nodes.iter().enumerate() {
        if first[index] {
            forward.push(node.clone());
        } else if second[index] {
            back.push(node.clone());
        }
    }

    let mut there: HashSet<Value> = inputs.iter().copied().collect();
    there.extend(forward.iter().flat_map(|node| &node.outputs));
    let mut saved = Vec::new();
    let mut save = |value: Value| {
        if there.remove(&value) {
            saved.push(value);
        }
    };
    back.iter().flat_map(used).for_each(&mut save);
    gradients.iter().for_each(|gradient| gradient.values(&mut |value| save(*value)));

    let saved_operands: Vec<Operand> = saved.iter().copied().map(Operand::Value).collect();
    let shared = sharing(entry, &saved_operands);
    let kept = (0..inputs.len()).filter(|index| shared.contains(&inputs[*index])).collect();

    let mut first = Function { body: Region::default(), ..entry.clone() };
    first.body.params = inputs.to_vec();
    first.body.nodes = forward;
    let mut outcomes = graph.outcomes.get(..results.len())?.to_vec();
    for (result, outcome) in results.iter().zip(&outcomes) {
        let is_shared = *outcome == Outcome::Return && {
            let shared = sharing(entry, std::slice::from_ref(result));
            saved.iter().any(|saved| shared.contains(saved))
        };
        let result = if is_shared { copied(&mut first, result)? } else { result.clone() };
        first.body.results.push(result);
    }
    first.body.results.extend(saved_operands);
    outcomes.extend(saved.iter().map(|_| Outcome::Return));
    first.results = first.body.results.iter().map(|result| first.type_of(result)).collect();

    let mut second = Function { name: format!("{}_backward", entry.name).into(), ..entry.clone() };
    second.body.params = saved.iter().chain(seeds).copied().collect();
    second.body.nodes = back;
    second.body.results = gradients.to_vec();
    second.results = gradients.iter().map(|gradient| entry.type_of(gradient)).collect();

    let others = || graph.functions.iter().skip(1).cloned();
    let (of_inputs, of_seeds) = graph.origins.split_at_checked(inputs.len())?;
    let of_saved = (0..saved.len()).map(|number| Origin::Argument(format!("saved{number}").into()));
    Some(Halves {
        forward: Graph {
            functions: std::iter::once(first).chain(others()).collect(),
            origins: of_inputs.to_vec(),
            outcomes,
            files: graph.files.clone(),
        },
        back: Graph {
            functions: std::iter::once(second).chain(others()).collect(),
            origins: of_saved.chain(of_seeds.iter().cloned()).collect(),
            outcomes: vec![Outcome::Return; gradients.len()],
            files: graph.files.clone(),
        },
        kept,
    })
}

/// The nodes that these results need, and those that stay whatever is needed.
fn needed(nodes: &[Node], results: &[Operand], stays: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut values: HashSet<Value> = HashSet::new();
    results.iter().for_each(|result| {
        result.values(&mut |value| {
            values.insert(*value);
        });
    });
    let mut needed = vec![false; nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        if stays(node) || node.outputs.iter().any(|output| values.contains(output)) {
            needed[index] = true;
            values.extend(used(node));
        }
    }
    needed
}

fn used(node: &Node) -> Vec<Value> {
    let mut values = Vec::new();
    node.used(&mut |value| values.push(*value));
    node.regions.iter().for_each(|region| region.used(&mut |value| values.push(*value)));
    values
}

/// A copy of a tensor, which does not lie in the memory of what is saved. A number needs none.
fn copied(into: &mut Function, result: &Operand) -> Option<Operand> {
    let ty = into.type_of(result);
    if ty.is_scalar() {
        return Some(result.clone());
    }
    ty.tensor()?;
    let copy = Value(u32::try_from(into.values.len()).ok()?);
    into.values.push(ValueInfo { ty, name: None });
    into.body.nodes.push(Node {
        op: Op::Operator("aten.clone.default".into()),
        operands: vec![result.clone(), Operand::None],
        outputs: vec![copy],
        regions: Vec::new(),
        span: None,
        grad: true,
    });
    Some(copy.into())
}
