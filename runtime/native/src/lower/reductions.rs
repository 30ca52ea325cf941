//! Reductions and softmax.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand};

use super::{Lowering, ints, is_dtype};
use crate::dtype::Element;
use crate::kernels::maps as kernels;
use crate::kernels::reduce::{Reduce, Reduction};
use crate::kernels::rows::{self, Rows};
use crate::program::Step;
use crate::view::View;

/// The minimum number of elements of a row for which libtorch's softmax is vectorized.
const SHORT_ROWS: usize = 16;

impl Lowering<'_> {
    /// Lowers reductions.
    pub(super) fn reduction_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let (element, _) = self.result(node)?;
        let all = &Operand::None;
        let (reduction, a, dims, correction) = match (name, &node.operands[..]) {
            ("sum.default", [a, dtype]) if is_dtype(Some(dtype), element) => (Reduction::Sum, a, all, 0.0),
            ("mean.default", [a, dtype]) if is_dtype(Some(dtype), element) => (Reduction::Mean, a, all, 0.0),
            ("sum.dim_IntList", [a, dims, _, dtype]) if is_dtype(Some(dtype), element) => {
                (Reduction::Sum, a, dims, 0.0)
            }
            ("mean.dim", [a, dims, _, dtype]) if is_dtype(Some(dtype), element) => {
                (Reduction::Mean, a, dims, 0.0)
            }
            ("max.default", [a]) => (Reduction::Max, a, all, 0.0),
            ("min.default", [a]) => (Reduction::Min, a, all, 0.0),
            ("amax.default", [a, dims, _]) => (Reduction::Max, a, dims, 0.0),
            ("amin.default", [a, dims, _]) => (Reduction::Min, a, dims, 0.0),
            ("all.default", [a]) => (Reduction::All, a, all, 0.0),
            ("any.default", [a]) => (Reduction::Any, a, all, 0.0),
            ("all.dim", [a, dims, _]) => (Reduction::All, a, dims, 0.0),
            ("any.dim", [a, dims, _]) => (Reduction::Any, a, dims, 0.0),
            ("std.correction" | "var.correction", [a, dims, correction, _]) => {
                let correction = match correction {
                    Operand::None => 1.0,
                    Operand::Int(value) => *value as f64,
                    Operand::Float(value) => *value,
                    _ => return None,
                };
                let reduction = if name == "std.correction" { Reduction::Std } else { Reduction::Var };
                (reduction, a, dims, correction)
            }
            ("linalg_vector_norm.default", [a, order, dims, _, dtype])
                if matches!(order, Operand::Int(2)) || *order == Operand::Float(2.0) =>
            {
                is_dtype(Some(dtype), element).then_some(())?;
                (Reduction::Norm, a, dims, 0.0)
            }
            ("_softmax.default", [a, dim, Operand::Bool(false)]) => {
                return self.rows(Rows::Softmax, node, &[a], dim);
            }
            ("_log_softmax.default", [a, dim, Operand::Bool(false)]) => {
                return self.rows(Rows::LogSoftmax, node, &[a], dim);
            }
            ("_softmax_backward_data.default", [gradient, result, dim, _]) => {
                return self.rows(Rows::SoftmaxBackward, node, &[gradient, result], dim);
            }
            ("_log_softmax_backward_data.default", [gradient, result, dim, _]) => {
                return self.rows(Rows::LogSoftmaxBackward, node, &[gradient, result], dim);
            }
            _ => return None,
        };
        let a = self.tensor(a)?;
        let reduced = match dims {
            Operand::None => (0..a.rank()).collect(),
            Operand::Int(dim) => vec![dimension(*dim, a.rank())?],
            dims => {
                let dims = ints(dims)?;
                let all = dims.is_empty();
                let mut dims =
                    dims.into_iter().map(|dim| dimension(dim, a.rank())).collect::<Option<Vec<_>>>()?;
                if all {
                    dims = (0..a.rank()).collect();
                }
                dims
            }
        };
        self.reduce(reduction, node, &a, &reduced, correction)
    }

    /// Adds the step of a reduction over the dimensions `reduced`.
    fn reduce(
        &mut self,
        reduction: Reduction,
        node: &Node,
        a: &View,
        reduced: &[usize],
        correction: f64,
    ) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let out = self.reduced(reduction, element, &sizes, a, reduced, correction)?;
        self.define_result(node, out)
    }

    /// Returns the result of a reduction over the dimensions `reduced`, with these sizes.
    pub(super) fn reduced(
        &mut self,
        reduction: Reduction,
        element: Element,
        sizes: &[usize],
        a: &View,
        reduced: &[usize],
        correction: f64,
    ) -> Option<View> {
        let out = self.allocate(element, sizes)?;
        let dims = |is_reduced: bool| -> Vec<(usize, usize)> {
            (0..a.rank())
                .filter(|dim| reduced.contains(dim) == is_reduced && a.sizes[*dim] != 1)
                .map(|dim| (a.sizes[dim], a.strides[dim]))
                .collect()
        };
        // Adjacent dimensions are merged. The order of reduced elements does not matter, and the result is contiguous.
        let merged = |is_reduced: bool| {
            let mut merged: Vec<(usize, usize)> = Vec::new();
            for (size, stride) in dims(is_reduced) {
                match merged.last_mut() {
                    Some((product, last)) if *last == size * stride => {
                        (*product, *last) = (*product * size, stride);
                    }
                    _ => merged.push((size, stride)),
                }
            }
            merged
        };
        let (kept, reduced) = (merged(false), merged(true));
        (a.count() > 0 && kept.iter().map(|(size, _)| size).product::<usize>() == out.count())
            .then_some(())?;
        let is_copy = reduced.is_empty()
            && a.element == element
            && matches!(reduction, Reduction::Sum | Reduction::Mean | Reduction::Max | Reduction::Min);
        if is_copy {
            let long = a.with(
                kept.iter().map(|(size, _)| *size).collect(),
                kept.iter().map(|(_, stride)| *stride).collect(),
                0,
            );
            let flat = out.reshape(&long.sizes)?;
            self.emit(kernels::copy(element), &flat, &[&long])?;
            return Some(out);
        }
        let reduce = Reduce { reduction, from: a.element, to: element, correction, kept, reduced };
        reduce.is_supported().then_some(())?;
        self.program.reductions.push(reduce);
        let reduce = (self.program.reductions.len() - 1) as u32;
        self.step(Step::Reduce { reduce, out: out.place, a: a.place });
        Some(out)
    }

    /// Lowers a softmax over the last dimension.
    fn rows(&mut self, kind: Rows, node: &Node, operands: &[&Operand], dim: &Operand) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let Operand::Int(dim) = dim else { return None };
        let columns = *sizes.last()?;
        (dimension(*dim, sizes.len())? == sizes.len() - 1 && element.is_floating()).then_some(())?;
        let mut places = Vec::with_capacity(2);
        for operand in operands {
            let view = self.tensor(operand)?;
            (view.element == element && view.sizes == sizes && view.has_torch_layout).then_some(())?;
            places.push(self.as_contiguous(&view)?.place);
        }
        let out = self.allocate(element, &sizes)?;
        // Without vectors, this kernel is slower than libtorch's, unless rows are short.
        (rows::is_fast(element) || out.count() <= self.options.limits.function_calls || columns < SHORT_ROWS)
            .then_some(())?;
        let operands = [places[0], *places.last()?];
        let rows = (out.count() / columns) as u32;
        self.step(Step::Rows { kind, element, out: out.place, operands, rows, columns: columns as u32 });
        self.define_result(node, out)
    }
}
