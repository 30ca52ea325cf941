//! Views, and copies of parts.

use crate::batching::lane::{Lane, List};
use crate::batching::{Batching, size_list};
use crate::ir::graph::{Node, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{MemoryFormat, Type, dimension};

impl Batching<'_> {
    pub(super) fn view(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        if let ("select.int", [Lane::Same(x), Lane::Same(Operand::Int(dim)), Lane::Index { start, step }]) =
            (name, lanes)
        {
            return self.slices(node, x, *dim, *start, *step);
        }
        let [Lane::Each(x), rest @ ..] = lanes else { return None };
        let x = *x;
        let rank = self.ty(&x.into()).tensor()?.rank()? - 1;
        let result = self.values[node.outputs.first()?.index()].ty.clone();
        let behind = |dim: &Operand, rank: usize| match dim {
            Operand::Int(dim) => dimension(*dim, rank).map(|dim| Operand::Int(dim as i64 + 1)),
            _ => None,
        };
        let rest = rest.iter().map(Lane::same).collect::<Option<Vec<_>>>()?;
        let operands = match (name, &rest[..]) {
            ("view.default" | "_unsafe_view.default" | "reshape.default", [_]) => {
                // Strides that allow a view for one iteration allow it for all, but `reshape` does not depend on that.
                let operands = vec![x.into(), size_list(&self.batched_type(&result)?.sizes()?)];
                return self.batched(&Node { op: Op::aten("reshape.default"), ..node.clone() }, operands);
            }
            ("expand.default", [_, implicit]) => {
                let sizes = self.batched_type(&result)?.sizes()?;
                if sizes.len() != rank + 1 {
                    return None;
                }
                vec![size_list(&sizes), implicit.clone()]
            }
            ("select.int", [dim, index]) => vec![behind(dim, rank)?, index.clone()],
            ("slice.Tensor", [dim, start, end, step]) => {
                vec![behind(dim, rank)?, start.clone(), end.clone(), step.clone()]
            }
            ("unsqueeze.default", [dim]) => vec![behind(dim, rank + 1)?],
            ("squeeze.dim", [dim]) => vec![behind(dim, rank)?],
            ("squeeze.dims", [Operand::List(dims)]) => {
                vec![Operand::List(dims.iter().map(|dim| behind(dim, rank)).collect::<Option<_>>()?)]
            }
            ("transpose.int", [first, second]) => vec![behind(first, rank)?, behind(second, rank)?],
            ("t.default", []) if rank == 2 => {
                let operands = vec![x.into(), 1.into(), 2.into()];
                return self.batched(&Node { op: Op::aten("transpose.int"), ..node.clone() }, operands);
            }
            ("permute.default", [Operand::List(dims)]) => {
                let dims = dims.iter().map(|dim| behind(dim, rank)).collect::<Option<Vec<_>>>()?;
                vec![Operand::List([vec![Operand::Int(0)], dims].concat())]
            }
            ("select_backward.default", [_, dim, index]) => {
                let sizes = self.batched_type(&result)?.sizes()?;
                vec![size_list(&sizes), behind(dim, sizes.len() - 1)?, index.clone()]
            }
            ("slice_backward.default", [_, dim, start, end, step]) => {
                let sizes = self.batched_type(&result)?.sizes()?;
                let dim = behind(dim, sizes.len() - 1)?;
                vec![size_list(&sizes), dim, start.clone(), end.clone(), step.clone()]
            }
            ("unbind.int", [dim]) => return self.unbind(node, x, dim, rank),
            _ => return None,
        };
        self.batched(node, [vec![x.into()], operands].concat())
    }

    /// `x[index]`, where `index` is computed from the index of the loop: a slice whose dimension becomes the first one.
    fn slices(&mut self, node: &Node, x: &Operand, dim: i64, start: i64, step: i64) -> Option<()> {
        let ty = self.ty(x).tensor()?.clone();
        let mut sizes = ty.sizes()?;
        let dim = dimension(dim, sizes.len())?;
        let last = step.checked_mul(self.iterations.cast_signed() - 1)?.checked_add(start)?;
        (start >= 0 && step > 0 && last < sizes[dim].cast_signed()).then_some(())?;
        let wanted = self.batched_type(&self.values[node.outputs.first()?.index()].ty)?;
        sizes[dim] = self.iterations;
        let bounds = [start, last + 1, step].map(Operand::Int);
        let operands = [vec![x.clone(), (dim as i64).into()], bounds.to_vec()].concat();
        let mut each = self.tensor("slice.Tensor", operands, &ty, &sizes);
        if dim > 0 {
            let mut dims: Vec<usize> = (0..sizes.len()).collect();
            dims.remove(dim);
            dims.insert(0, dim);
            let dims = Operand::List(dims.into_iter().map(|dim| Operand::Int(dim as i64)).collect());
            let moved =
                self.emit(Op::aten("permute.default"), vec![each.into(), dims], Type::Tensor(wanted.clone()));
            let format = Operand::MemoryFormat(MemoryFormat::Contiguous);
            each = self.emit(Op::aten("clone.default"), vec![moved.into(), format], Type::Tensor(wanted));
        }
        self.define_each(node.outputs[0], each)
    }

    fn unbind(&mut self, node: &Node, x: Value, dim: &Operand, rank: usize) -> Option<()> {
        let Operand::Int(dim) = dim else { return None };
        let dim = dimension(*dim, rank)? + 1;
        let length = self.sizes(&x.into())?[dim];
        let Type::List(item) = self.values[node.outputs[0].index()].ty.clone() else { return None };
        let ty = Type::list(Type::Tensor(self.batched_type(&item)?));
        let value = self.emit(Op::aten("unbind.int"), vec![x.into(), (dim as i64).into()], ty);
        let list = Lane::List(List { value, length: Some(length), place: None });
        self.lanes.insert(node.outputs[0], list);
        Some(())
    }
}
