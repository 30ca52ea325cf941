//! Parallel moves: values passed into a loop, to its next iteration, or out of a branch are assigned
//! simultaneously, as in `a, b = b, a`.

use ag_graph::ir::arithmetic::{Kind, widen};
use ag_graph::ir::{self, Operand};

use super::registers::same;
use super::{Compiled, Compiler};
use crate::plan::{ObjectReg, Register, ScalarInput, Slice, Source, Step, TypedScalar};
use crate::value::Value;

impl Compiler<'_> {
    /// Moves operands to registers simultaneously. Values that die here are moved, all others are copied. `sums`
    /// contains the registers of new sums, which replace the operands with these indices.
    pub(super) fn parallel_move(
        &mut self,
        registers: &[Register],
        operands: &[Operand],
        dies: &[ir::Value],
        sums: &[(usize, ObjectReg)],
    ) -> Compiled {
        let mut sources = self.sources(operands, dies)?;
        for (index, sum) in sums {
            sources[*index] = Source::Object(*sum, true);
        }
        // `a, b = a, a`: a value that stays in its register must be copied from it.
        for index in 0..sources.len().min(registers.len()) {
            if register_read_by(&sources[index]).is_some_and(|from| same(from, registers[index])) {
                sources.iter_mut().for_each(|source| copy(source, registers[index]));
            }
        }
        let moves: Vec<(Source, Register)> = sources
            .into_iter()
            .zip(registers.iter().copied())
            .filter(|(source, register)| !register_read_by(source).is_some_and(|from| same(from, *register)))
            .collect();
        let clash = moves.iter().enumerate().any(|(index, (_, register))| {
            moves[index + 1..].iter().any(|(later, _)| reads(later, *register))
        });
        if !clash {
            moves.into_iter().for_each(|(source, register)| self.move_to(source, register));
            return Ok(());
        }
        // Cyclic moves go through temporaries, allocated while all sources are still in use.
        let temporaries: Vec<(Register, Register)> = moves
            .into_iter()
            .map(|(source, register)| {
                let between = self.fresh_for(register);
                self.move_to(source, between);
                (between, register)
            })
            .collect();
        for (between, register) in temporaries {
            let source = match between {
                Register::Scalar(reg, kind) => {
                    Source::Scalar(TypedScalar { input: ScalarInput::Register(reg), kind })
                }
                Register::Tensor(reg) => Source::Tensor(reg, true),
                Register::Object(reg) => Source::Object(reg, true),
            };
            self.move_to(source, register);
            self.registers.release(between);
        }
        Ok(())
    }

    /// Returns a register of the same bank that has never been used. Released registers may still be read, because
    /// `sources` has already released the sources.
    fn fresh_for(&mut self, register: Register) -> Register {
        match register {
            Register::Scalar(_, kind) => Register::Scalar(self.registers.unused_scalar(), kind),
            Register::Tensor(_) => Register::Tensor(self.registers.unused_tensor()),
            Register::Object(_) => Register::Object(self.registers.unused_object()),
        }
    }

    /// Adds the step that moves a value from a source to a register.
    pub(super) fn move_to(&mut self, source: Source, register: Register) {
        let number = |value: &Value| match value {
            Value::Int(value) => Some((value.cast_unsigned(), Kind::Int)),
            Value::Float(value) => Some((value.to_bits(), Kind::Float)),
            Value::Bool(value) => Some((u64::from(*value), Kind::Bool)),
            _ => None,
        };
        let step = match (&source, register) {
            (Source::Scalar(TypedScalar { input, kind }), Register::Scalar(out, wanted))
                if *kind == wanted =>
            {
                Some(Step::CopyScalar { out, a: *input })
            }
            (Source::Const(value), Register::Scalar(out, wanted)) => number(value)
                .and_then(|(bits, kind)| widen(bits, kind, wanted))
                .map(|bits| Step::CopyScalar { out, a: ScalarInput::Const(bits) }),
            (Source::Tensor(a, true), Register::Tensor(out)) => Some(Step::MoveTensor { out, a: *a }),
            (Source::Tensor(a, false), Register::Tensor(out)) => Some(Step::CopyTensor { out, a: *a }),
            _ => None,
        };
        let step = step.unwrap_or_else(|| {
            let register = Slice::add(&mut self.plan.tables.registers, Some(register)).start();
            Step::Move { source: self.source_entry(source), register }
        });
        self.step(step);
    }
}

fn register_read_by(source: &Source) -> Option<Register> {
    match source {
        Source::Scalar(TypedScalar { input: ScalarInput::Register(reg), kind }) => {
            Some(Register::Scalar(*reg, *kind))
        }
        Source::Tensor(reg, _) => Some(Register::Tensor(*reg)),
        Source::Object(reg, _) => Some(Register::Object(*reg)),
        _ => None,
    }
}

/// Changes a source that moves the value out of this register to one that copies it.
fn copy(source: &mut Source, register: Register) {
    match (source, register) {
        (Source::Tensor(from, is_taken), Register::Tensor(to)) if *from == to => *is_taken = false,
        (Source::Object(from, is_taken), Register::Object(to)) if *from == to => *is_taken = false,
        (Source::List(items), register) => items.iter_mut().for_each(|item| copy(item, register)),
        _ => {}
    }
}

fn reads(source: &Source, register: Register) -> bool {
    match source {
        Source::List(items) => items.iter().any(|item| reads(item, register)),
        source => register_read_by(source).is_some_and(|from| same(from, register)),
    }
}
