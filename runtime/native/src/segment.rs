//! Segments: their programs, inputs and outputs.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Span, Value};
use rustc_hash::FxHashMap;

use crate::dtype::Element;
use crate::pass::Fired;
use crate::program::{ListRegister, Number, Program, Register};

/// Consecutive nodes of a region that run natively.
#[derive(Debug)]
pub struct Segment {
    /// The number of nodes.
    pub nodes: usize,
    /// The values from outside that the segment reads.
    pub inputs: Vec<(Value, Input)>,
    /// The values that the segment defines and that are used after it.
    pub outputs: Vec<(Value, Output)>,
    /// The tensors that the segment writes.
    pub tensors: Vec<NewTensor>,
    /// The lists that leave the segment.
    pub lists: Vec<NewList>,
    /// How often each pass has changed the program.
    pub fired: Fired,
    pub(crate) program: Program,
    /// For each input, the base of a tensor or the register of a number.
    pub(crate) input_bases: Vec<Result<u32, Register>>,
    /// The base of each tensor that the segment writes.
    pub(crate) tensor_bases: Vec<u32>,
    /// The outputs that are numbers, in order.
    pub(crate) numbers: Vec<Number>,
}

impl Segment {
    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.program.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A tensor with these sizes and strides (in elements).
    Tensor(Element, Vec<usize>, Vec<usize>),
    Number(Kind),
}

/// A tensor that a segment writes. Strides are in elements.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTensor {
    pub element: Element,
    pub sizes: Vec<usize>,
    pub strides: Vec<usize>,
}

/// A list of contiguous tensors that leaves a segment. Its length is only known after a run (`Memory::items`).
#[derive(Debug, Clone, PartialEq)]
pub struct NewList {
    pub element: Element,
    /// The sizes of each item.
    pub sizes: Vec<usize>,
    pub(crate) register: ListRegister,
}

impl NewList {
    /// Returns the size in bytes of an item.
    pub fn item_bytes(&self) -> usize {
        self.sizes.iter().product::<usize>() * self.element.size()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The tensor with this index in `Segment::tensors`.
    Tensor(usize),
    View(OutputView),
    Number(Kind),
    /// The list with this index in `Segment::lists`.
    List(usize),
}

/// A view of a tensor, as `torch.as_strided` creates it; other outputs may share the tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputView {
    pub of: Base,
    pub sizes: Vec<usize>,
    pub strides: Vec<usize>,
    /// In elements.
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// An index into `Segment::inputs`.
    Input(usize),
    /// An index into `Segment::tensors`.
    Tensor(usize),
}

/// The strides of values, in elements. Values that are not in the map are assumed to be contiguous.
pub type Layouts = FxHashMap<Value, Vec<usize>>;

/// The error of a run that ended early. Nothing has changed; the same nodes can run on libtorch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// The operation at which a run has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// The name of the operation. If it raises an exception: the class, and the message if it is a constant.
    pub operation: &'a str,
    pub span: Option<Span>,
    /// Whether the operation raises an exception of the user's program.
    pub raises: bool,
}
