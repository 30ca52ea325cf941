//! Pass: fuses a multiplication with the addition or subtraction of its result.
//!
//! The fused step for `q - a * x` reads each operand once and writes no temporary. It rounds the product as the
//! multiplication did, so the results are the same.

use std::ops::Range;

use ag_graph::ir::Node;

use super::{Item, Lowering};
use crate::dtype::Element;
use crate::kernels::{Shape, maps as kernels};
use crate::pass::Pass;
use crate::program::{CONSTANTS, Elementwise, Step};
use crate::view::{BufferId, Place, View};

/// The maximum number of steps between the multiplication and the addition.
const MAX_BETWEEN: usize = 4;

impl Lowering<'_> {
    /// Records that the last step multiplies two tensors.
    pub(super) fn note_multiplication(&mut self, out: &View) {
        if let Some(buffer) = out.buffer.filter(|_| self.options.passes.has(Pass::MultiplyAdd)) {
            self.multiplications.push((self.next() - 1, buffer));
        }
    }

    /// Fuses the last step, which this node has emitted, with the multiplication of one of its operands, if the product
    /// is not used again.
    pub(super) fn fuse_multiplication(&mut self, name: &str, node: &Node) -> bool {
        let last = self.program.steps.len();
        self.multiplications.retain(|(step, _)| *step as usize + MAX_BETWEEN + 2 >= last);
        let is_difference = match name.split('.').next() {
            Some("add" | "addcmul" | "lerp") => false,
            Some("sub") => true,
            _ => return false,
        };
        let [output] = node.outputs[..] else { return false };
        let Some((Item::Tensor(View { element, buffer: Some(out), .. }), _)) = self.items.get(&output) else {
            return false;
        };
        let (element, out) = (*element, *out);
        for index in (0..self.multiplications.len()).rev() {
            let (step, product) = self.multiplications[index];
            if let Some(fused) = self.fused(step as usize, product, out, element, is_difference) {
                if let Some(last) = self.program.steps.last_mut() {
                    *last = Step::Elementwise(fused);
                }
                self.program.remove(step as usize);
                self.forget_step(step);
                self.fired.count(Pass::MultiplyAdd);
                return true;
            }
        }
        false
    }

    /// Returns the step that replaces a multiplication and the last step. `None` if they cannot be fused.
    fn fused(
        &self,
        at: usize,
        product: BufferId,
        out: BufferId,
        element: Element,
        is_difference: bool,
    ) -> Option<Elementwise> {
        let steps = &self.program.steps;
        let (Step::Elementwise(first), Step::Elementwise(second)) = (steps.get(at)?, steps.last()?) else {
            return None;
        };
        let is_flat =
            |step: &Elementwise| step.outer.1 == 0 && (step.shape.count == 1 || step.shape.strides[3] == 1);
        (at + 1 < steps.len() && self.last_jump as usize <= at && self.arena.is_free(product))
            .then_some(())?;
        (is_flat(first) && is_flat(second) && first.shape.count == second.shape.count).then_some(())?;
        let is_product = |slot: usize| second.operands[slot] == first.out && second.shape.strides[slot] == 1;
        let slot = (0..2).find(|slot| is_product(*slot))?;
        (second.operands[1 - slot] != first.out && second.operands[2].base == CONSTANTS).then_some(())?;
        let kernel = kernels::multiply_add(element, is_difference, slot == 0)?;
        // The fused step reads the factors later than the multiplication did: their memory must not change in between.
        let [x, y, _] = first.operands;
        for (place, stride) in [x, y].into_iter().zip(first.shape.strides) {
            let is_result = place == second.out && (stride == 1 || first.shape.count == 1);
            (is_result || !self.may_be_in(place, out)).then_some(())?;
        }
        self.are_independent(at + 1..steps.len() - 1, &[x, y], product).then_some(())?;
        let strides = [
            first.shape.strides[0],
            first.shape.strides[1],
            second.shape.strides[1 - slot],
            second.shape.strides[3],
        ];
        Some(Elementwise {
            kernel,
            out: second.out,
            operands: [x, y, second.operands[1 - slot]],
            shape: Shape::row(second.shape.count, strides),
            bytes: [second.bytes[3]; 4],
            outer: (0, 0),
        })
    }

    /// Returns whether these steps only compute, and neither change these operands nor use this buffer.
    pub(super) fn are_independent(&self, steps: Range<usize>, operands: &[Place], buffer: BufferId) -> bool {
        self.program.steps[steps].iter().all(|step| {
            let mut is_apart = true;
            { *step }.places(&mut |other| {
                let shares = operands.iter().any(|operand| self.may_share(*other, *operand));
                is_apart &= other.base == CONSTANTS || !shares;
                is_apart &= !self.may_be_in(*other, buffer);
            });
            let is_computation = matches!(
                step,
                Step::Elementwise(_)
                    | Step::Product { .. }
                    | Step::Reduce { .. }
                    | Step::Rows { .. }
                    | Step::Fill { .. }
                    | Step::Item { .. }
                    | Step::Scalar { .. }
            );
            is_apart && is_computation
        })
    }

    /// Returns whether a write to one place may change the other. This is never the case for inputs, constants and
    /// borrowed items, which no step writes.
    fn may_share(&self, a: Place, b: Place) -> bool {
        match (self.is_outside(a.base), self.is_outside(b.base)) {
            (true, _) | (_, true) => false,
            _ => a.base != b.base || self.arena.is_same_buffer(a.offset as usize, b.offset as usize),
        }
    }

    /// Returns whether a base is outside of the arena: constants, inputs and items of lists.
    pub(super) fn is_outside(&self, base: u32) -> bool {
        base == CONSTANTS || self.borrowed.contains_key(&base) || self.input_bases.contains(&Ok(base))
    }
}
