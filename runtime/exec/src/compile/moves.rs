//! Parallel moves: values passed into a loop, to its next iteration, or out of a branch are assigned
//! simultaneously, as in `a, b = b, a`.

use ag_graph::ir::arithmetic::{Kind, widen};
use ag_graph::ir::{self, Operand};

use super::registers::same;
use super::{Compiled, Compiler};
use crate::plan::{Register, ScalarInput, Slice, Source, Step, TypedScalar};
use crate::value::Value;

impl Compiler<'_> {
    /// Moves operands to registers simultaneously. Values that die here are moved, others copied.
    pub(super) fn parallel_move(
        &mut self,
        places: &[Register],
        operands: &[Operand],
        dies: &[ir::Value],
    ) -> Compiled {
        let mut sources = self.sources(operands, dies)?;
        // `a, b = a, a`: a value that stays in its register must be copied from it.
        for place in 0..sources.len().min(places.len()) {
            if register(&sources[place]).is_some_and(|from| same(from, places[place])) {
                sources.iter_mut().for_each(|source| copy(source, places[place]));
            }
        }
        let moves: Vec<(Source, Register)> = sources
            .into_iter()
            .zip(places.iter().copied())
            .filter(|(source, place)| !register(source).is_some_and(|from| same(from, *place)))
            .collect();
        let clash = moves
            .iter()
            .enumerate()
            .any(|(index, (_, place))| moves[index + 1..].iter().any(|(later, _)| reads(later, *place)));
        if !clash {
            moves.into_iter().for_each(|(source, place)| self.move_to(source, place));
            return Ok(());
        }
        // Cyclic moves go through temporaries, allocated while all sources are still in use.
        let temporaries: Vec<(Register, Register)> = moves
            .into_iter()
            .map(|(source, place)| {
                let between = self.fresh_for(place);
                self.move_to(source, between);
                (between, place)
            })
            .collect();
        for (between, place) in temporaries {
            let source = match between {
                Register::Scalar(num, kind) => {
                    Source::Scalar(TypedScalar { input: ScalarInput::Register(num), kind })
                }
                Register::Tensor(ten) => Source::Tensor(ten, true),
                Register::Object(any) => Source::Object(any, true),
            };
            self.move_to(source, place);
            self.registers.release(between);
        }
        Ok(())
    }

    /// A register of the same bank that has never been used: `sources` has already released those being read.
    fn fresh_for(&mut self, place: Register) -> Register {
        match place {
            Register::Scalar(_, kind) => Register::Scalar(self.registers.unused_scalar(), kind),
            Register::Tensor(_) => Register::Tensor(self.registers.unused_tensor()),
            Register::Object(_) => Register::Object(self.registers.unused_object()),
        }
    }

    pub(super) fn move_to(&mut self, source: Source, place: Register) {
        let number = |value: &Value| match value {
            Value::Int(value) => Some((value.cast_unsigned(), Kind::Int)),
            Value::Float(value) => Some((value.to_bits(), Kind::Float)),
            Value::Bool(value) => Some((u64::from(*value), Kind::Bool)),
            _ => None,
        };
        let step = match (&source, place) {
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
            let place = Slice::add(&mut self.plan.tables.places, Some(place)).start();
            Step::Move { source: self.source_entry(source), place }
        });
        self.step(step);
    }
}

fn register(source: &Source) -> Option<Register> {
    match source {
        Source::Scalar(TypedScalar { input: ScalarInput::Register(num), kind }) => {
            Some(Register::Scalar(*num, *kind))
        }
        Source::Tensor(ten, _) => Some(Register::Tensor(*ten)),
        Source::Object(any, _) => Some(Register::Object(*any)),
        _ => None,
    }
}

/// Copies instead of moving out of this register.
fn copy(source: &mut Source, place: Register) {
    match (source, place) {
        (Source::Tensor(from, is_taken), Register::Tensor(place)) if *from == place => *is_taken = false,
        (Source::Object(from, is_taken), Register::Object(place)) if *from == place => *is_taken = false,
        (Source::List(items), place) => items.iter_mut().for_each(|item| copy(item, place)),
        _ => {}
    }
}

fn reads(source: &Source, place: Register) -> bool {
    match source {
        Source::List(items) => items.iter().any(|item| reads(item, place)),
        source => register(source).is_some_and(|from| same(from, place)),
    }
}
