//! The compiled form of a graph: a flat list of typed steps with jumps for each function. The steps use three register
//! banks: 64-bit scalars, tensors and objects.

use std::sync::Arc;

use ag_graph::ir::arithmetic::{Function as ScalarFn, Kind};
use ag_graph::ir::{DType, Device, Span, TensorType};

use super::aten::{Call, Shared};
use super::backoff::Backoff;
use super::pooling::MaxPool;
use super::typed;
use super::value::Value;

/// A register of the scalar bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScalarReg(pub(super) u32);

/// A register of the tensor bank. Empty if the value is undefined on the path that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorReg(pub(super) u32);

/// A register of the object bank, which holds lists, tuples, strings and Python objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectReg(pub(super) u32);

/// The register of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    Scalar(ScalarReg, Kind),
    Tensor(TensorReg),
    Object(ObjectReg),
}

/// A scalar operand of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarInput {
    Const(u64),
    Register(ScalarReg),
}

/// A scalar operand whose kind matters at run time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedScalar {
    pub(super) input: ScalarInput,
    pub(super) kind: Kind,
}

/// An operand of any type.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Scalar(TypedScalar),
    /// The flag is `true` if this is the last use of the value, which is then moved out of its register.
    Tensor(TensorReg, bool),
    Object(ObjectReg, bool),
    Const(Value),
    List(Box<[Source]>),
}

/// A range of entries in a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    start: u32,
    length: u32,
}

impl Slice {
    pub(super) fn of<T>(self, table: &[T]) -> &[T] {
        &table[self.start as usize..][..self.length as usize]
    }

    pub(super) fn start(self) -> u32 {
        self.start
    }

    pub(super) fn new(start: usize, length: usize) -> Self {
        Self { start: start as u32, length: length as u32 }
    }

    pub(super) fn add<T>(table: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Self {
        let start = table.len();
        table.extend(items);
        Self::new(start, table.len() - start)
    }
}

/// The index of a step in its function.
pub(super) type Target = u32;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Scalar {
        f: ScalarFn,
        out: ScalarReg,
        a: ScalarInput,
        b: ScalarInput,
    },
    Select {
        out: ScalarReg,
        condition: ScalarInput,
        a: ScalarInput,
        b: ScalarInput,
    },
    Item {
        out: ScalarReg,
        kind: Kind,
        tensor: TensorReg,
    },
    Size {
        out: ScalarReg,
        tensor: TensorReg,
        dimension: ScalarInput,
    },

    Unary {
        f: typed::Unary,
        out: TensorReg,
        a: TensorReg,
    },
    Binary {
        f: typed::Binary,
        out: TensorReg,
        a: TensorReg,
        b: TensorReg,
    },
    /// An operator of a tensor and a number from the table of constants.
    WithConst {
        f: typed::Binary,
        out: TensorReg,
        a: TensorReg,
        constant: u32,
    },
    WithScalar {
        f: typed::Binary,
        out: TensorReg,
        a: TensorReg,
        number: TypedScalar,
        other_dtype: DType,
    },
    Ternary {
        f: typed::Ternary,
        out: TensorReg,
        a: TensorReg,
        b: TensorReg,
        c: TensorReg,
    },
    WithInts {
        f: typed::WithInts,
        out: TensorReg,
        a: TensorReg,
        ints: Slice,
    },
    Indexed {
        f: typed::Indexed,
        out: TensorReg,
        a: TensorReg,
        b: TensorReg,
        ints: Slice,
    },
    Concat {
        f: typed::Concat,
        out: TensorReg,
        tensors: Slice,
        dimension: ScalarInput,
    },
    ConcatList {
        f: typed::Concat,
        out: TensorReg,
        list: ObjectReg,
        dimension: ScalarInput,
    },
    /// Writes into `a`; this step is the last use of `a`.
    AddInPlace {
        f: typed::InPlace,
        out: TensorReg,
        a: TensorReg,
        b: TensorReg,
    },
    IndexAddInPlace {
        out: TensorReg,
        a: TensorReg,
        dimension: ScalarInput,
        index: TensorReg,
        b: TensorReg,
    },
    /// Makes a sum of products.
    NewSum {
        out: ObjectReg,
        total: u32,
    },
    /// Adds `a @ b` to a sum; this step is the last use of the sum.
    AddProduct {
        out: ObjectReg,
        sum: ObjectReg,
        a: TensorReg,
        b: TensorReg,
    },
    /// Computes a sum; this step is its last use.
    FinishSum {
        out: TensorReg,
        sum: ObjectReg,
    },
    MaxPool {
        pool: u32,
        maxima: TensorReg,
        indices: TensorReg,
        a: TensorReg,
    },
    /// Any other operator: an index into the table of operators.
    Operator {
        call: u32,
    },

    /// Runs a segment natively and jumps to `to`. If the segment cannot run natively, the plan continues with the next
    /// steps, which execute the same nodes on libtorch.
    Native {
        native: u32,
        to: Target,
    },
    /// Only releases values.
    Release,
    Jump {
        to: Target,
    },
    JumpIfFalse {
        condition: ScalarInput,
        to: Target,
    },
    /// A backward jump, where a run may be interrupted.
    JumpBack {
        to: Target,
    },
    /// Computes the number of iterations (`left`) and the first index.
    ForStart {
        index: ScalarReg,
        left: ScalarReg,
        step: ScalarReg,
        start: ScalarInput,
        stop: ScalarInput,
        by: ScalarInput,
    },
    ForTest {
        left: ScalarReg,
        to: Target,
    },
    ForNext {
        index: ScalarReg,
        left: ScalarReg,
        step: ScalarReg,
        to: Target,
    },
    Call {
        function: u32,
        arguments: Slice,
        outputs: Slice,
    },
    Return {
        results: Slice,
    },

