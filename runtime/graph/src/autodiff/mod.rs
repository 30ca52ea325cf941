//! Gradients: reverse mode, from a graph to a graph.
//!
//! This room knows the graph and the derivatives of ATen's operators; it runs nothing. A gradient is made of ordinary
//! nodes, so that it has a gradient itself.
//!
//! - [`activity`]: which values a gradient passes through
//! - [`reverse`]: from the last node to the first
//! - [`branch`], [`round`], [`call`]: through `if`, loops and functions; [`saved`]: what of the way forward is needed on the way back
//! - [`adjoint`]: gradients of tensors, lists and tuples; [`list`]: operations on those
//! - [`halves`]: a graph that ends in its gradient, as the way forward and the way back
//! - [`rules`]: derivatives of operators, a file for each family; [`formula`]: those of operators without a rule
//! - [`emit`], [`expression`], [`shape`]: how nodes are made, with the types that they give

mod activity;
mod adjoint;
mod branch;
mod call;
mod emit;
mod expression;
mod formula;
mod halves;
mod list;
mod reverse;
mod round;
mod rules;
mod saved;
mod shape;

pub use activity::followed;
pub use call::Functions;
pub use halves::{Halves, halves};

use std::fmt;

use self::emit::Emit;
use crate::ir::build::{Builder, Circumstances};
use crate::ir::graph::{Function, Span, Value};
use crate::ir::operand::Operand;
use crate::ir::types::Type;

/// Why there is no gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    pub message: String,
    /// The node that has none, or the one that asks.
    pub span: Option<Span>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The derivatives of operators that have no rule here.
pub trait Formulas {
    /// A function of the tensors among the operands, in the order of the operands' trees, then of the gradients of the
    /// results; it returns the gradient of each of those tensors, or `none`.
    ///
    /// `tensors` and `results` are the types of both.
    fn formula(
        &mut self,
        op: &str,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> Result<Function, String>;
}

/// Emits the gradient of `outputs` with respect to `inputs` at the end of the innermost open region.
///
/// A seed is the gradient that comes from after an output; `None` is 1 for an output of one element. An input that
/// no output depends on has no gradient. With `no_grad`, what is emitted has no gradient itself (`create_graph=False`).
/// Derivatives of functions that are called become functions beside them.
pub fn gradient(
    builder: &mut Builder,
    outputs: &[Value],
    seeds: &[Option<Operand>],
    inputs: &[Value],
    circumstances: &Circumstances,
    functions: &mut Functions,
    formulas: &mut dyn Formulas,
) -> Result<Vec<Option<Operand>>, Error> {
    let depth = builder.open.len();
    let count = functions.known.len();
    // The way forward is set apart, so that it can be walked and extended while the way back is emitted.
    let mut forward: Vec<_> =
        builder.open.iter_mut().map(|region| std::mem::take(&mut region.nodes)).collect();
    let emit = Emit { builder, circumstances: circumstances.clone() };
    let gradients = reverse::gradient(emit, &mut forward, outputs, seeds, inputs, functions, formulas);
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
