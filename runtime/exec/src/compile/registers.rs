//! Registers: given out, taken back, given out again.

use ag_graph::ir::Type;
use ag_graph::ir::arithmetic::Kind;

use crate::plan::{Any, Num, Place, Ten};

#[derive(Debug, Default)]
pub(super) struct Registers {
    pub(super) nums: Bank,
    pub(super) tens: Bank,
    pub(super) anys: Bank,
    /// What loops carry: it stays where it is until the loop is over.
    held: Vec<Place>,
    /// For each branching that is open, what its branches have released that is from outside. While one branch is
    /// made, the registers still have values in the other.
    branches: Vec<Vec<Place>>,
}

#[derive(Debug, Default)]
pub(super) struct Bank {
    free: Vec<u32>,
    /// For each register, how many branchings were open when it was given out.
    depth: Vec<usize>,
}

impl Bank {
    pub(super) fn count(&self) -> u32 {
        self.depth.len() as u32
    }

    fn take(&mut self, depth: usize) -> u32 {
        let Some(register) = self.free.pop() else { return self.unused(depth) };
        self.depth[register as usize] = depth;
        register
    }

    /// One that was never given out.
    fn unused(&mut self, depth: usize) -> u32 {
        self.depth.push(depth);
        self.count() - 1
    }
}

/// The same register, whatever kind of number is in it.
pub(super) fn same(a: Place, b: Place) -> bool {
    match (a, b) {
        (Place::Num(a, _), Place::Num(b, _)) => a == b,
        (a, b) => a == b,
    }
}

impl Registers {
    pub(super) fn take(&mut self, ty: &Type) -> Place {
        let depth = self.branches.len();
        match Kind::of(ty) {
            Some(kind) => Place::Num(Num(self.nums.take(depth)), kind),
            None if ty.tensor().is_some() => Place::Ten(Ten(self.tens.take(depth))),
            None => Place::Any(Any(self.anys.take(depth))),
        }
    }

    pub(super) fn number(&mut self) -> Num {
        Num(self.nums.take(self.branches.len()))
    }

    pub(super) fn unused_number(&mut self) -> Num {
        Num(self.nums.unused(self.branches.len()))
    }

    pub(super) fn unused_tensor(&mut self) -> Ten {
        Ten(self.tens.unused(self.branches.len()))
    }

    pub(super) fn unused_any(&mut self) -> Any {
        Any(self.anys.unused(self.branches.len()))
    }

    pub(super) fn release(&mut self, place: Place) {
        if self.held.iter().any(|held| same(*held, place)) {
            return;
        }
        let (bank, register) = match place {
            Place::Num(num, _) => (&mut self.nums, num.0),
            Place::Ten(ten) => (&mut self.tens, ten.0),
            Place::Any(any) => (&mut self.anys, any.0),
        };
        let is_from_outside = bank.depth[register as usize] < self.branches.len();
        match self.branches.last_mut() {
            Some(released) if is_from_outside => released.push(place),
            _ => bank.free.push(register),
        }
    }

    pub(super) fn open_branches(&mut self) {
        self.branches.push(Vec::new());
    }

    pub(super) fn close_branches(&mut self) {
        let mut released = self.branches.pop().unwrap_or_default();
        while let Some(place) = released.pop() {
            if !released.iter().any(|other| same(*other, place)) {
                self.release(place);
            }
        }
    }

    pub(super) fn hold(&mut self, places: &[Place]) {
        self.held.extend(places);
    }

    /// Those that were held last.
    pub(super) fn let_go(&mut self, count: usize) {
        self.held.truncate(self.held.len() - count);
    }
}