    CopyScalar {
        out: ScalarReg,
        a: ScalarInput,
    },
    MoveTensor {
        out: TensorReg,
        a: TensorReg,
    },
    CopyTensor {
        out: TensorReg,
        a: TensorReg,
    },
    Move {
        source: u32,
        register: u32,
    },

    List {
        op: ListStep,
        out: ObjectReg,
        list: u32,
        index: ScalarInput,
        item: u32,
    },
    ListGet {
        out: u32,
        list: ObjectReg,
        index: ScalarInput,
    },
    ListPop {
        out: ObjectReg,
        item: u32,
        list: u32,
        index: ScalarInput,
    },
    ListLen {
        out: ScalarReg,
        list: ObjectReg,
    },
    ListSlice {
        out: ObjectReg,
        list: ObjectReg,
        bounds: Slice,
    },
    TupleNew {
        out: ObjectReg,
        items: Slice,
    },
    TupleGet {
        out: u32,
        tuple: ObjectReg,
        index: u32,
    },

    Print {
        parts: Slice,
    },
    Assert {
        condition: ScalarInput,
        parts: Slice,
    },
    Raise {
        class: u32,
        parts: Slice,
    },
    Python {
        callback: u32,
        arguments: Slice,
        outputs: Slice,
    },
}

/// Operations that return a list. The operands are a list, an index and an item; an operation ignores those that it
/// does not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStep {
    New,
    Filled,
    Append,
    Set,
    Insert,
    Concat,
}

/// An operator called through the dispatcher.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) call: Call,
    /// Values for the holes of the call.
    pub(super) holes: Box<[Source]>,
    pub(super) outputs: Box<[Register]>,
}

/// A part of a function that can run natively.
#[derive(Debug)]
pub(super) struct Native {
    pub(super) segment: ag_native::Segment,
    pub(super) backoff: Backoff,
    /// The sizes and strides of its inputs; empty for numbers.
    pub(super) input_sizes: Box<[[Box<[i64]>; 2]]>,
    /// The sizes and strides of the tensors that it writes.
    pub(super) tensor_sizes: Box<[[Box<[i64]>; 2]]>,
    pub(super) inputs: Box<[Register]>,
    pub(super) outputs: Box<[Register]>,
    /// The registers that its steps clear.
    pub(super) dead: Box<[Dead]>,
}

/// A register that is cleared after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dead {
    Tensor(TensorReg),
    Object(ObjectReg),
}

/// The operation and source span of a step.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) operation: Arc<str>,
    pub(super) span: Option<Span>,
}

#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) steps: Vec<Step>,
    /// For each step, the registers to clear after it.
    pub(super) dead: Vec<Slice>,
    /// For each step, an index into `origins`.
    pub(super) origin: Vec<u32>,
    pub(super) origins: Vec<Origin>,
    /// The number of registers in each bank.
    pub(super) scalars: u32,
    pub(super) tensors: u32,
    pub(super) objects: u32,
    pub(super) params: Vec<Register>,
    /// The number of products that are deferred.
    pub(super) deferred: usize,
    pub(super) tables: Tables,
}

/// Operands of variable length.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) inputs: Vec<ScalarInput>,
    pub(super) tensors: Vec<TensorReg>,
    pub(super) constants: Vec<Shared>,
    pub(super) sources: Vec<Source>,
    pub(super) registers: Vec<Register>,
    pub(super) operators: Vec<Operator>,
    pub(super) pools: Vec<MaxPool>,
    pub(super) natives: Vec<Native>,
    pub(super) classes: Vec<Box<str>>,
    pub(super) dead: Vec<Dead>,
}

/// A compiled graph. Several threads may run it at the same time.
#[derive(Debug)]
pub struct Plan {
    pub(super) functions: Vec<Function>,
    pub(super) files: Vec<Arc<str>>,
    /// The name and the type of each parameter of the entry.
    pub(super) params: Vec<(Arc<str>, ag_graph::ir::Type)>,
    pub(super) results: usize,
    /// The maximum depth of calls.
    pub recursion_limit: usize,
}

impl Plan {
    /// Returns the number of inputs.
    pub fn arity(&self) -> usize {
        self.params.len()
    }

    /// Returns the number of results.
    pub fn results(&self) -> usize {
        self.results
    }

    /// Returns the number of steps of all functions.
    pub fn len(&self) -> usize {
        self.functions.iter().map(|function| function.steps.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Checks that a tensor has a type; the error is a predicate such as "is float64, expected float32".
pub(super) fn fits(tensor: &tch::Tensor, ty: &TensorType) -> Result<(), String> {
    let dtype = super::aten::dtype(tensor);
    if dtype != Some(ty.dtype) {
        let found = dtype.map_or("of another dtype", DType::torch);
        return Err(format!("is {found}, expected {}", ty.dtype.torch()));
    }
    let device = tensor.device();
    let is_there = match ty.device {
        Device::Cpu => device == tch::Device::Cpu,
        Device::Cuda(index) => device == tch::Device::Cuda(usize::from(index)),
        Device::Meta => true,
    };
    if !is_there {
        return Err(format!("is on {device:?}, expected {}", ty.device));
    }
    let Some(shape) = &ty.shape else { return Ok(()) };
    let sizes = tensor.size();
    let fits = sizes.len() == shape.len()
        && shape.iter().zip(&sizes).all(
            |(dim, size)| !matches!(dim, ag_graph::ir::Dim::Known(known) if known.cast_signed() != *size),
        );
    if fits { Ok(()) } else { Err(format!("has shape {sizes:?}, which does not match {ty}")) }
}
