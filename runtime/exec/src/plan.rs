//! The compiled form of a graph: for each function a flat list of typed steps with jumps, over registers in three
//! banks. Numbers are 64 bits in a bank of their own, never tensors.

use std::sync::Arc;

use ag_graph::ir::arithmetic::{Function as Scalar, Kind};
use ag_graph::ir::{DType, Span, TensorType};

use super::aten::{Call, Shared};
use super::typed;
use super::value::Value;

/// A register of the bank of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Num(pub(super) u32);

/// A register of the bank of tensors. Empty: there is no value on the way that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ten(pub(super) u32);

/// A register of the bank of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Any(pub(super) u32);

/// Where a value of the graph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Num(Num, Kind),
    Ten(Ten),
    Any(Any),
}

/// A number that a step is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Const(u64),
    Num(Num),
}

/// A number or a constant for a step that asks for the kind when it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) input: Input,
    pub(super) kind: Kind,
}

/// Any value that a step is given.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Number(Number),
    /// Taken: it is used for the last time.
    Ten(Ten, bool),
    Any(Any, bool),
    Const(Value),
    List(Box<[Source]>),
}

/// Consecutive entries of the table of their type.
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
        f: Scalar,
        out: Num,
        a: Input,
        b: Input,
    },
    Select {
        out: Num,
        condition: Input,
        a: Input,
        b: Input,
    },
    Item {
        out: Num,
        kind: Kind,
        tensor: Ten,
    },
    Size {
        out: Num,
        tensor: Ten,
        dimension: Input,
    },

    Unary {
        f: typed::Unary,
        out: Ten,
        a: Ten,
    },
    Binary {
        f: typed::Binary,
        out: Ten,
        a: Ten,
        b: Ten,
    },
    /// With a number of the table of constants.
    WithConst {
        f: typed::Binary,
        out: Ten,
        a: Ten,
        constant: u32,
    },
    WithNumber {
        f: typed::Binary,
        out: Ten,
        a: Ten,
        number: Number,
        beside: DType,
    },
    Ternary {
        f: typed::Ternary,
        out: Ten,
        a: Ten,
        b: Ten,
        c: Ten,
    },
    WithInts {
        f: typed::WithInts,
        out: Ten,
        a: Ten,
        ints: Slice,
    },
    Indexed {
        f: typed::Indexed,
        out: Ten,
        a: Ten,
        b: Ten,
        ints: Slice,
    },
    Joined {
        f: typed::Joined,
        out: Ten,
        tensors: Slice,
        dimension: Input,
    },
    JoinedList {
        f: typed::Joined,
        out: Ten,
        list: Any,
        dimension: Input,
    },
    /// Into `a`, which is used for the last time.
    Grow {
        f: typed::Grow,
        out: Ten,
        a: Ten,
        b: Ten,
    },
    GrowAt {
        out: Ten,
        a: Ten,
        dimension: Input,
        index: Ten,
        b: Ten,
    },
    /// Any other operator: an entry of the table of calls.
    Operator {
        call: u32,
    },

    /// Nothing but the end of values.
    Free,
    Jump {
        to: Target,
    },
    Unless {
        condition: Input,
        to: Target,
    },
    /// A jump backwards, where a run may be interrupted.
    Back {
        to: Target,
    },
    /// `left` rounds are to come, the first with `index`.
    ForStart {
        index: Num,
        left: Num,
        step: Num,
        start: Input,
        stop: Input,
        by: Input,
    },
    ForTest {
        left: Num,
        to: Target,
    },
    ForBack {
        index: Num,
        left: Num,
        step: Num,
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

    CopyNum {
        out: Num,
        a: Input,
    },
    TakeTen {
        out: Ten,
        a: Ten,
    },
    CopyTen {
        out: Ten,
        a: Ten,
    },
    Move {
        source: u32,
        place: u32,
    },

    List {
        op: ListStep,
        out: Any,
        list: u32,
        index: Input,
        item: u32,
    },
    ListGet {
        out: u32,
        list: Any,
        index: Input,
    },
    ListPop {
        out: Any,
        item: u32,
        list: u32,
        index: Input,
    },
    ListLen {
        out: Num,
        list: Any,
    },
    ListSlice {
        out: Any,
        list: Any,
        bounds: Slice,
    },
    TupleNew {
        out: Any,
        items: Slice,
    },
    TupleGet {
        out: u32,
        tuple: Any,
        index: u32,
    },

    Print {
        parts: Slice,
    },
    Assert {
        condition: Input,
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

/// What makes a new list of a list, an index and an item; not all of them look at all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStep {
    New,
    Filled,
    Append,
    Set,
    Insert,
    Concat,
}

/// An operator that the dispatcher calls.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) call: Call,
    /// What goes into its holes.
    pub(super) holes: Box<[Source]>,
    pub(super) outputs: Box<[Place]>,
}

/// A register whose value is gone after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dead {
    Ten(Ten),
    Any(Any),
}

/// Where a step comes from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) operation: Arc<str>,
    pub(super) span: Option<Span>,
}

#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) steps: Vec<Step>,
    /// For each step what dies after it.
    pub(super) dead: Vec<Slice>,
    /// For each step, an entry of `origins`.
    pub(super) origin: Vec<u32>,
    pub(super) origins: Vec<Origin>,
    /// How many registers of each bank it has.
    pub(super) nums: u32,
    pub(super) tens: u32,
    pub(super) anys: u32,
    pub(super) params: Vec<Place>,
    pub(super) tables: Tables,
}

/// What steps have of variable length.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) inputs: Vec<Input>,
    pub(super) tensors: Vec<Ten>,
    pub(super) constants: Vec<Shared>,
    pub(super) sources: Vec<Source>,
    pub(super) places: Vec<Place>,
    pub(super) operators: Vec<Operator>,
    pub(super) classes: Vec<Box<str>>,
    pub(super) dead: Vec<Dead>,
}

/// A compiled graph. Any number of threads may run it at a time.
#[derive(Debug)]
pub struct Plan {
    pub(super) functions: Vec<Function>,
    pub(super) files: Vec<Arc<str>>,
    /// What the entry's parameters must be, and what the user calls them.
    pub(super) params: Vec<(Arc<str>, ag_graph::ir::Type)>,
    pub(super) results: usize,
    /// How many calls may be open at a time.
    pub recursion_limit: usize,
}

impl Plan {
    /// How many values a run takes.
    pub fn arity(&self) -> usize {
        self.params.len()
    }

    /// How many values a run gives.
    pub fn results(&self) -> usize {
        self.results
    }

    /// How many steps it has, over all functions.
    pub fn len(&self) -> usize {
        self.functions.iter().map(|function| function.steps.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether a tensor may stand where this type is declared; else what is wrong.
pub(super) fn fits(tensor: &tch::Tensor, ty: &TensorType) -> Result<(), String> {
    let dtype = super::aten::dtype(tensor);
    if dtype != Some(ty.dtype) {
        let found = dtype.map_or("of another dtype", DType::torch);
        return Err(format!("is {found} and not {}", ty.dtype.torch()));
    }
    let Some(shape) = &ty.shape else { return Ok(()) };
    let sizes = tensor.size();
    let fits = sizes.len() == shape.len()
        && shape.iter().zip(&sizes).all(
            |(dim, size)| !matches!(dim, ag_graph::ir::Dim::Known(known) if known.cast_signed() != *size),
        );
    if fits { Ok(()) } else { Err(format!("has the shape {sizes:?}, and the graph was made for {ty}")) }
}
