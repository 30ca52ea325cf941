//! The lowered form of a segment: a flat list of steps with jumps over memory, scalar registers and lists.

use ag_graph::ir::arithmetic::{Function as ScalarFn, Kind};
use ag_graph::ir::{Scalar, Span};

use crate::dtype::Element;
use crate::hot::Loop;
use crate::kernels::loss::Loss;
use crate::kernels::product::{self, Product};
use crate::kernels::reduce::Reduce;
use crate::kernels::rows::Rows;
use crate::kernels::scatter::Scatter;
use crate::kernels::selection::{Gather, JoinIndices, Pick, Selection};
use crate::kernels::{Kernel, Shape};
use crate::view::Place;

/// The base of the arena.
pub(crate) const ARENA: u32 = 0;
/// The base of the table of constants. The following bases are those of inputs, outputs, and addresses that are
/// computed at run time.
pub(crate) const CONSTANTS: u32 = 1;

/// A scalar register. Holds the bits of an `i64`, an `f64` or a `bool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Register(pub(crate) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Const(u64),
    Register(Register),
}

/// A list register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ListRegister(pub(crate) u32);

/// One dimension of the loop nest around a kernel: its size, and the strides of operands and result in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outer {
    pub(crate) size: u32,
    pub(crate) strides: [u32; 4],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Elementwise {
    pub(crate) kernel: Kernel,
    pub(crate) out: Place,
    pub(crate) operands: [Place; 3],
    /// The shape of the innermost dimension, as one row.
    pub(crate) shape: Shape,
    /// Bytes per element of the operands and the result.
    pub(crate) bytes: [u8; 4],
    /// A range of `Program::outer`, outermost first.
    pub(crate) outer: (u32, u32),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Elementwise(Elementwise),
    Product {
        kernel: product::Kernel,
        /// An index into `Program::products`.
        product: u32,
        out: Place,
        a: Place,
        b: Place,
    },
    /// Several products of the same shape.
    Products {
        kernel: product::Kernel,
        /// An index into `Program::products`.
        product: u32,
        out: Place,
        a: Place,
        b: Place,
        count: u32,
        /// The distances in bytes from one product to the next, in the result and in both factors.
        strides: [u32; 3],
    },
    Reduce {
        /// An index into `Program::reductions`.
        reduce: u32,
        out: Place,
        a: Place,
    },
    Rows {
        kind: Rows,
        element: Element,
        out: Place,
        operands: [Place; 2],
        rows: u32,
        columns: u32,
    },
    Loss {
        loss: Loss,
        outs: [Place; 2],
        x: Place,
        classes: Place,
    },
    LossBackward {
        loss: Loss,
        out: Place,
        gradient: Place,
        classes: Place,
        weight: Place,
    },
    TopK {
        /// An index into `Program::selections`.
        selection: u32,
        /// Elements and indices.
        outs: [Place; 2],
        a: Place,
    },
    Gather {
        /// An index into `Program::gathers`.
        gather: u32,
        out: Place,
        a: Place,
        indices: Place,
    },
    Pick {
        /// An index into `Program::picks`.
        pick: u32,
        out: Place,
        a: Place,
        indices: Place,
    },
    Scatter {
        /// An index into `Program::scatters`.
        scatter: u32,
        out: Place,
        indices: Place,
        source: Place,
    },
    JoinIndices {
        join: JoinIndices,
        out: Place,
        indices: Place,
    },
    /// Stops the run if one of the elements is zero.
    CheckDivisors {
        a: Place,
        count: u32,
        stride: u32,
    },
    /// Writes zero bytes.
    Zero {
        out: Place,
        bytes: u32,
    },
    /// Sets a base to the address of `x[index]`.
    Address {
        base: u32,
        from: Place,
        index: Number,
        size: u32,
        /// In bytes.
        stride: u32,
    },
    /// Writes a number as one element.
    Fill {
        out: Place,
        element: Element,
        number: Number,
        is_float: bool,
    },

    Scalar {
        /// The operation, and the kind of its operands.
        #[cfg_attr(
            not(all(feature = "jit", target_arch = "x86_64")),
            allow(dead_code, reason = "only the module `jit` reads it")
        )]
        operation: (Scalar, Kind),
        f: ScalarFn,
        out: Register,
        a: Number,
        b: Number,
    },
    Select {
        out: Register,
        condition: Number,
        a: Number,
        b: Number,
    },
    Item {
        out: Register,
        element: Element,
        a: Place,
    },
    CopyScalar {
        out: Register,
        a: Number,
    },

    /// Stops the run, because the program raises an exception.
    Stop,
    Jump {
        to: u32,
    },
    JumpIfFalse {
        condition: Number,
        to: u32,
    },
    /// A backward jump, where a run may be interrupted.
    JumpBack {
        to: u32,
        /// An index into `Program::loops`.
        number: u32,
    },
    /// Computes the number of iterations of `range(start, stop, by)`.
    ForStart {
        index: Register,
        left: Register,
        step: Register,
        start: Number,
        stop: Number,
        by: Number,
    },
    ForTest {
        left: Register,
        to: u32,
    },
    ForNext {
        index: Register,
        left: Register,
        step: Register,
        to: u32,
        /// An index into `Program::loops`.
        number: u32,
    },

    NewList {
        out: ListRegister,
        /// The size of its tensors.
        bytes: u32,
    },
    /// Frees the memory of a list that is not used again.
    DropList {
        list: ListRegister,
    },
    /// A new list whose tensors are in this memory, as long as they need no more than these bytes.
    NewListIn {
        out: ListRegister,
        place: Place,
        bytes: u32,
    },
    /// Moves a list, or copies it if it is used again.
    MoveList {
        out: ListRegister,
        a: ListRegister,
        is_last: bool,
    },
    /// Appends a contiguous tensor.
    Push {
        list: ListRegister,
        a: Place,
        bytes: u32,
    },
    /// Makes a list of copies of a contiguous tensor.
    Repeat {
        list: ListRegister,
        count: Number,
        a: Place,
        bytes: u32,
    },
    /// Creates a list whose tensors are all missing: `[None] * count`.
    FillMissing {
        list: ListRegister,
        count: Number,
        bytes: u32,
    },
    PushList {
        list: ListRegister,
        item: ListRegister,
        is_last: bool,
    },
    Get {
        out: Place,
        list: ListRegister,
        index: Number,
        bytes: u32,
    },
    /// Sets a base to the address of an item, which stays in the list.
    Borrow {
        base: u32,
        list: ListRegister,
        index: Number,
        bytes: u32,
    },
    /// Removes the last item, and sets a base to its address. The item stays in the memory of the list until the list grows.
    BorrowLast {
        base: u32,
        list: ListRegister,
        bytes: u32,
    },
    GetList {
        out: ListRegister,
        list: ListRegister,
        index: Number,
    },
    Pop {
        out: Place,
        list: ListRegister,
        index: Number,
        bytes: u32,
    },
    PopList {
        out: ListRegister,
        list: ListRegister,
        index: Number,
    },
    Set {
        list: ListRegister,
        index: Number,
        a: Place,
        bytes: u32,
    },
    Length {
        out: Register,
        list: ListRegister,
        bytes: u32,
    },
    LengthOfLists {
        out: Register,
        list: ListRegister,
    },
    /// Copies all tensors of a list, one after the other. Stops if their total size is not that of the result.
    Concat {
        out: Place,
        list: ListRegister,
        bytes: u32,
    },
    /// Splits contiguous memory into a list of tensors. The data of the list is a copy of the memory.
    Split {
        list: ListRegister,
        a: Place,
        bytes: u32,
    },
}

