//! Partitions a graph that computes its own gradient into a forward and a backward graph.

use std::collections::HashSet;

use crate::ir::escape::sharing;
use crate::ir::graph::{Function, Graph, Node, Origin, Outcome, Region, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

/// The forward graph returns its results followed by the saved values. The backward graph takes the saved
/// values followed by the seeds.
#[derive(Debug)]
pub struct Partition {
    pub forward: Graph,
    pub backward: Graph,
    /// Indices of forward parameters that the saved values may share memory with.
    pub shared_params: Vec<usize>,
}

/// Partitions a graph. Its first `results` results belong to the forward graph, and the others are gradients. Its last
/// `seeds` parameters are the seeds of the gradients. `None` if the counts do not fit, or if items of a returned list
/// are saved, because the caller could modify them before the backward graph runs.
pub fn partition(graph: &Graph, results: usize, seeds: usize) -> Option<Partition> {
    let entry = graph.entry()?;
    let (inputs, seeds) = entry.params().split_at_checked(entry.params().len().checked_sub(seeds)?)?;
    let (results, gradients) = entry.body.results.split_at_checked(results)?;
    let nodes = &entry.body.nodes;

    let mut depends_on_seed: HashSet<Value> = seeds.iter().copied().collect();
    for node in nodes {
        if used(node).iter().any(|value| depends_on_seed.contains(value)) {
            depends_on_seed.extend(&node.outputs);
        }
    }
    let is_backward = |node: &Node| used(node).iter().any(|value| depends_on_seed.contains(value));
    let in_forward = needed(nodes, results, |node| node.has_effect() && !is_backward(node));
    let in_backward = needed(nodes, gradients, |node| node.has_effect() && is_backward(node));
    let (mut forward_nodes, mut backward_nodes) = (Vec::new(), Vec::new());
    for (index, node) in nodes.iter().enumerate() {
        if in_forward[index] {
            forward_nodes.push(node.clone());
        } else if in_backward[index] {
            backward_nodes.push(node.clone());
        }
    }

    let mut available: HashSet<Value> = inputs.iter().copied().collect();
    available.extend(forward_nodes.iter().flat_map(|node| &node.outputs));
    let mut saved = Vec::new();
    let mut save = |value: Value| {
        if available.remove(&value) {
            saved.push(value);
        }
    };
    backward_nodes.iter().flat_map(used).for_each(&mut save);
    gradients.iter().for_each(|gradient| gradient.values(&mut |value| save(*value)));

    let saved_operands: Vec<Operand> = saved.iter().copied().map(Operand::Value).collect();
    let shared = sharing(entry, &saved_operands);
    let shared_params = (0..inputs.len()).filter(|index| shared.contains(&inputs[*index])).collect();

    let mut forward = Function { body: Region::default(), ..entry.clone() };
    forward.body.params = inputs.to_vec();
    forward.body.nodes = forward_nodes;
    let mut outcomes = graph.outcomes.get(..results.len())?.to_vec();
    for (result, outcome) in results.iter().zip(&outcomes) {
        let is_shared = *outcome == Outcome::Return && {
            let shared = sharing(entry, std::slice::from_ref(result));
            saved.iter().any(|saved| shared.contains(saved))
        };
        let result = if is_shared { copied(&mut forward, result)? } else { result.clone() };
        forward.body.results.push(result);
    }
    forward.body.results.extend(saved_operands);
    outcomes.extend(saved.iter().map(|_| Outcome::Return));
    forward.results = forward.body.results.iter().map(|result| forward.type_of(result)).collect();

    let mut backward = Function { name: format!("{}_backward", entry.name).into(), ..entry.clone() };
    backward.body.params = saved.iter().chain(seeds).copied().collect();
    backward.body.nodes = backward_nodes;
    backward.body.results = gradients.to_vec();
    backward.results = gradients.iter().map(|gradient| entry.type_of(gradient)).collect();

    let others = || graph.functions.iter().skip(1).cloned();
    let (of_inputs, of_seeds) = graph.origins.split_at_checked(inputs.len())?;
    let of_saved = (0..saved.len()).map(|number| Origin::Argument(format!("saved{number}").into()));
    Some(Partition {
        forward: Graph {
            functions: std::iter::once(forward).chain(others()).collect(),
            origins: of_inputs.to_vec(),
            outcomes,
            files: graph.files.clone(),
        },
        backward: Graph {
            functions: std::iter::once(backward).chain(others()).collect(),
            origins: of_saved.chain(of_seeds.iter().cloned()).collect(),
            outcomes: vec![Outcome::Return; gradients.len()],
            files: graph.files.clone(),
        },
        shared_params,
    })
}

/// Returns for each node whether it is needed: because `stays` is true for it, or because a result or another needed
/// node depends on it.
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
    node.used_at_any_depth(&mut |value| values.push(*value));
    values
}

/// Returns a copy of a tensor that does not share memory with saved values. Scalars need no copy.
fn copied(into: &mut Function, result: &Operand) -> Option<Operand> {
    let ty = into.type_of(result);
    if ty.is_scalar() {
        return Some(result.clone());
    }
    ty.tensor()?;
    let copy = Value(u32::try_from(into.values.len()).ok()?);
    into.values.push(ValueInfo { ty, name: None });
    into.body.nodes.push(Node {
        op: Op::aten("clone.default"),
        operands: vec![result.clone(), Operand::None],
        outputs: vec![copy],
        regions: Vec::new(),
        span: None,
        grad: true,
    });
    Some(copy.into())
}
