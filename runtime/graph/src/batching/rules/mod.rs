//! Operators: computes a node for all iterations, one file per family of operators.

mod elementwise;
mod loss;
mod product;
mod reduction;
mod view;

use super::Batching;
use super::lane::Lane;
use crate::ir::graph::Node;

impl Batching<'_> {
    /// Emits an operator of ATen, whose name is `name`. Not all of its operands are the same in all iterations.
    pub(super) fn operator(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        if elementwise::is_elementwise(name) {
            return self.elementwise(node, lanes);
        }
        match name {
            "cat.default" | "stack.default" => self.joined(name, node, lanes),
            _ if loss::reduction_operand(name).is_some() => self.loss(name, node, lanes),
            _ if product::is_product(name) => self.product(name, node, lanes),
            _ if reduction::is_reduction(name) => self.reduction(name, node, lanes),
            _ => self.view(name, node, lanes),
        }
    }
}
