//! Operators that copy parts of a tensor to other places, or add them up in order: `roll`, `flip`, `cumsum`.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand};

use super::{Lowering, ints, keeps_layout};
use crate::dtype::Element;
use crate::kernels::maps as kernels;
use crate::view::View;

impl Lowering<'_> {
    pub(super) fn rearranging_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let out = match (name, &node.operands[..]) {
            ("roll.default", [a, shifts, dims]) => {
                let (a, shifts, dims) = (self.tensor(a)?, ints(shifts)?, ints(dims)?);
                // Without dimensions, torch rolls the flattened tensor.
                (shifts.len() == dims.len() && !dims.is_empty()).then_some(())?;
                let mut out = a.clone();
                for (shift, dim) in shifts.into_iter().zip(dims) {
                    out = self.rolled(&out, shift, dimension(dim, sizes.len())?)?;
                }
                out.has_torch_layout = keeps_layout(&a, &sizes);
                out
            }
            ("flip.default", [a, dims]) => {
                let (a, dims) = (self.tensor(a)?, ints(dims)?);
                (!dims.is_empty()).then_some(())?;
                let mut out = a.clone();
                for dim in dims {
                    out = self.flipped(&out, dimension(dim, sizes.len())?)?;
                }
                out.has_torch_layout = keeps_layout(&a, &sizes);
                out
            }
            ("cumsum.default", [a, Operand::Int(dim), Operand::None]) => {
                let a = self.tensor(a)?;
                let dim = dimension(*dim, sizes.len())?;
                (a.element == element && sizes[dim] <= self.most_parts()).then_some(())?;
                // Torch adds numbers of `f32` up in `f64`.
                let sums = if element == Element::F32 { Element::F64 } else { element };
                // The dimension is the first one here, because a step adds to contiguous elements only.
                let first = moved(&self.converted(a, sums)?, dim, 0);
                let added = self.allocate(sums, &first.sizes)?;
                self.copy(&added, &first)?;
                for index in 1..sizes[dim] {
                    let to = part(&added, 0, index, 1);
                    self.emit(kernels::binary("add", sums)?, &to, &[&part(&added, 0, index - 1, 1), &to])?;
                }
                let out = self.allocate(sums, &sizes)?;
                self.copy(&out, &moved(&added, 0, dim))?;
                self.converted(out, element)?
            }
            _ => return None,
        };
        self.define_result(node, out)
    }

    /// Returns a tensor whose elements are moved along a dimension. Elements that move past one end of the dimension
    /// come back at the other end.
    fn rolled(&mut self, a: &View, shift: i64, dim: usize) -> Option<View> {
        let out = self.allocate(a.element, &a.sizes)?;
        let size = a.sizes[dim];
        let shift = usize::try_from(shift.rem_euclid(i64::try_from(size).ok()?)).ok()?;
        for (to, from, length) in [(shift, 0, size - shift), (0, size - shift, shift)] {
            if length > 0 {
                self.copy(&part(&out, dim, to, length), &part(a, dim, from, length))?;
            }
        }
        Some(out)
    }

    fn flipped(&mut self, a: &View, dim: usize) -> Option<View> {
        let (out, size) = (self.allocate(a.element, &a.sizes)?, a.sizes[dim]);
        (size <= self.most_parts()).then_some(())?;
        for index in 0..size {
            self.copy(&part(&out, dim, index, 1), &part(a, dim, size - 1 - index, 1))?;
        }
        Some(out)
    }

    /// Returns the maximum number of parts. Each is a step; for more of them, libtorch's operators are faster.
    fn most_parts(&self) -> usize {
        if self.options.limits.has_libtorch() { 64 } else { 4_096 }
    }
}

/// `a.narrow(dim, start, length)`
fn part(a: &View, dim: usize, start: usize, length: usize) -> View {
    let mut sizes = a.sizes.clone();
    sizes[dim] = length;
    a.with(sizes, a.strides.clone(), start * a.strides[dim])
}

/// `a.movedim(from, to)`
fn moved(a: &View, from: usize, to: usize) -> View {
    let (mut sizes, mut strides) = (a.sizes.clone(), a.strides.clone());
    let (size, stride) = (sizes.remove(from), strides.remove(from));
    sizes.insert(to, size);
    strides.insert(to, stride);
    a.with(sizes, strides, 0)
}
