//! The results of a batched loop.

use super::lane::{Lane, List};
use super::{Batching, size_list};
use crate::ir::graph::Value;
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::Type;

impl Batching<'_> {
    /// Returns the result of the loop at a place. `start` is its value before the loop, `ty` its type.
    pub(super) fn output(
        &mut self,
        place: usize,
        lane: Lane,
        start: &Operand,
        ty: &Type,
        is_empty: &dyn Fn(Value) -> bool,
        rows: &mut Vec<(Value, Value)>,
    ) -> Option<Value> {
        match lane {
            Lane::Same(operand) => operand.value(),
            // The last iteration assigns the value.
            Lane::Each(value) => {
                let last = Operand::Int(self.iterations.cast_signed() - 1);
                Some(self.emit(Op::aten("select.int"), vec![value.into(), 0.into(), last], ty.clone()))
            }
            Lane::Carried { place: from, sum } => {
                (from == place).then_some(())?;
                let Some(sum) = sum else { return start.value() };
                let tensor = ty.tensor()?;
                let operands = vec![sum.into(), Operand::List(vec![0.into()]), false.into(), Operand::None];
                let sum = self.tensor("sum.dim_IntList", operands, tensor, &tensor.sizes()?);
                let operands = vec![start.clone(), sum.into(), 1.into()];
                Some(self.emit(Op::aten("add.Tensor"), operands, ty.clone()))
            }
            Lane::List(list) => {
                (list.place == Some(place)).then_some(())?;
                let start = start.value()?;
                if list.length == Some(0) {
                    return Some(start);
                }
                let items = self.appended(&list)?;
                // Items must not share memory, because the program may change one of them in place.
                let appended =
                    self.emit(Op::aten("unbind_copy.int"), vec![items.into(), 0.into()], ty.clone());
                if is_empty(start) {
                    rows.push((appended, items));
                    return Some(appended);
                }
                Some(self.emit(Op::ListConcat, vec![start.into(), appended.into()], ty.clone()))
            }
            Lane::Index { .. } | Lane::Tree(_) => None,
        }
    }

    /// Returns a tensor whose rows are the items that all iterations append to a list, in order.
    fn appended(&mut self, list: &List) -> Option<Value> {
        let (stacked, sizes) = self.stacked(list)?;
        let like = self.ty(&stacked.into()).tensor()?.clone();
        let [iterations, length, item @ ..] = &sizes[..] else { return None };
        let sizes = [&[iterations * length], item].concat();
        Some(self.tensor("reshape.default", vec![stacked.into(), size_list(&sizes)], &like, &sizes))
    }
}
