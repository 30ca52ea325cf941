//! Lists of tensors.

use super::Batching;
use super::lane::{Lane, List};
use crate::ir::graph::{Node, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{Type, dimension};

/// The maximum number of items that are read one by one.
const MOST_ITEMS: u64 = 64;

impl Batching<'_> {
    /// Returns a list of tensors of this type. `place` is the result of the loop that the list becomes.
    pub(super) fn new_list(&mut self, item: &Type, items: &[Lane], place: Option<usize>) -> Option<Lane> {
        let ty = Type::list(Type::Tensor(self.batched_type(item)?));
        let length = Some(items.len() as u64);
        let items = items.iter().map(|item| self.each(item)).collect::<Option<Vec<_>>>()?;
        let value = self.emit(Op::ListNew, items.into_iter().map(Operand::Value).collect(), ty);
        Some(Lane::List(List { value, length, place }))
    }

    pub(super) fn list(&mut self, node: &Node, lanes: &[Lane]) -> Option<()> {
        let lane = match (&node.op, lanes) {
            (Op::ListNew, items) => {
                let Type::List(item) = self.values[node.outputs[0].index()].ty.clone() else { return None };
                self.new_list(&item, items, None)?
            }
            (Op::ListAppend, [Lane::List(list), item]) => {
                let item = self.each(item)?;
                let ty = self.values[list.value.index()].ty.clone();
                let length = list.length.map(|length| length + 1);
                let value = self.emit(Op::ListAppend, vec![list.value.into(), item.into()], ty);
                Lane::List(List { value, length, ..list.clone() })
            }
            (Op::ListGet, [Lane::List(list @ List { place: None, .. }), Lane::Same(index)]) => {
                let ty = self.item_type(list)?;
                Lane::Each(self.emit(Op::ListGet, vec![list.value.into(), index.clone()], ty))
            }
            (Op::ListSet, [Lane::List(list @ List { place: None, .. }), Lane::Same(index), item]) => {
                let item = self.each(item)?;
                let ty = self.values[list.value.index()].ty.clone();
                let operands = vec![list.value.into(), index.clone(), item.into()];
                Lane::List(List { value: self.emit(Op::ListSet, operands, ty), ..list.clone() })
            }
            (Op::ListLen, [Lane::List(list @ List { place: None, .. })]) => {
                Lane::Same(self.emit(Op::ListLen, vec![list.value.into()], Type::Int).into())
            }
            // `tasks[index]`, where `tasks` is a list from outside
            (Op::ListGet, [Lane::Same(list), Lane::Index { start, step }]) => {
                let Type::List(item) = self.ty(list) else { return None };
                (self.iterations <= MOST_ITEMS).then_some(())?;
                let ty = self.batched_type(&item)?;
                let indices = (0..self.iterations.cast_signed()).map(|iteration| start + step * iteration);
                let items: Vec<Operand> = indices
                    .map(|index| {
                        self.emit(Op::ListGet, vec![list.clone(), index.into()], (*item).clone()).into()
                    })
                    .collect();
                Lane::Each(self.emit(
                    Op::aten("stack.default"),
                    vec![items.into(), 0.into()],
                    Type::Tensor(ty),
                ))
            }
            _ => return None,
        };
        self.has_batched |= matches!(lane, Lane::Each(_));
        self.lanes.insert(*node.outputs.first()?, lane);
        Some(())
    }

    fn item_type(&self, list: &List) -> Option<Type> {
        let Type::List(item) = &self.values[list.value.index()].ty else { return None };
        Some((**item).clone())
    }

    /// Returns a tensor and its sizes. Its first dimension is the iteration, the second one is the item, and the others
    /// are those of an item.
    pub(super) fn stacked(&mut self, list: &List) -> Option<(Value, Vec<u64>)> {
        let Type::Tensor(item) = self.item_type(list)? else { return None };
        let length = list.length.filter(|length| *length > 0)?;
        let mut sizes = item.sizes()?;
        sizes.insert(0, length);
        let stacked = self.tensor("stack.default", vec![list.value.into(), 0.into()], &item, &sizes);
        sizes.swap(0, 1);
        let operands = vec![stacked.into(), 0.into(), 1.into()];
        Some((self.tensor("transpose.int", operands, &item, &sizes), sizes))
    }

    /// `torch.cat(items, dim)`, `torch.stack(items, dim)`
    pub(super) fn joined(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        let [items, Lane::Same(Operand::Int(dim))] = lanes else { return None };
        let ty = self.values[node.outputs.first()?.index()].ty.clone();
        let dim = dimension(*dim, ty.tensor()?.rank()?)?;
        match items {
            Lane::Tree(items) => {
                let items = items.iter().map(|item| self.each(item)).collect::<Option<Vec<_>>>()?;
                let items = Operand::List(items.into_iter().map(Operand::Value).collect());
                self.batched(node, vec![items, Operand::Int(dim as i64 + 1)])
            }
            Lane::List(list @ List { place: None, .. }) if dim == 0 => {
                let (stacked, _) = self.stacked(list)?;
                if name == "stack.default" {
                    return self.define_each(node.outputs[0], stacked);
                }
                let whole = self.batched_type(&ty)?;
                let operands = vec![stacked.into(), super::size_list(&whole.sizes()?)];
                let joined = self.emit(Op::aten("reshape.default"), operands, Type::Tensor(whole));
                self.define_each(node.outputs[0], joined)
            }
            _ => None,
        }
    }
}
