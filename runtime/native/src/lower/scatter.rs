//! Operators that write or add elements at indices: `x.scatter_add(dim, indices, source)`, `x[indices] = y`, and the
//! derivatives of reads at indices.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand};

use super::Lowering;
use super::indexing::Indices;
use crate::dtype::Element;
use crate::kernels::scatter::Scatter;
use crate::program::Step;
use crate::view::View;

impl Lowering<'_> {
    pub(super) fn scatter_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        match (name, &node.operands[..]) {
            (
                "scatter_add.default" | "scatter.src" | "scatter.value",
                [a, Operand::Int(dim), indices, source],
            ) => {
                let (element, _) = self.result(node)?;
                let (indices, source) = (self.tensor(indices)?, self.operand_as(source, element)?);
                self.scatter(node, a, *dim, indices, source, name == "scatter_add.default")
            }
            ("index_put.default", [a, Operand::List(indices), source, Operand::Bool(adds)]) => {
                let indexed = self.tensor(a)?;
                let indices = self.indices(&indexed, indices)?;
                let source = self.tensor(source)?;
                (source.element == indexed.element).then_some(())?;
                let out = self.copied(a)?;
                self.put(node, out, &indices, &source, *adds, true)
            }
            ("index_add.default", [a, Operand::Int(dim), indices, source, Operand::Int(1)]) => {
                let (view, source, out) = (self.tensor(indices)?, self.tensor(source)?, self.copied(a)?);
                let dim = dimension(*dim, out.rank())?;
                (view.element == Element::I64 && source.element == out.element).then_some(())?;
                let view = self.as_contiguous(&view)?;
                let indices = Indices { dim, dims: 1, size: out.sizes[dim], view };
                self.put(node, out, &indices, &source, true, false)
            }
            (
                "embedding_dense_backward.default",
                [gradient, indices, _, Operand::Int(padding), Operand::Bool(false)],
            ) if *padding < 0 => {
                let (gradient, view) = (self.tensor(gradient)?, self.tensor(indices)?);
                (view.element == Element::I64).then_some(())?;
                let (view, out) = (self.as_contiguous(&view)?, self.zeros(node)?);
                (gradient.element == out.element).then_some(())?;
                let indices = Indices { dim: 0, dims: 1, size: *out.sizes.first()?, view };
                self.put(node, out, &indices, &gradient, true, false)
            }
            _ => None,
        }
    }

    /// Lowers `scatter` and `scatter_add`, if the index has the sizes of the operand in all other dimensions.
    fn scatter(
        &mut self,
        node: &Node,
        a: &Operand,
        dim: i64,
        indices: View,
        source: View,
        adds: bool,
    ) -> Option<()> {
        let out = self.copied(a)?;
        let dim = dimension(dim, out.rank())?;
        let mut other = indices.sizes.clone();
        (indices.element == Element::I64 && indices.rank() == out.rank()).then_some(())?;
        other[dim] = out.sizes[dim];
        (other == out.sizes).then_some(())?;
        // The source may be longer than the index. A number is broadcast.
        let source = if source.rank() == 0 {
            source.expand(&indices.sizes)?
        } else {
            let fits = source.sizes.iter().zip(&indices.sizes).all(|(source, index)| source >= index);
            (source.rank() == indices.rank() && fits).then_some(())?;
            View { sizes: indices.sizes.clone(), ..source }
        };
        let (indices, source) = (self.as_contiguous(&indices)?, self.as_contiguous(&source)?);
        let sizes = [&indices.sizes[..dim], &indices.sizes[dim..=dim], &indices.sizes[dim + 1..]];
        let sizes = sizes.map(|sizes| sizes.iter().product());
        let strides = [sizes[1] * sizes[2], sizes[2], 1];
        let scatter = Scatter {
            sizes,
            columns: out.sizes[dim],
            index_strides: strides,
            source_strides: strides,
            element: out.element,
            adds,
            wraps: false,
        };
        self.scattered(node, scatter, out, &indices, &source)
    }

    /// Lowers a write of rows: the parts of a tensor behind the indexed dimensions.
    fn put(
        &mut self,
        node: &Node,
        out: View,
        indices: &Indices,
        source: &View,
        adds: bool,
        wraps: bool,
    ) -> Option<()> {
        let (before, after) = (&out.sizes[..indices.dim], &out.sizes[indices.dim + indices.dims..]);
        let source = source.expand(&[before, &indices.view.sizes, after].concat())?;
        let source = self.as_contiguous(&source)?;
        let [outer, inner] = [before, after].map(|sizes| sizes.iter().product::<usize>());
        let count = indices.view.count();
        let scatter = Scatter {
            sizes: [outer, count, inner],
            columns: indices.size,
            index_strides: [0, 1, 0],
            source_strides: [count * inner, inner, 1],
            element: out.element,
            adds,
            wraps,
        };
        self.scattered(node, scatter, out, &indices.view, &source)
    }

    fn scattered(
        &mut self,
        node: &Node,
        scatter: Scatter,
        out: View,
        indices: &View,
        source: &View,
    ) -> Option<()> {
        (!scatter.adds || scatter.element != Element::Bool).then_some(())?;
        (source.element == scatter.element).then_some(())?;
        self.program.scatters.push(scatter);
        let scatter = (self.program.scatters.len() - 1) as u32;
        let (indices, source) = (indices.place, source.place);
        self.step(Step::Scatter { scatter, out: out.place, indices, source });
        self.define_result(node, out)
    }
}
