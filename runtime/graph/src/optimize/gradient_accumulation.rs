//! Gradient accumulation: rewrites sums of gradients of slices and rows. Such a gradient is a tensor of zeros except
//! for the slice or the rows.
//!
//! - `slice_backward(a, …) + slice_backward(b, …)` becomes `cat([a, b])`, if the slices are adjacent and
//!   cover the tensor;
//! - `t + embedding_dense_backward(g, rows, …)` becomes `index_add(t, 0, rows, g)`;
//! - `t + select_backward(g, …)` becomes `select_scatter(t, select(t, …) + g, …)`, and slices likewise. A loop that
//!   reads `x[i]` adds such a gradient in each iteration, and the native tier computes the sum in the memory of `t`.
//!
//! The sign of a zero may change, and sums over repeated rows may round differently.

use std::collections::HashMap;

use super::rewrite::{Rewrite, Rewritten, rewrite};
use crate::ir::graph::{Function, Node, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{TensorType, Type};

pub(super) fn run(function: &mut Function) {
    rewrite(function, &mut GradientAccumulation::default());
}

#[derive(Default)]
struct GradientAccumulation {
    slices: HashMap<Value, Slices>,
    rows: HashMap<Value, Rows>,
    parts: HashMap<Value, Part>,
}

/// A tensor that is zero except for a part, which is selected by an operator.
struct Part {
    gradient: Value,
    select: &'static str,
    scatter: &'static str,
    /// The operands of both operators behind the tensors.
    operands: Vec<Operand>,
}

/// A tensor that is zero except for some slices along one dimension.
#[derive(Clone)]
struct Slices {
    whole: TensorType,
    dimension: i64,
    /// The start, the end and the content of each slice, in order.
    slices: Vec<(i64, i64, Operand)>,
}

/// A table that is zero except for some rows.
struct Rows {
    indices: Operand,
    rows: Operand,
}

impl Rewrite for GradientAccumulation {
    fn node(&mut self, node: Node, values: &mut Vec<ValueInfo>) -> Rewritten {
        if let Some(replaced) = self.part_added(&node, values) {
            return replaced;
        }
        let tensor = |value: Value| values.get(value.index()).and_then(|info| info.ty.tensor());
        let (Op::Operator(operator), [output]) = (&node.op, &node.outputs[..]) else {
            return Rewritten::Keep(node);
        };
        let output = *output;
        if let Some(part) = Part::of(operator.text(), &node.operands) {
            self.parts.insert(output, part);
        }
        match (operator.text(), &node.operands[..]) {
            ("aten.slice_backward.default", operands) => {
                if let Some(slices) = tensor(output).and_then(|whole| Slices::of(operands, whole, tensor)) {
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
                if let Some(sum) = self.slices.get(a).zip(self.slices.get(b)).and_then(|(a, b)| a.union(b)) {
                    let cat = sum.as_cat();
                    self.slices.insert(output, sum);
                    if let Some(operands) = cat {
                        return Rewritten::Keep(Node { op: Op::aten("cat.default"), operands, ..node });
                    }
                }
                let added = [(*a, *b), (*b, *a)].into_iter().find_map(|(table, rows)| {
                    let Rows { indices, rows } = self.rows.get(&rows)?;
                    Some(vec![table.into(), Operand::Int(0), indices.clone(), rows.clone(), Operand::Int(1)])
                });
                if let Some(operands) = added {
                    return Rewritten::Keep(Node { op: Op::aten("index_add.default"), operands, ..node });
                }
            }
            _ => {}
        }
        Rewritten::Keep(node)
    }
}

impl GradientAccumulation {
    /// Rewrites the addition of a tensor that is zero except for a part.
    fn part_added(&self, node: &Node, values: &mut Vec<ValueInfo>) -> Option<Rewritten> {
        let (Op::Operator(operator), [Operand::Value(a), Operand::Value(b), Operand::Int(1)], [output]) =
            (&node.op, &node.operands[..], &node.outputs[..])
        else {
            return None;
        };
        (operator.text() == "aten.add.Tensor").then_some(())?;
        let tensor = |value: Value| values.get(value.index())?.ty.tensor().cloned();
        // Two slices may become a `cat`.
        let are_slices = self.slices.contains_key(a) && self.slices.contains_key(b);
        let (whole, part) = [(*a, *b), (*b, *a)]
            .into_iter()
            .find_map(|(whole, part)| Some((whole, self.parts.get(&part)?)))?;
        let ty = tensor(part.gradient)?;
        let result = tensor(*output)?;
        let is_same = [whole, *a, *b].into_iter().all(|value| tensor(value).as_ref() == Some(&result));
        (is_same && !are_slices && ty.dtype == result.dtype).then_some(())?;
        let mut emitted = Vec::with_capacity(3);
        let mut emit = |operator: &str, operands: Vec<Operand>, ty: TensorType| {
            let value = Value(u32::try_from(values.len()).ok()?);
            values.push(ValueInfo { ty: Type::Tensor(ty), name: None });
            emitted.push(Node { op: Op::aten(operator), operands, outputs: vec![value], ..node.clone() });
            Some(Operand::Value(value))
        };
        let before = emit(part.select, [&[whole.into()], &part.operands[..]].concat(), ty.clone())?;
        let sum = emit("add.Tensor", vec![before, part.gradient.into(), Operand::Int(1)], ty)?;
        let result = emit(part.scatter, [&[whole.into(), sum], &part.operands[..]].concat(), result)?;
        Some(Rewritten::Inline(emitted, vec![result]))
    }
}

impl Part {
    fn of(operator: &str, operands: &[Operand]) -> Option<Self> {
        let (Operand::Value(gradient), rest) = (operands.first()?, operands.get(2..)?) else { return None };
        let (select, scatter) = match operator {
            "aten.select_backward.default" => ("select.int", "select_scatter.default"),
            "aten.slice_backward.default" => ("slice.Tensor", "slice_scatter.default"),
            _ => return None,
        };
        Some(Self { gradient: *gradient, select, scatter, operands: rest.to_vec() })
    }
}

impl Slices {
    /// `slice_backward(gradient, sizes, dimension, start, end, step)`.
    fn of<'a>(
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

    /// Returns the union, if the slices do not overlap.
    fn union(&self, other: &Self) -> Option<Self> {
        if self.dimension != other.dimension || self.whole != other.whole {
            return None;
        }
        let mut slices = [&self.slices[..], &other.slices].concat();
        slices.sort_by_key(|(start, end, _)| (*start, *end));
        let is_disjoint = slices.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        is_disjoint.then(|| Self { slices, ..self.clone() })
    }

    /// Returns the operands of `cat`, if the slices cover the whole tensor.
    fn as_cat(&self) -> Option<Vec<Operand>> {
        let size = *self.whole.sizes()?.get(usize::try_from(self.dimension).ok()?)?;
        let covered: i64 = self.slices.iter().map(|(start, end, _)| end - start).sum();
        let parts = self.slices.iter().map(|(_, _, part)| part.clone()).collect();
        (u64::try_from(covered) == Ok(size)).then(|| vec![Operand::List(parts), Operand::Int(self.dimension)])
    }
}

impl Rows {
    /// Returns the rows of `embedding_dense_backward(gradient, indices, count, padding, scale by frequency)`. `None` if
    /// there are at least as many indices as rows in the table: then the table of zeros is cheaper.
    fn of<'a>(operands: &[Operand], tensor: impl Fn(Value) -> Option<&'a TensorType>) -> Option<Self> {
        let [
            Operand::Value(rows),
            Operand::Value(indices),
            Operand::Int(count),
            Operand::Int(-1),
            Operand::Bool(false),
        ] = operands
        else {
            return None;
        };
        let has_fewer_rows = matches!(tensor(*indices)?.sizes()?[..], [length] if i64::try_from(length).is_ok_and(|length| length <= *count));
        let is_matrix = tensor(*rows)?.rank() == Some(2);
        (has_fewer_rows && is_matrix).then(|| Self { indices: (*indices).into(), rows: (*rows).into() })
    }
}
