//! Gradients of parts. Each is a whole of zeros around the part; where such are added up,
//!
//! - slices that lie side by side are joined: `slice_backward(a, …) + slice_backward(b, …)` is `cat([a, b])`, where the
//!   two are all that there is;
//! - rows of a table are added where they belong: `t + embedding_dense_backward(g, rows, …)` is
//!   `index_add(t, 0, rows, g)`.
//!
//! A sum of nothing but zeros is a zero, of whichever sign; the sums of rows that come more than once are rounded
//! elsewhere.

use std::collections::HashMap;

use super::rewrite::{Outcome, Rewrite, rewrite};
use crate::ir::graph::{Function, Node, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::TensorType;

pub(super) fn run(function: &mut Function) {
    rewrite(function, &mut Parts::default());
}

#[derive(Default)]
struct Parts {
    slices: HashMap<Value, Slices>,
    rows: HashMap<Value, Rows>,
}

/// A whole that is zero but for some slices of one dimension.
#[derive(Clone)]
struct Slices {
    whole: TensorType,
    dimension: i64,
    /// Start, end and what is there, in their order.
    slices: Vec<(i64, i64, Operand)>,
}

/// A table that is zero but for some rows.
struct Rows {
    numbers: Operand,
    rows: Operand,
}

impl Rewrite for Parts {
    fn node(&mut self, node: Node, values: &[ValueInfo]) -> Outcome {
        let tensor = |value: Value| values.get(value.index()).and_then(|info| info.ty.tensor());
        let (Op::Operator(name), [output]) = (&node.op, &node.outputs[..]) else {
            return Outcome::Stays(node);
        };
        let output = *output;
        match (&**name, &node.operands[..]) {
            ("aten.slice_backward.default", operands) => {
                if let Some(slices) = tensor(output).and_then(|whole| Slices::one(operands, whole, tensor)) {
                    self.slices.insert(output, slices);
                }
            }
            ("aten.embedding_dense_backward.default", operands) => {
                if let Some(rows) = Rows::of(operands, tensor) {
                    self.rows.insert(output, rows);
                }
            }
            ("aten.add.Tensor", [Operand::Value(a), Operand::Value(b), Operand::Int(1)])
                if tensor(*a) == tensor(*b) && tensor(*a) == tensor(output) =>
            {
                if let Some(sum) = self.slices.get(a).zip(self.slices.get(b)).and_then(|(a, b)| a.beside(b)) {
                    let joined = sum.joined();
                    self.slices.insert(output, sum);
                    if let Some(operands) = joined {
                        return Outcome::Stays(Node { op: operator("aten.cat.default"), operands, ..node });
                    }
                }
                let added = [(*a, *b), (*b, *a)].into_iter().find_map(|(table, rows)| {
                    let Rows { numbers, rows } = self.rows.get(&rows)?;
                    Some(vec![table.into(), Operand::Int(0), numbers.clone(), rows.clone(), Operand::Int(1)])
                });
                if let Some(operands) = added {
                    return Outcome::Stays(Node { op: operator("aten.index_add.default"), operands, ..node });
                }
            }
            _ => {}
        }
        Outcome::Stays(node)
    }
}

fn operator(name: &str) -> Op {
    Op::Operator(name.into())
}

impl Slices {
    /// `slice_backward(gradient, sizes, dimension, start, end, step)`.
    fn one<'a>(
        operands: &[Operand],
        whole: &TensorType,
        tensor: impl Fn(Value) -> Option<&'a TensorType>,
    ) -> Option<Self> {
        let [
            Operand::Value(part),
            _,
            Operand::Int(dimension),
            Operand::Int(start),
            Operand::Int(end),
            Operand::Int(1),
        ] = operands
        else {
            return None;
        };
        let mut sizes = whole.sizes()?;
        let dimension = if *dimension < 0 { dimension + sizes.len() as i64 } else { *dimension };
        let size = sizes.get_mut(usize::try_from(dimension).ok()?)?;
        let within =
            |bound: i64| (if bound < 0 { bound + *size as i64 } else { bound }).clamp(0, *size as i64);
        let (start, end) = (within(*start), within(*end));
        *size = u64::try_from(end - start).ok()?;
        let part_type = tensor(*part)?;
        let is_part = part_type.dtype == whole.dtype && part_type.sizes()? == sizes;
        is_part.then(|| Self { whole: whole.clone(), dimension, slices: vec![(start, end, (*part).into())] })
    }

    /// Both, where they have nothing in common.
    fn beside(&self, other: &Self) -> Option<Self> {
        if self.dimension != other.dimension || self.whole != other.whole {
            return None;
        }
        let mut slices = [&self.slices[..], &other.slices].concat();
        slices.sort_by_key(|(start, end, _)| (*start, *end));
        let is_apart = slices.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        is_apart.then(|| Self { slices, ..self.clone() })
    }

    /// What `cat` is given where there are no zeros left.
    fn joined(&self) -> Option<Vec<Operand>> {
        let size = *self.whole.sizes()?.get(usize::try_from(self.dimension).ok()?)?;
        let covered: i64 = self.slices.iter().map(|(start, end, _)| end - start).sum();
        let parts = self.slices.iter().map(|(_, _, part)| part.clone()).collect();
        (u64::try_from(covered) == Ok(size)).then(|| vec![Operand::List(parts), Operand::Int(self.dimension)])
    }
}

impl Rows {
    /// `embedding_dense_backward(gradient, numbers, count, padding, by frequency)`, where there are fewer rows than the
    /// table has: a table of zeros costs more than they do.
    fn of<'a>(operands: &[Operand], tensor: impl Fn(Value) -> Option<&'a TensorType>) -> Option<Self> {
        let [
            Operand::Value(rows),
            Operand::Value(numbers),
            Operand::Int(count),
            Operand::Int(-1),
            Operand::Bool(false),
        ] = operands
        else {
            return None;
        };
        let is_fewer = matches!(tensor(*numbers)?.sizes()?[..], [length] if i64::try_from(length).is_ok_and(|length| length <= *count));
        let is_plain = tensor(*rows)?.rank() == Some(2);
        (is_fewer && is_plain).then(|| Self { numbers: (*numbers).into(), rows: (*rows).into() })
    }
}
