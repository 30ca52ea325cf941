//! Lowers whole functions, for programs that run without libtorch: each node must be supported.

use ag_graph::ir::{Function, Operand, Span};
use ag_graph::liveness::liveness;

use super::Lowering;
use super::outputs::Outputs;
use crate::options::{Limits, Options};
use crate::pass::Passes;
use crate::segment::{Layouts, NewTensor, Output, Segment};
use crate::view::{Place, View, contiguous};

/// A part of a function that cannot run without libtorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// An operation with this name, which the native tier does not support for its operands.
    Operation { name: Box<str>, span: Option<Span> },
    /// The result with this index.
    Result(usize),
}

/// Lowers a function to one segment. Its inputs and outputs are contiguous. There is one output for each result of the
/// function, in their order, and each output has a tensor of its own.
pub fn whole(function: &Function) -> Result<Segment, Unsupported> {
    let life = liveness(function);
    let layouts = Layouts::default();
    let options = Options { fewest: 0, passes: Passes::ALL, limits: Limits::without_libtorch() };
    let mut lowering = Lowering::new(function, &layouts, options);
    for (node, life) in function.body.nodes.iter().zip(&life.nodes) {
        lowering.node(node, life).ok_or_else(|| lowering.last_operation())?;
    }
    let mut outputs = Outputs::default();
    for (index, result) in function.body.results.iter().enumerate() {
        lowering.whole_result(result, &mut outputs).ok_or(Unsupported::Result(index))?;
    }
    Ok(lowering.into_segment(function.body.nodes.len(), outputs))
}

impl Lowering<'_> {
    /// Returns the operation whose lowering has failed. It is the last one that was started.
    fn last_operation(&self) -> Unsupported {
        let last = self.program.operations.last();
        let name = last.map(|operation| operation.name.clone()).unwrap_or_default();
        Unsupported::Operation { name, span: last.and_then(|operation| operation.span) }
    }

    fn whole_result(&mut self, result: &Operand, outputs: &mut Outputs) -> Option<()> {
        let value = result.value()?;
        let output = if self.function.ty(value).tensor().is_some() {
            let from = self.tensor(result)?;
            let base = self.new_base();
            let strides = contiguous(&from.sizes);
            let out = View { place: Place { base, offset: 0 }, strides, buffer: None, ..from.clone() };
            self.copy(&out, &from)?;
            outputs.tensor_bases.push(base);
            let View { element, sizes, strides, .. } = out;
            outputs.tensors.push(NewTensor { element, sizes, strides });
            Output::Tensor(outputs.tensors.len() - 1)
        } else {
            let (number, kind) = self.number(result)?;
            outputs.numbers.push(number);
            Output::Number(kind)
        };
        outputs.values.push((value, output));
        Some(())
    }
}
