//! Reverse-mode automatic differentiation, from graph to graph.
//!
//! This module depends only on the graph, and executes nothing. A gradient consists of ordinary nodes, so it can be
//! differentiated again.
//!
//! - `activity`: which values a gradient flows through
//! - `reverse`: the backward walk over nodes
//! - `branch`, `loops`, `call`: control flow and functions; `saved`: which forward values are saved
//!   or recomputed
//! - `adjoint`: gradients of tensors, lists and tuples; `list`: operations on lists
//! - `partition`: splits a graph into a forward and a backward graph
//! - `rules`: derivatives of operators, one file per family; `formula`: operators without a rule
//! - `emit`, `expression`, `shape`: emit nodes with inferred types

mod activity;
mod adjoint;
mod branch;
mod call;
mod emit;
mod expression;
mod formula;
mod list;
mod loops;
mod partition;
mod reverse;
mod rules;
mod saved;
mod shape;

pub use activity::differentiable_results;
pub use call::Functions;
pub use partition::{Partition, partition};

use std::fmt;

use self::emit::Emit;
use crate::ir::build::{Builder, NodeAttrs};
use crate::ir::graph::{Function, Span, Value};
use crate::ir::operand::Operand;
use crate::ir::operator::Operator;
use crate::ir::types::Type;

/// Why a gradient does not exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    pub message: String,
    /// The node without a derivative, or the one that requested the gradient.
    pub span: Option<Span>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Derivatives of operators that have no rule here.
pub trait Formulas {
    /// Returns a function of the tensor operands (in the order of the operand trees) and of the gradients of
    /// the results. It returns the gradient of each of those tensors, or `none`.
    ///
    /// `tensors` contains the types of the tensor operands, and `results` the types of the results.
    fn formula(
        &mut self,
        operator: &Operator,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> Result<Function, String>;
}

/// Emits the gradient of `outputs` with respect to `inputs` at the end of the innermost open region.
///
/// A seed is the incoming gradient of an output; `None` means 1 for an output with one element. An input that
/// no output depends on has no gradient. With `no_grad`, the emitted nodes cannot be differentiated again
/// (`create_graph=False`). Derivatives of called functions are added to `functions`.
pub fn gradient(
    builder: &mut Builder,
    outputs: &[Value],
    seeds: &[Option<Operand>],
    inputs: &[Value],
    attrs: &NodeAttrs,
    functions: &mut Functions,
    formulas: &mut dyn Formulas,
) -> Result<Vec<Option<Operand>>, Error> {
    let depth = builder.open.len();
    let count = functions.known.len();
    // Forward nodes are moved out, so that they can be extended while backward nodes are emitted.
    let mut forward: Vec<_> =
        builder.open.iter_mut().map(|region| std::mem::take(&mut region.nodes)).collect();
    let mut emit = Emit { builder, attrs: attrs.clone() };
    let seeds: Vec<Option<Operand>> =
        seeds.iter().map(|seed| seed.clone().map(|seed| reverse::detached(&mut emit, seed))).collect();
    let gradients = reverse::gradient(emit, &mut forward, outputs, &seeds, inputs, functions, formulas);
    if gradients.is_err() {
        functions.truncate(count);
    }
    builder.open.truncate(depth);
    for (region, mut nodes) in builder.open.iter_mut().zip(forward) {
        if gradients.is_ok() {
            nodes.append(&mut region.nodes);
        }
        region.nodes = nodes;
    }
    gradients
}
