//! Operators whose result is a view, and operators that copy tensors into parts of a new one.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand, Type};

use super::lists::ListItem;
use super::{Item, Lowering, ints, keeps_layout};
use crate::pass::Pass;
use crate::program::{ARENA, Number, Step};
use crate::view::{Place, View, contiguous};

impl Lowering<'_> {
    /// Lowers views and copies.
    pub(super) fn view_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let operands = &node.operands[..];
        let view = match (name, operands) {
            ("select.int", [a, dim, index]) => {
                let a = self.tensor(a)?;
                self.select(&a, dim, index)?
            }
            ("slice.Tensor", [a, dim, start, end, step]) => {
                let a = self.tensor(a)?;
                slice(&a, dim, start, end, step)?
            }
            ("t.default", [a]) => {
                let a = self.tensor(a)?;
                if a.rank() < 2 { a } else { transpose(&a, 0, 1)? }
            }
            ("transpose.int", [a, Operand::Int(first), Operand::Int(second)]) => {
                let a = self.tensor(a)?;
                let (first, second) = (dimension(*first, a.rank())?, dimension(*second, a.rank())?);
                transpose(&a, first, second)?
            }
            ("permute.default", [a, dims]) => {
                let a = self.tensor(a)?;
                let dims = ints(dims)?
                    .into_iter()
                    .map(|dim| dimension(dim, a.rank()))
                    .collect::<Option<Vec<_>>>()?;
                let sizes = dims.iter().map(|dim| a.sizes[*dim]).collect();
                let strides = dims.iter().map(|dim| a.strides[*dim]).collect();
                a.with(sizes, strides, 0)
            }
            ("expand.default", [a, _, Operand::Bool(false)]) => {
                let a = self.tensor(a)?;
                a.expand(&self.result(node)?.1)?
            }
            ("unsqueeze.default", [a, Operand::Int(dim)]) => {
                let a = self.tensor(a)?;
                let dim = dimension(*dim, a.rank() + 1)?;
                let stride = if dim < a.rank() { a.strides[dim] * a.sizes[dim] } else { 1 };
                let (mut sizes, mut strides) = (a.sizes.clone(), a.strides.clone());
                sizes.insert(dim, 1);
                strides.insert(dim, stride);
                a.with(sizes, strides, 0)
            }
            ("squeeze.default" | "squeeze.dim" | "squeeze.dims", [a, ..]) => {
                let a = self.tensor(a)?;
                let wanted = self.result(node)?.1;
                let kept: Vec<usize> = match operands.get(1) {
                    None => (0..a.rank()).filter(|dim| a.sizes[*dim] != 1).collect(),
                    Some(dims) => {
                        let dims = if let Operand::Int(dim) = dims { vec![*dim] } else { ints(dims)? };
                        let dims = dims
                            .into_iter()
                            .map(|dim| dimension(dim, a.rank()))
                            .collect::<Option<Vec<_>>>()?;
                        (0..a.rank()).filter(|dim| a.sizes[*dim] != 1 || !dims.contains(dim)).collect()
                    }
                };
                let sizes: Vec<usize> = kept.iter().map(|dim| a.sizes[*dim]).collect();
                (sizes == wanted).then_some(())?;
                a.with(sizes, kept.iter().map(|dim| a.strides[*dim]).collect(), 0)
            }
            ("view.default" | "_unsafe_view.default" | "reshape.default", [a, _]) => {
                let a = self.tensor(a)?;
                let sizes = self.result(node)?.1;
                (a.count() == sizes.iter().product::<usize>()).then_some(())?;
                match a.reshape(&sizes) {
                    Some(view) => view,
                    None if name == "reshape.default" => {
                        // Torch also copies here, unless other strides allow a view.
                        let mut copy = self.as_contiguous(&a)?;
                        copy.has_torch_layout = false;
                        copy.reshape(&sizes)?
                    }
                    None => return None,
                }
            }
            ("alias.default" | "detach.default", [a]) => self.tensor(a)?,
            ("select_backward.default", [gradient, _, dim, index]) => {
                let gradient = self.tensor(gradient)?;
                let out = self.zeros(node)?;
                let part = self.select(&out, dim, index)?;
                self.copy(&part, &gradient)?;
                out
            }
            ("slice_backward.default", [gradient, _, dim, start, end, step]) => {
                let gradient = self.tensor(gradient)?;
                let out = self.zeros(node)?;
                let part = slice(&out, dim, start, end, step)?;
                (part.sizes == gradient.sizes).then_some(())?;
                self.copy(&part, &gradient)?;
                out
            }
            ("select_scatter.default", [a, source, dim, index]) => {
                let (out, source) = (self.copied(a)?, self.tensor(source)?);
                let part = self.select(&out, dim, index)?;
                self.copy(&part, &source)?;
                out
            }
            ("slice_scatter.default", [a, source, dim, start, end, step]) => {
                let (out, source) = (self.copied(a)?, self.tensor(source)?);
                let part = slice(&out, dim, start, end, step)?;
                (part.sizes == source.sizes).then_some(())?;
                self.copy(&part, &source)?;
                out
            }
            ("cat.default" | "stack.default", [Operand::List(items), Operand::Int(dim)]) => {
                self.joined(name == "stack.default", node, items, *dim)?
            }
            ("cat.default" | "stack.default", [list, Operand::Int(dim)]) => {
                self.joined_list(name == "stack.default", node, list, *dim)?
            }
            ("split.Tensor", [a, Operand::Int(size), Operand::Int(0)]) => {
                let size = usize::try_from(*size).ok().filter(|size| *size > 0)?;
                return self.split(node, a, size, |part| part[0] = size);
            }
            ("unbind.int" | "unbind_copy.int", [a, Operand::Int(0)]) => {
                return self.split(node, a, 1, |part| {
                    part.remove(0);
                });
            }
            _ => return None,
        };
        self.define_result(node, view)
    }

    /// `a.select(dim, index)`. If the index is known only at run time, a step checks it.
    fn select(&mut self, a: &View, dim: &Operand, index: &Operand) -> Option<View> {
        let Operand::Int(dim) = dim else { return None };
        let dim = dimension(*dim, a.rank())?;
        let (size, stride) = (a.sizes[dim], a.strides[dim]);
        let (mut sizes, mut strides) = (a.sizes.clone(), a.strides.clone());
        sizes.remove(dim);
        strides.remove(dim);
        match self.number(index)? {
            (Number::Const(index), _) => {
                let index = dimension(index.cast_signed(), size)?;
                Some(a.with(sizes, strides, index * stride))
            }
            (index, Kind::Int) => {
                let base = self.new_base();
                let bytes = (stride * a.element.size()) as u32;
                self.step(Step::Address { base, from: a.place, index, size: size as u32, stride: bytes });
                let mut view = a.with(sizes, strides, 0);
                view.place = Place { base, offset: 0 };
                Some(view)
            }
            _ => None,
        }
    }

    pub(super) fn zeros(&mut self, node: &Node) -> Option<View> {
        let (element, sizes) = self.result(node)?;
        let out = self.allocate(element, &sizes)?;
        self.step(Step::Zero { out: out.place, bytes: (out.count() * element.size()) as u32 });
        Some(out)
    }

    /// Returns a contiguous tensor with the elements of the operand, into which a part can be written: its own memory, if
    /// nothing uses it after this node, otherwise a copy.
    pub(super) fn copied(&mut self, operand: &Operand) -> Option<View> {
        let a = self.tensor(operand)?;
        if self.is_consumed(operand, &a) {
            self.fired.count(Pass::InPlaceResults);
            return Some(a);
        }
        let mut out = self.allocate(a.element, &a.sizes)?;
        out.has_torch_layout = keeps_layout(&a, &out.sizes);
        self.copy(&out, &a)?;
        Some(out)
    }

    /// Returns whether the current node is the last use of an operand, and its memory holds no other value. It may be the
    /// memory of a loop-carried value, which is assigned at the end of the iteration.
    fn is_consumed(&self, operand: &Operand, view: &View) -> bool {
        let (Some(value), Some(buffer)) = (operand.value(), view.buffer) else { return false };
        let is_whole = view.place.base == ARENA
            && view.is_contiguous()
            && self.arena.extent(buffer) == (view.place.offset as usize, view.count() * view.element.size());
        let users = 1 + u32::from(self.slot_buffers.contains(&buffer));
        // A list may have its items in the memory of the joined tensor.
        self.options.passes.has(Pass::InPlaceResults)
            && is_whole
            && !self.joined.contains(&buffer)
            && self.dying.contains(&value)
            && self.arena.users(buffer) == users
    }

    /// Concatenates or stacks tensors: copies each to its part of the result.
    fn joined(&mut self, is_stack: bool, node: &Node, items: &[Operand], dim: i64) -> Option<View> {
        let (element, sizes) = self.result(node)?;
        let mut out = self.allocate(element, &sizes)?;
        let dim = dimension(dim, sizes.len())?;
        let mut start = 0;
        for item in items {
            let mut view = self.operand_as(item, element)?;
            // For images in channels-last layout, torch's result has this layout too.
            out.has_torch_layout &= sizes.len() < 4 || view.has_torch_layout && view.is_contiguous();
            if is_stack {
                view.sizes.insert(dim, 1);
                view.strides.insert(dim, 0);
            }
            // `torch.cat` skips empty vectors.
            (view.rank() == out.rank()).then_some(())?;
            let size = view.sizes[dim];
            let mut part = sizes.clone();
            part[dim] = size;
            (view.sizes == part && start + size <= sizes[dim]).then_some(())?;
            let part = out.with(part, out.strides.clone(), start * out.strides[dim]);
            self.copy(&part, &view)?;
            start += size;
        }
        (start == sizes[dim]).then_some(out)
    }

    /// Joins the items of a list. The length of the list is checked at run time.
    fn joined_list(&mut self, is_stack: bool, node: &Node, list: &Operand, dim: i64) -> Option<View> {
        let (Item::List(list, ListItem::Tensor(element, item)), _) = self.items.get(&list.value()?)?.clone()
        else {
            return None;
        };
        let (result, sizes) = self.result(node)?;
        let dim = dimension(dim, sizes.len())?;
        (element == result).then_some(())?;
        // The number of items, computed from the size of the result in dimension `dim`.
        let in_item = if is_stack { 1 } else { *item.get(dim)? };
        let count = sizes[dim].checked_div(in_item)?;
        let mut expected = item.clone();
        if is_stack {
            (dim <= item.len()).then(|| expected.insert(dim, count))?;
        } else {
            expected[dim] = count * in_item;
        }
        (expected == sizes).then_some(())?;
        let out = self.allocate_copy(element, &sizes)?;
        // The items, one after the other.
        let joined = if dim == 0 { out.clone() } else { self.allocate_copy(element, &sizes)? };
        let bytes = (joined.count() * element.size()) as u32;
        self.step(Step::Concat { out: joined.place, list, bytes });
        if dim == 0 {
            self.note_joined(&out);
            return Some(out);
        }
        // Both tensors are viewed with an additional dimension at position `dim`: the number of the item.
        let with_number = |mut strides: Vec<usize>, stride: usize, view: &View| {
            let mut sizes = item.clone();
            sizes.insert(dim, count);
            strides.insert(dim, stride);
            view.with(sizes, strides, 0)
        };
        let (mut strides, stride) = (out.strides.clone(), out.strides[dim]);
        if is_stack {
            strides.remove(dim);
        }
        let to = with_number(strides, stride * in_item, &out);
        let from = with_number(contiguous(&item), item.iter().product(), &joined);
        self.copy(&to, &from)?;
        Some(out)
    }

    /// Splits a tensor along the first dimension into a list of parts with `size` rows each. `shape` changes the shape of
    /// the tensor to that of a part.
    fn split(
        &mut self,
        node: &Node,
        a: &Operand,
        size: usize,
        shape: impl FnOnce(&mut Vec<usize>),
    ) -> Option<()> {
        let a = self.tensor(a)?;
        let a = self.as_contiguous(&a)?;
        let mut part = a.sizes.clone();
        (part.first()? % size == 0 && a.count() > 0).then_some(())?;
        shape(&mut part);
        let [output] = node.outputs[..] else { return None };
        matches!(self.function.ty(output), Type::List(_)).then_some(())?;
        let list = self.new_list();
        let bytes = (a.count() * a.element.size()) as u32;
        self.step(Step::Split { list, a: a.place, bytes });
        self.define(output, Item::List(list, ListItem::Tensor(a.element, part)));
        Some(())
    }
}