/// The node that a step comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) name: Box<str>,
    pub(crate) span: Option<Span>,
}

#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) operations: Vec<Operation>,
    /// For each step, an index into the operations.
    pub(crate) origins: Vec<u32>,
    pub(crate) outer: Vec<Outer>,
    pub(crate) products: Vec<Product>,
    pub(crate) reductions: Vec<Reduce>,
    pub(crate) selections: Vec<Selection>,
    pub(crate) gathers: Vec<Gather>,
    pub(crate) picks: Vec<Pick>,
    pub(crate) scatters: Vec<Scatter>,
    /// The table of constants, in units of eight bytes.
    pub(crate) constants: Vec<u64>,
    /// Bytes of the arena.
    pub(crate) arena: usize,
    pub(crate) bases: u32,
    pub(crate) registers: u32,
    pub(crate) lists: u32,
    pub(crate) loops: Vec<Loop>,
    /// The bases of inputs, which no step writes.
    pub(crate) inputs: Vec<u32>,
}

impl Program {
    pub(crate) fn remove(&mut self, step: usize) {
        self.steps.remove(step);
        self.origins.remove(step);
    }

    /// Numbers the loops. After this, no step is removed.
    pub(crate) fn number_loops(&mut self) {
        for (index, step) in self.steps.iter_mut().enumerate() {
            if let Step::JumpBack { to, number } | Step::ForNext { to, number, .. } = step {
                *number = self.loops.len() as u32;
                self.loops.push(Loop::new(*to as usize, index));
            }
        }
    }
}

