//! Elements and rows at indices: `x[indices]`, `x[:, indices]`, `x[rows, columns]`, `x.gather(dim, indices)`.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand};

use super::Lowering;
use crate::dtype::Element;
use crate::kernels::selection::{Gather, JoinIndices, Pick};
use crate::program::Step;
use crate::view::{Place, View, broadcast};

/// The indices of adjacent dimensions, joined to one contiguous tensor of indices.
pub(super) struct Indices {
    /// The first indexed dimension.
    pub(super) dim: usize,
    /// The number of indexed dimensions.
    pub(super) dims: usize,
    /// The product of their sizes.
    pub(super) size: usize,
    pub(super) view: View,
}

impl Lowering<'_> {
    /// Lowers operators that read elements at indices.
    pub(super) fn indexing_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        match (name, &node.operands[..]) {
            ("index.Tensor", [a, Operand::List(indices)]) => {
                let a = self.tensor(a)?;
                let indices = self.indices(&a, indices)?;
                self.indexed(node, &a, &indices, true)
            }
            ("index_select.default", [a, Operand::Int(dim), indices]) => {
                let (a, view) = (self.tensor(a)?, self.tensor(indices)?);
                let dim = dimension(*dim, a.rank())?;
                (view.element == Element::I64).then_some(())?;
                let view = self.as_contiguous(&view)?;
                self.indexed(node, &a, &Indices { dim, dims: 1, size: a.sizes[dim], view }, false)
            }
            ("embedding.default", [a, indices, ..]) => {
                let (a, view) = (self.tensor(a)?, self.tensor(indices)?);
                (view.element == Element::I64).then_some(())?;
                let view = self.as_contiguous(&view)?;
                self.indexed(node, &a, &Indices { dim: 0, dims: 1, size: *a.sizes.first()?, view }, false)
            }
            ("gather.default", [a, Operand::Int(dim), indices, _]) => self.pick(node, a, *dim, indices),
            _ => None,
        }
    }

    /// Returns the indices of an index expression, in which only adjacent dimensions have indices. The indices are
    /// joined, and checked if there are several.
    pub(super) fn indices(&mut self, a: &View, operands: &[Operand]) -> Option<Indices> {
        let dim = operands.iter().position(|operand| *operand != Operand::None)?;
        let given = &operands[dim..];
        (given.iter().all(|operand| *operand != Operand::None) && operands.len() <= a.rank()).then_some(())?;
        let mut views = Vec::with_capacity(given.len());
        let mut sizes = Vec::new();
        for operand in given {
            let view = self.tensor(operand)?;
            (view.element == Element::I64).then_some(())?;
            sizes = broadcast(&sizes, &view.sizes)?;
            views.push(view);
        }
        let indexed = &a.sizes[dim..dim + views.len()];
        let (dims, size) = (views.len(), indexed.iter().product());
        if let [view] = &views[..] {
            return Some(Indices { dim, dims, size, view: self.as_contiguous(view)? });
        }
        let out = self.allocate(Element::I64, &sizes)?;
        for (number, (view, size)) in views.iter().zip(indexed).enumerate() {
            let view = view.expand(&sizes)?;
            let indices = self.as_contiguous(&view)?;
            let join = JoinIndices { count: out.count(), size: *size, is_first: number == 0 };
            self.step(Step::JoinIndices { join, out: out.place, indices: indices.place });
        }
        Some(Indices { dim, dims, size, view: out })
    }

    /// Lowers the selection of rows: the parts of a tensor behind the indexed dimensions.
    fn indexed(&mut self, node: &Node, a: &View, indices: &Indices, wraps: bool) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let (before, after) = (&a.sizes[..indices.dim], &a.sizes[indices.dim + indices.dims..]);
        let count = indices.view.count();
        (a.element == element && sizes == [before, &indices.view.sizes, after].concat()).then_some(())?;
        let [outer, inner] = [before, after].map(|sizes| sizes.iter().product::<usize>());
        let a = self.as_contiguous(a)?;
        let mut out = self.allocate(element, &sizes)?;
        // In torch, the result of `x[:, indices]` may have another order of dimensions.
        out.has_torch_layout = !wraps || indices.dim == 0;
        let (out_place, a, view) = (out.place, a.place, indices.view.place);
        if outer == 1 {
            let bytes = inner * element.size();
            self.program.gathers.push(Gather { count, rows: indices.size, bytes, wraps });
            let gather = (self.program.gathers.len() - 1) as u32;
            self.step(Step::Gather { gather, out: out_place, a, indices: view });
        } else {
            let pick = Pick {
                sizes: [outer, count, inner],
                index_strides: [0, 1, 0],
                columns: indices.size,
                bytes: element.size(),
                wraps,
            };
            self.picked(pick, &out, a, view);
        }
        self.define_result(node, out)
    }

    /// Lowers `torch.gather`.
    fn pick(&mut self, node: &Node, a: &Operand, dim: i64, indices: &Operand) -> Option<()> {
        let (mut a, indices) = (self.tensor(a)?, self.tensor(indices)?);
        let (element, sizes) = self.result(node)?;
        let dim = dimension(dim, a.rank())?;
        let is_index = indices.element == Element::I64 && indices.rank() == a.rank();
        (is_index && sizes == indices.sizes && a.element == element).then_some(())?;
        // In the other dimensions, the index may be smaller than the operand.
        for other in (0..a.rank()).filter(|other| *other != dim) {
            (sizes[other] <= a.sizes[other]).then_some(())?;
            a.sizes[other] = sizes[other];
        }
        let (a, indices) = (self.as_contiguous(&a)?, self.as_contiguous(&indices)?);
        let out = self.allocate(element, &sizes)?;
        let around = [&sizes[..dim], &sizes[dim..=dim], &sizes[dim + 1..]];
        let around = around.map(|sizes| sizes.iter().product());
        let [_, count, inner] = around;
        let pick = Pick {
            sizes: around,
            index_strides: [count * inner, inner, 1],
            columns: a.sizes[dim],
            bytes: element.size(),
            wraps: false,
        };
        self.picked(pick, &out, a.place, indices.place);
        self.define_result(node, out)
    }

    fn picked(&mut self, pick: Pick, out: &View, a: Place, indices: Place) {
        self.program.picks.push(pick);
        let pick = (self.program.picks.len() - 1) as u32;
        self.step(Step::Pick { pick, out: out.place, a, indices });
    }
}