fn transpose(a: &View, first: usize, second: usize) -> Option<View> {
    let (mut sizes, mut strides) = (a.sizes.clone(), a.strides.clone());
    (first < sizes.len() && second < sizes.len()).then_some(())?;
    sizes.swap(first, second);
    strides.swap(first, second);
    Some(a.with(sizes, strides, 0))
}

/// `a[start:end:step]` in a dimension, with bounds as in Python.
fn slice(a: &View, dim: &Operand, start: &Operand, end: &Operand, step: &Operand) -> Option<View> {
    let (Operand::Int(dim), Operand::Int(step)) = (dim, step) else { return None };
    let dim = dimension(*dim, a.rank())?;
    let step = usize::try_from(*step).ok().filter(|step| *step > 0)?;
    let size = a.sizes[dim];
    let bound = |bound: &Operand, missing: usize| match bound {
        Operand::None => Some(missing),
        Operand::Int(index) => {
            let index = if *index < 0 { index.saturating_add(size as i64) } else { *index };
            Some(usize::try_from(index).unwrap_or(0).min(size))
        }
        _ => None,
    };
    let (start, end) = (bound(start, 0)?, bound(end, size)?);
    let (mut sizes, mut strides) = (a.sizes.clone(), a.strides.clone());
    sizes[dim] = end.saturating_sub(start).div_ceil(step);
    strides[dim] *= step;
    (sizes[dim] > 0).then(|| a.with(sizes, strides, start * a.strides[dim]))
}
