//! How the batched loop represents a value of the loop's body.

use crate::ir::graph::Value;
use crate::ir::operand::Operand;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lane {
    /// The same in all iterations.
    Same(Operand),
    /// A tensor whose first dimension is the iteration.
    Each(Value),
    /// The number `start + step * iteration`.
    Index { start: i64, step: i64 },
    /// A list of tensors whose first dimension is the iteration.
    List(List),
    /// A list of operands, as in `torch.cat([a, b])`, of which some are not the same in all iterations.
    Tree(Vec<Lane>),
    /// The value that the previous iteration has computed for this result of the loop, plus the tensor `sum`, whose first
    /// dimension is the iteration.
    Carried { place: usize, sum: Option<Value> },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct List {
    pub(super) value: Value,
    /// The number of items; `None` if it is unknown. In a nested loop, it is the number in the first iteration.
    pub(super) length: Option<u64>,
    /// For a list that the batched loop carries: the index of its result. `value` then contains only the items of this
    /// iteration, so the iteration may append items, but not read any.
    pub(super) place: Option<usize>,
}

impl Lane {
    pub(super) fn same(&self) -> Option<Operand> {
        if let Self::Same(operand) = self { Some(operand.clone()) } else { None }
    }
}
