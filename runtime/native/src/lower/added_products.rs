//! Pass: fuses a product of matrices with the addition of the product to a sum.
//!
//! The gradient of a weight that a loop uses is a sum of products: `total = total + x.t() @ g`. The kernel of the
//! product can add the product to the memory of the sum, in one step.

use ag_graph::ir::Node;

use super::{Item, Lowering};
use crate::kernels::Shape;
use crate::pass::Pass;
use crate::program::{Elementwise, Step};
use crate::view::{BufferId, View};

/// The maximum number of steps between a product and the addition.
const MAX_BETWEEN: usize = 4;

/// The indices of two steps: a product, and the addition that is the only use of its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addition {
    product: u32,
    sum: u32,
}

impl Lowering<'_> {
    /// Records that the last step is a product.
    pub(super) fn note_product(&mut self, out: &View) {
        if let Some(buffer) = out.buffer.filter(|_| self.options.passes.has(Pass::AddedProducts)) {
            self.products.push((self.next() - 1, buffer));
        }
    }

    /// Records that the last step, which this node has emitted, adds a product.
    pub(super) fn note_addition(&mut self, name: &str, node: &Node) {
        let last = self.program.steps.len();
        self.products.retain(|(step, _)| *step as usize + MAX_BETWEEN + 2 >= last);
        let is_sum = name.starts_with("add.")
            && matches!(node.outputs[..], [output] if matches!(
                self.items.get(&output), Some((Item::Tensor(View { buffer: Some(_), .. }), _))
            ));
        let added = self.products.iter().find(|(step, buffer)| is_sum && self.is_added(*step, *buffer));
        if let Some((product, _)) = added {
            self.additions.push(Addition { product: *product, sum: last as u32 - 1 });
        }
    }

    /// Returns whether the last step adds the result of this product, and nothing else uses the result.
    fn is_added(&self, product: u32, buffer: BufferId) -> bool {
        let steps = &self.program.steps;
        let at = product as usize;
        let (Some(Step::Product { out, a, b, product, .. }), Some(Step::Elementwise(sum))) =
            (steps.get(at), steps.last())
        else {
            return false;
        };
        let description = &self.program.products[*product as usize];
        let Elementwise { operands, shape: Shape { count, strides, .. }, outer, .. } = sum;
        at >= self.last_jump as usize
            && self.arena.is_free(buffer)
            && !description.adds
            && description.rows * description.columns == *count as usize
            && outer.1 == 0
            && strides[..2] == [1, 1]
            && operands[..2].iter().filter(|operand| *operand == out).count() == 1
            && self.are_independent(at + 1..steps.len() - 1, &[*a, *b], buffer)
    }

    /// Corrects the recorded indices of steps: a step has been removed.
    pub(super) fn forget_step(&mut self, removed: u32) {
        let later = |at: &mut u32| *at -= u32::from(*at > removed);
        self.additions.retain(|addition| addition.product != removed && addition.sum != removed);
        self.additions.iter_mut().flat_map(|Addition { product, sum }| [product, sum]).for_each(later);
        self.products.retain(|(step, _)| *step != removed);
        self.products.iter_mut().for_each(|(step, _)| later(step));
        self.multiplications.retain(|(step, _)| *step != removed);
        self.multiplications.iter_mut().for_each(|(step, _)| later(step));
    }

    /// Fuses the step `at` with a product if the step is a recorded addition. `total` is the buffer that the step now
    /// writes to; it contains the other operand of the addition.
    pub(super) fn add_product(&mut self, at: usize, total: BufferId) {
        let found = self.additions.iter().find(|addition| addition.sum as usize == at).copied();
        let Some(Addition { product: index, .. }) = found else { return };
        let (Some(Step::Product { kernel, product, out, a, b }), Some(Step::Elementwise(sum))) =
            (self.program.steps.get(index as usize).copied(), self.program.steps.get(at))
        else {
            return;
        };
        // The fusion requires that the addition writes its result to the memory of the other operand, not to that of
        // the product.
        let is_total = sum.out != out && sum.operands[..2].contains(&sum.out);
        if !is_total || self.may_be_in(a, total) || self.may_be_in(b, total) {
            return;
        }
        let added =
            crate::kernels::product::Product { adds: true, ..self.program.products[product as usize] };
        self.program.products.push(added);
        let product = (self.program.products.len() - 1) as u32;
        self.program.steps[at] = Step::Product { kernel, product, out: sum.out, a, b };
        self.program.remove(index as usize);
        self.forget_step(index);
        self.fired.count(Pass::AddedProducts);
    }
}
