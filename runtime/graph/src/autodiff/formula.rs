//! Differentiates operators without a rule: inlines torch's derivative, which is captured as a function.

use std::collections::HashMap;

use super::Formulas;
use super::emit::Emit;
use crate::ir::graph::{Function, Node, Region, Value};
use crate::ir::operand::Operand;
use crate::ir::operator::Operator;
use crate::ir::types::Type;

/// Returns the gradients of a node's tensor operands, from the gradients of its results.
pub(super) fn apply(
    emit: &mut Emit,
    formulas: &mut dyn Formulas,
    operator: &Operator,
    node: &Node,
    incoming: Vec<Option<Operand>>,
) -> Result<Vec<(Value, Operand)>, String> {
    let mut tensors = Vec::new();
    for operand in &node.operands {
        operand.values(&mut |value| {
            if matches!(emit.builder.ty(*value), Type::Tensor(_)) {
                tensors.push(*value);
            }
        });
    }
    let types: Vec<Type> = tensors.iter().map(|tensor| emit.builder.ty(*tensor).clone()).collect();
    let results: Vec<Type> = node.outputs.iter().map(|output| emit.builder.ty(*output).clone()).collect();
    let function = formulas
        .formula(operator, &node.operands, &types, &results)
        .map_err(|reason| format!("no derivative: {operator}: {reason}"))?;
    let mut arguments: Vec<Operand> = tensors.iter().copied().map(Operand::Value).collect();
    for (output, gradient) in node.outputs.iter().zip(incoming) {
        let gradient = match gradient {
            Some(gradient) => gradient,
            None if super::activity::is_differentiable(emit.builder.ty(*output)) => {
                super::adjoint::zero(emit, *output)
            }
            None => Operand::None,
        };
        arguments.push(gradient);
    }
    if function.body.params.len() != arguments.len() || function.body.results.len() != tensors.len() {
        return Err(format!(
            "no derivative: {operator}: the number of operands or results of its formula is wrong"
        ));
    }
    let gradients = inlined(emit, function, &arguments);
    Ok(tensors.into_iter().zip(gradients).filter(|(_, gradient)| *gradient != Operand::None).collect())
}

/// Inlines a function at the end of the innermost region and returns its results.
fn inlined(emit: &mut Emit, function: Function, arguments: &[Operand]) -> Vec<Operand> {
    let Function { body, values, .. } = function;
    let mut names: HashMap<Value, Operand> =
        body.params.iter().copied().zip(arguments.iter().cloned()).collect();
    let Region { mut nodes, mut results, .. } = body;
    let mut fresh = |value: &mut Value| {
        let info = values.get(value.index());
        let (ty, name) = info.map_or((Type::Any, None), |info| (info.ty.clone(), info.name.as_deref()));
        let new = emit.builder.value(ty, name);
        names.insert(*value, new.into());
        *value = new;
    };
    nodes.iter_mut().for_each(|node| define(node, &mut fresh));
    for node in &mut nodes {
        node.span = emit.attrs.span;
        rename(node, &names, !emit.attrs.no_grad);
    }
    results.iter_mut().for_each(|operand| substitute(operand, &names));
    let last = emit.builder.open.len() - 1;
    emit.builder.open[last].nodes.append(&mut nodes);
    results
}

/// Replaces all values that a node defines by fresh ones.
fn define(node: &mut Node, fresh: &mut dyn FnMut(&mut Value)) {
    node.outputs.iter_mut().for_each(&mut *fresh);
    for region in &mut node.regions {
        region.params.iter_mut().for_each(&mut *fresh);
        region.nodes.iter_mut().for_each(|node| define(node, fresh));
    }
}

/// Replaces the values that a node uses, and sets whether the node has a gradient.
fn rename(node: &mut Node, names: &HashMap<Value, Operand>, grad: bool) {
    node.grad = grad;
    node.operands.iter_mut().for_each(|operand| substitute(operand, names));
    for region in &mut node.regions {
        region.nodes.iter_mut().for_each(|node| rename(node, names, grad));
        region.results.iter_mut().for_each(|operand| substitute(operand, names));
    }
}

fn substitute(operand: &mut Operand, names: &HashMap<Value, Operand>) {
    match operand {
        Operand::Value(value) => {
            if let Some(found) = names.get(value) {
                *operand = found.clone();
            }
        }
        Operand::List(items) => items.iter_mut().for_each(|item| substitute(item, names)),
        _ => {}
    }
}
