//! Register allocation.

use ag_graph::ir::Type;
use ag_graph::ir::arithmetic::Kind;

use crate::plan::{ObjectReg, Register, ScalarReg, TensorReg};

#[derive(Debug, Default)]
pub(super) struct RegisterAllocator {
    pub(super) scalars: Bank,
    pub(super) tensors: Bank,
    pub(super) objects: Bank,
    /// Registers of loop-carried values, which are kept until the loop ends.
    held: Vec<Register>,
    /// For each open `if`, the registers from outside that a branch has released. They stay allocated until the `if` is
    /// closed, because the other branch may read them.
    branches: Vec<Vec<Register>>,
}

#[derive(Debug, Default)]
pub(super) struct Bank {
    free: Vec<u32>,
    /// For each register, the number of `if`s that were open when it was allocated.
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

    /// Allocates a register that has never been used.
    fn unused(&mut self, depth: usize) -> u32 {
        self.depth.push(depth);
        self.count() - 1
    }
}

/// Returns whether both are the same register, regardless of the kind of scalar.
pub(super) fn same(a: Register, b: Register) -> bool {
    match (a, b) {
        (Register::Scalar(a, _), Register::Scalar(b, _)) => a == b,
        (a, b) => a == b,
    }
}

impl RegisterAllocator {
    pub(super) fn take(&mut self, ty: &Type) -> Register {
        let depth = self.branches.len();
        match Kind::of(ty) {
            Some(kind) => Register::Scalar(ScalarReg(self.scalars.take(depth)), kind),
            None if ty.tensor().is_some() => Register::Tensor(TensorReg(self.tensors.take(depth))),
            None => Register::Object(ObjectReg(self.objects.take(depth))),
        }
    }

    pub(super) fn number(&mut self) -> ScalarReg {
        ScalarReg(self.scalars.take(self.branches.len()))
    }

    pub(super) fn unused_scalar(&mut self) -> ScalarReg {
        ScalarReg(self.scalars.unused(self.branches.len()))
    }

    pub(super) fn unused_tensor(&mut self) -> TensorReg {
        TensorReg(self.tensors.unused(self.branches.len()))
    }

    pub(super) fn unused_object(&mut self) -> ObjectReg {
        ObjectReg(self.objects.unused(self.branches.len()))
    }

    pub(super) fn release(&mut self, register: Register) {
        if self.held.iter().any(|held| same(*held, register)) {
            return;
        }
        let (bank, index) = match register {
            Register::Scalar(reg, _) => (&mut self.scalars, reg.0),
            Register::Tensor(reg) => (&mut self.tensors, reg.0),
            Register::Object(reg) => (&mut self.objects, reg.0),
        };
        let is_from_outside = bank.depth[index as usize] < self.branches.len();
        match self.branches.last_mut() {
            Some(released) if is_from_outside => released.push(register),
            _ => bank.free.push(index),
        }
    }

    pub(super) fn open_branches(&mut self) {
        self.branches.push(Vec::new());
    }

    pub(super) fn close_branches(&mut self) {
        let mut released = self.branches.pop().unwrap_or_default();
        while let Some(register) = released.pop() {
            if !released.iter().any(|other| same(*other, register)) {
                self.release(register);
            }
        }
    }

    pub(super) fn hold(&mut self, registers: &[Register]) {
        self.held.extend(registers);
    }

    /// Stops holding the `count` registers that were held last.
    pub(super) fn unhold(&mut self, count: usize) {
        self.held.truncate(self.held.len() - count);
    }
}
