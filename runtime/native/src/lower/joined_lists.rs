//! Pass: builds a list in the memory of the tensor that joins its items.
//!
//! Without this pass, `outputs.append(y)` in a loop and `torch.stack(outputs)` after it copy each item three times: to
//! the list, to the arena, and to the tensor that leaves the segment. If the list is created outside of loops and
//! branches, it can use the memory of that tensor from the start ([`Step::NewListIn`]). The step that joins the list
//! checks at run time whether the items already are in this memory.

use super::Lowering;
use crate::pass::Pass;
use crate::program::{ARENA, ListRegister, Step};
use crate::view::{Place, View};

/// The maximum number of moves of a list between the step that creates it and the step that joins it.
const MAX_MOVES: usize = 8;

impl Lowering<'_> {
    /// Records that the last step joins the items of a list.
    pub(super) fn note_joined(&mut self, out: &View) {
        if self.depth == 0 && self.options.passes.has(Pass::JoinedLists) {
            self.joined.extend(out.buffer);
        }
    }

    /// Records a new list.
    pub(super) fn note_new_list(&mut self, list: ListRegister) {
        if self.depth == 0 {
            self.outer_lists.push(list);
        }
    }

    /// If this output of the segment joins the items of a list, replaces its memory in the arena by the memory at
    /// `base`. If possible, the list is built in this memory too. Returns whether the output was replaced.
    pub(super) fn join_in_place(&mut self, view: &View, base: u32) -> bool {
        let Some(buffer) = view.buffer.filter(|buffer| self.joined.contains(buffer)) else { return false };
        let (start, bytes) = self.arena.extent(buffer);
        if view.place.offset as usize != start || view.count() * view.element.size() != bytes {
            return false;
        }
        let joins = |step: &Step| match step {
            Step::Concat { out, list, .. } if out.base == ARENA && out.offset as usize == start => {
                Some(*list)
            }
            _ => None,
        };
        let steps = &mut self.program.steps;
        let Some(at) = steps.iter().rposition(|step| joins(step).is_some()) else { return false };
        let Some(list) = joins(&steps[at]) else { return false };
        // The tensor is in this memory from here to the end of the program.
        for step in &mut steps[at..] {
            step.places(&mut |place| {
                if place.base == ARENA && (start..start + bytes).contains(&(place.offset as usize)) {
                    *place = Place { base, offset: place.offset - start as u32 };
                }
            });
        }
        if let Some(made) = self.made_at(list) {
            let (place, bytes) = (Place { base, offset: 0 }, bytes as u32);
            if let Step::NewList { out, .. } = self.program.steps[made] {
                self.program.steps[made] = Step::NewListIn { out, place, bytes };
            }
        }
        self.fired.count(Pass::JoinedLists);
        true
    }

    /// Returns the index of the step that creates a list, if the step is outside of loops and branches, and later steps
    /// only move the list.
    fn made_at(&self, mut list: ListRegister) -> Option<usize> {
        let steps = &self.program.steps;
        for _ in 0..MAX_MOVES {
            if self.outer_lists.contains(&list) {
                return steps
                    .iter()
                    .position(|step| matches!(step, Step::NewList { out, .. } if *out == list));
            }
            list = steps.iter().find_map(|step| match step {
                Step::MoveList { out, a, is_last: true } if *out == list => Some(*a),
                _ => None,
            })?;
        }
        None
    }
}