impl Step {
    /// Visits the places that the step reads and writes. A step that uses only registers and lists has none.
    pub(crate) fn places(&mut self, visit: &mut dyn FnMut(&mut Place)) {
        match self {
            Self::Elementwise(Elementwise { out, operands, .. }) => {
                visit(out);
                operands.iter_mut().for_each(visit);
            }
            Self::Product { out, a, b, .. } | Self::Products { out, a, b, .. } => {
                [out, a, b].into_iter().for_each(visit)
            }
            Self::Rows { out, operands, .. } => {
                visit(out);
                operands.iter_mut().for_each(visit);
            }
            Self::Loss { outs, x, classes, .. } => {
                outs.iter_mut().for_each(&mut *visit);
                [x, classes].into_iter().for_each(visit);
            }
            Self::LossBackward { out, gradient, classes, weight, .. } => {
                [out, gradient, classes, weight].into_iter().for_each(visit);
            }
            Self::TopK { outs, a, .. } => {
                outs.iter_mut().for_each(&mut *visit);
                visit(a);
            }
            Self::Gather { out, a, indices, .. } | Self::Pick { out, a, indices, .. } => {
                [out, a, indices].into_iter().for_each(visit)
            }
            Self::Scatter { out, indices, source, .. } => [out, indices, source].into_iter().for_each(visit),
            Self::JoinIndices { out, indices, .. } => [out, indices].into_iter().for_each(visit),
            Self::Reduce { out, a, .. } => [out, a].into_iter().for_each(visit),
            Self::CheckDivisors { a, .. }
            | Self::Item { a, .. }
            | Self::Push { a, .. }
            | Self::Repeat { a, .. }
            | Self::Set { a, .. }
            | Self::Split { a, .. } => visit(a),
            Self::Zero { out, .. }
            | Self::Fill { out, .. }
            | Self::Get { out, .. }
            | Self::Pop { out, .. }
            | Self::NewListIn { place: out, .. }
            | Self::Concat { out, .. } => visit(out),
            Self::Address { from, .. } => visit(from),
            Self::Scalar { .. }
            | Self::Select { .. }
            | Self::CopyScalar { .. }
            | Self::Stop
            | Self::Jump { .. }
            | Self::JumpIfFalse { .. }
            | Self::JumpBack { .. }
            | Self::ForStart { .. }
            | Self::ForTest { .. }
            | Self::ForNext { .. }
            | Self::NewList { .. }
            | Self::DropList { .. }
            | Self::BorrowLast { .. }
            | Self::MoveList { .. }
            | Self::FillMissing { .. }
            | Self::PushList { .. }
            | Self::Borrow { .. }
            | Self::GetList { .. }
            | Self::PopList { .. }
            | Self::Length { .. }
            | Self::LengthOfLists { .. } => {}
        }
    }
}
