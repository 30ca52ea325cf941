//! Values handed over: into a loop, to its next round, out of a branch. All at once, as in `a, b = b, a`.

use ag_graph::ir::arithmetic::{Kind, widen};
use ag_graph::ir::{self, Operand};

use super::registers::same;
use super::{Compiled, Compiler};
use crate::plan::{Input, Number, Place, Slice, Source, Step};
use crate::value::Value;

impl Compiler<'_> {
    /// The values of operands to places; values that die here are moved, not copied.
    pub(super) fn hand_over(
        &mut self,
        places: &[Place],
        operands: &[Operand],
        dies: &[ir::Value],
    ) -> Compiled {
        let mut sources = self.sources(operands, dies)?;
        // `a, b = a, a`: what stays where it is cannot be taken from there.
        for place in 0..sources.len().min(places.len()) {
            if register(&sources[place]).is_some_and(|from| same(from, places[place])) {
                sources.iter_mut().for_each(|source| copy(source, places[place]));
            }
        }
        let moves: Vec<(Source, Place)> = sources
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
        // By way of registers that nobody else looks at. They are taken while all that is read is still in use.
        let waiting: Vec<(Place, Place)> = moves
            .into_iter()
            .map(|(source, place)| {
                let between = self.fresh_for(place);
                self.move_to(source, between);
                (between, place)
            })
            .collect();
        for (between, place) in waiting {
            let source = match between {
                Place::Num(num, kind) => Source::Number(Number { input: Input::Num(num), kind }),
                Place::Ten(ten) => Source::Ten(ten, true),
                Place::Any(any) => Source::Any(any, true),
            };
            self.move_to(source, place);
            self.registers.release(between);
        }
        Ok(())
    }

    /// A register of the same bank that has never been used: `sources` has released those that are being read.
    fn fresh_for(&mut self, place: Place) -> Place {
        match place {
            Place::Num(_, kind) => Place::Num(self.registers.unused_number(), kind),
            Place::Ten(_) => Place::Ten(self.registers.unused_tensor()),
            Place::Any(_) => Place::Any(self.registers.unused_any()),
        }
    }

    pub(super) fn move_to(&mut self, source: Source, place: Place) {
        let number = |value: &Value| match value {
            Value::Int(value) => Some((value.cast_unsigned(), Kind::Int)),
            Value::Float(value) => Some((value.to_bits(), Kind::Float)),
            Value::Bool(value) => Some((u64::from(*value), Kind::Bool)),
            _ => None,
        };
        let step = match (&source, place) {
            (Source::Number(Number { input, kind }), Place::Num(out, wanted)) if *kind == wanted => {
                Some(Step::CopyNum { out, a: *input })
            }
            (Source::Const(value), Place::Num(out, wanted)) => number(value)
                .and_then(|(bits, kind)| widen(bits, kind, wanted))
                .map(|bits| Step::CopyNum { out, a: Input::Const(bits) }),
            (Source::Ten(a, true), Place::Ten(out)) => Some(Step::TakeTen { out, a: *a }),
            (Source::Ten(a, false), Place::Ten(out)) => Some(Step::CopyTen { out, a: *a }),
            _ => None,
        };
        let step = step.unwrap_or_else(|| {
            let place = Slice::add(&mut self.plan.tables.places, Some(place)).start();
            Step::Move { source: self.source_entry(source), place }
        });
        self.step(step);
    }
}

fn register(source: &Source) -> Option<Place> {
    match source {
        Source::Number(Number { input: Input::Num(num), kind }) => Some(Place::Num(*num, *kind)),
        Source::Ten(ten, _) => Some(Place::Ten(*ten)),
        Source::Any(any, _) => Some(Place::Any(*any)),
        _ => None,
    }
}

/// A source that would be taken from a place is copied instead.
fn copy(source: &mut Source, place: Place) {
    match (source, place) {
        (Source::Ten(from, is_taken), Place::Ten(place)) if *from == place => *is_taken = false,
        (Source::Any(from, is_taken), Place::Any(place)) if *from == place => *is_taken = false,
        (Source::List(items), place) => items.iter_mut().for_each(|item| copy(item, place)),
        _ => {}
    }
}

fn reads(source: &Source, place: Place) -> bool {
    match source {
        Source::List(items) => items.iter().any(|item| reads(item, place)),
        source => register(source).is_some_and(|from| same(from, place)),
    }
}
