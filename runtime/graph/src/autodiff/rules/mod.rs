//! Derivatives of ATen operators: the gradients of the operands, given the gradients of the results.
//!
//! Operands are in schema order. A rule that does not cover the given operands returns `None`; the formula of torch is
//! used instead.

mod activation;
mod convolution;
mod elementwise;
mod indexing;
mod joining;
mod loss;
mod normalization;
mod product;
mod reduction;
mod rule;
mod view;

use super::activity::Activity;
use super::adjoint::Adjoints;
use super::emit::Emit;
use crate::ir::graph::{Node, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

use self::rule::Rule;

/// Returns the gradients of a node's operands, if its operator has a rule that applies.
pub(super) fn apply(
    emit: &mut Emit,
    activity: &Activity,
    node: &Node,
    adjoints: &mut Adjoints,
) -> Option<Vec<(Value, Operand)>> {
    let Op::Operator(operator) = &node.op else { return None };
    let name = operator.in_aten()?;
    let derivative = elementwise::rule(name)
        .or_else(|| activation::rule(name))
        .or_else(|| product::rule(name))
        .or_else(|| reduction::rule(name))
        .or_else(|| view::rule(name))
        .or_else(|| joining::rule(name))
        .or_else(|| indexing::rule(name))
        .or_else(|| loss::rule(name))
        .or_else(|| normalization::rule(name))
        .or_else(|| convolution::rule(name))?;
    Rule::new(emit, activity, node, adjoints).differentiate(derivative)
}
