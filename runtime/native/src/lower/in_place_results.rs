//! Pass: computes the next value of a loop-carried tensor in the memory of its current value.
//!
//! `q = q - a * x` in a loop needs no copy of `q`: the step that computes the next value writes it to the memory of the
//! current value. That memory must not be used between this step and the end of the iteration, and the step itself must
//! read each element before it writes it.

use super::Lowering;
use crate::pass::Pass;
use crate::program::{ARENA, Step};
use crate::view::{BufferId, Place, View};

impl Lowering<'_> {
    /// If nothing else needs the memory of `from` and of `to`, makes the step that computes `from` write to `to`.
    /// `from` is not used again.
    pub(super) fn compute_in_place(&mut self, to: &View, from: &View) -> bool {
        let (Some(old), Some(new)) = (from.buffer, to.buffer) else { return false };
        let is_whole = self.arena.extent(old).0 == from.place.offset as usize
            && from.place.base == ARENA
            && self.arena.extent(old).1 == self.arena.extent(new).1
            && from.is_contiguous()
            && to.is_contiguous();
        if !self.options.passes.has(Pass::InPlaceResults) || !is_whole || !self.arena.has_one_user(old) {
            return false;
        }
        let first = self.last_jump as usize;
        let mut found = None;
        for at in (first..self.program.steps.len()).rev() {
            let mut step = self.program.steps[at];
            if let Step::Elementwise(elementwise) = step
                && elementwise.out == from.place
            {
                // An operand at the same place is safe if its elements have the same size: the step reads each element
                // before it writes it.
                let is_flat = elementwise.outer.1 == 0 && elementwise.shape.count as usize == from.count();
                let mut is_safe =
                    is_flat && (elementwise.shape.count == 1 || elementwise.shape.strides[3] == 1);
                let [inputs @ .., size] = elementwise.bytes;
                for ((operand, stride), bytes) in
                    elementwise.operands.iter().zip(elementwise.shape.strides).zip(inputs)
                {
                    is_safe &= !self.may_be_in(*operand, new)
                        || *operand == to.place
                            && (stride == 1 && bytes == size || elementwise.shape.count == 1);
                }
                found = is_safe.then_some(at);
                break;
            }
            let mut is_free = true;
            step.places(&mut |place| is_free &= !self.may_be_in(*place, new));
            if !is_free {
                break;
            }
        }
        let Some(found) = found else { return false };
        self.fired.count(Pass::InPlaceResults);
        // Only `out` of this step changes. Its operands at the old place are other values, which were in the same
        // memory before.
        if let Step::Elementwise(elementwise) = &mut self.program.steps[found] {
            elementwise.out = to.place;
        }
        let (start, bytes) = self.arena.extent(old);
        let old = start..start + bytes;
        for step in &mut self.program.steps[found + 1..] {
            step.places(&mut |place| {
                if place.base == ARENA && old.contains(&(place.offset as usize)) {
                    place.offset = place.offset - from.place.offset + to.place.offset;
                }
            });
        }
        self.add_product(found, new);
        true
    }

    /// Returns whether a place may be in a buffer. An address that is computed at run time may be anywhere in the
    /// arena, unless it is in an input or in a list.
    pub(super) fn may_be_in(&self, place: Place, buffer: BufferId) -> bool {
        let (start, bytes) = self.arena.extent(buffer);
        match place.base {
            ARENA => (start..start + bytes).contains(&(place.offset as usize)),
            base => match self.group_bases.get(&base) {
                Some(group) => *group == buffer,
                None => !self.is_outside(base),
            },
        }
    }
}
