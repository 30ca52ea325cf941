//! The registers of all functions that are open, one frame after the other.

use ag_graph::ir::arithmetic::{Kind, float, widen};
use tch::Tensor;

use crate::aten::{Argument, AtenError, Output};
use crate::error::Fault;
use crate::list;
use crate::plan::{Any, Function, Input, Num, Number, Place, Source, Ten};
use crate::typed::MOST_INTS;
use crate::value::Value;

#[derive(Debug, Default)]
pub(super) struct Registers {
    nums: Vec<u64>,
    tens: Vec<Option<Tensor>>,
    anys: Vec<Value>,
    frame: Frame,
}

/// Where the registers of a function start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    nums: usize,
    tens: usize,
    anys: usize,
}

impl Registers {
    /// A frame for a function; the one before is given back.
    pub(super) fn open(&mut self, function: &Function) -> Frame {
        let frame = Frame { nums: self.nums.len(), tens: self.tens.len(), anys: self.anys.len() };
        self.nums.resize(frame.nums + function.nums as usize, 0);
        self.tens.resize_with(frame.tens + function.tens as usize, || None);
        self.anys.resize_with(frame.anys + function.anys as usize, || Value::None);
        std::mem::replace(&mut self.frame, frame)
    }

    /// The end of the last frame.
    pub(super) fn close(&mut self, before: Frame) {
        self.nums.truncate(self.frame.nums);
        self.tens.truncate(self.frame.tens);
        self.anys.truncate(self.frame.anys);
        self.frame = before;
    }

    pub(super) fn num(&mut self, num: Num) -> &mut u64 {
        &mut self.nums[self.frame.nums + num.0 as usize]
    }

    pub(super) fn number(&self, input: Input) -> u64 {
        match input {
            Input::Const(bits) => bits,
            Input::Num(num) => self.nums[self.frame.nums + num.0 as usize],
        }
    }

    pub(super) fn ten(&mut self, ten: Ten) -> &mut Option<Tensor> {
        &mut self.tens[self.frame.tens + ten.0 as usize]
    }

    pub(super) fn tensor(&self, ten: Ten) -> Result<&Tensor, Fault> {
        self.tens[self.frame.tens + ten.0 as usize].as_ref().ok_or_else(unbound)
    }

    /// The register is empty after this.
    pub(super) fn take(&mut self, ten: Ten) -> Result<Tensor, Fault> {
        self.ten(ten).take().ok_or_else(unbound)
    }

    pub(super) fn any(&mut self, any: Any) -> &mut Value {
        &mut self.anys[self.frame.anys + any.0 as usize]
    }

    pub(super) fn ints(&self, inputs: &[Input]) -> ([i64; MOST_INTS], usize) {
        let mut ints = [0; MOST_INTS];
        for (int, input) in ints.iter_mut().zip(inputs) {
            *int = self.number(*input).cast_signed();
        }
        (ints, inputs.len().min(MOST_INTS))
    }

    pub(super) fn fetch(&mut self, source: &Source) -> Value {
        match source {
            Source::Number(Number { input, kind }) => boxed(self.number(*input), *kind),
            Source::Ten(ten, true) => self.ten(*ten).take().map_or(Value::None, Value::from),
            Source::Ten(ten, false) => {
                self.ten(*ten).as_ref().map_or(Value::None, |tensor| tensor.shallow_clone().into())
            }
            Source::Any(any, true) => std::mem::take(self.any(*any)),
            Source::Any(any, false) => self.any(*any).clone(),
            Source::Const(value) => value.clone(),
            Source::List(items) => Value::list(items.iter().map(|item| self.fetch(item)).collect()),
        }
    }

    pub(super) fn store(&mut self, place: Place, value: Value) -> Result<(), Fault> {
        match (place, value) {
            (Place::Any(any), value) => *self.any(any) = value,
            (Place::Ten(ten), Value::Tensor(tensor)) => *self.ten(ten) = Some(tensor.into()),
            (Place::Ten(ten), Value::None) => *self.ten(ten) = None,
            (Place::Ten(_), value) => {
                return Err(Fault::Type(format!("a Tensor is wanted, and this is {}", value.kind())));
            }
            (Place::Num(num, wanted), value) => {
                let number = match value {
                    Value::Int(value) => widen(value.cast_unsigned(), Kind::Int, wanted),
                    Value::Float(value) => widen(value.to_bits(), Kind::Float, wanted),
                    Value::Bool(value) => widen(u64::from(value), Kind::Bool, wanted),
                    _ => None,
                };
                *self.num(num) = number.ok_or_else(|| {
                    Fault::Type(format!("{} is wanted, and this is {}", name(wanted), value.kind()))
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn store_output(&mut self, place: Place, output: Output) -> Result<(), Fault> {
        match (place, output) {
            (Place::Ten(ten), Output::Tensor(tensor)) => *self.ten(ten) = Some(tensor),
            (place, output) => self.store(place, output.into())?,
        }
        Ok(())
    }

    /// The trees that go into the holes of a call.
    pub(super) fn fillings(
        &self,
        holes: &[Source],
        run: impl FnOnce(&[Argument<'_>]) -> Result<(), AtenError>,
    ) -> Result<(), Fault> {
        const FEW: usize = 12;
        let mut few = [Argument::NONE; FEW];
        let is_plain = holes.iter().all(|hole| matches!(hole, Source::Number(_) | Source::Ten(..)));
        if is_plain && holes.len() <= FEW {
            for (argument, hole) in few.iter_mut().zip(holes) {
                *argument = self.plain(hole);
            }
            return Ok(run(&few[..holes.len()])?);
        }
        let mut many = Vec::with_capacity(holes.len());
        holes.iter().try_for_each(|hole| self.argument(hole, &mut many))?;
        Ok(run(&many)?)
    }

    pub(super) fn argument_of(&self, number: Number) -> Argument<'static> {
        let bits = self.number(number.input);
        match number.kind {
            Kind::Int => Argument::int(bits.cast_signed()),
            Kind::Float => Argument::float(float(bits)),
            Kind::Bool => Argument::bool(bits != 0),
        }
    }

    fn plain(&self, source: &Source) -> Argument<'_> {
        match source {
            Source::Number(number) => self.argument_of(*number),
            Source::Ten(ten, _) => {
                self.tens[self.frame.tens + ten.0 as usize].as_ref().map_or(Argument::NONE, Argument::tensor)
            }
            _ => Argument::NONE,
        }
    }

    fn argument<'a>(&'a self, source: &'a Source, into: &mut Vec<Argument<'a>>) -> Result<(), Fault> {
        match source {
            Source::Any(any, _) => value(&self.anys[self.frame.anys + any.0 as usize], into),
            Source::Const(constant) => value(constant, into),
            Source::List(items) => {
                into.push(Argument::list(items.len()));
                items.iter().try_for_each(|item| self.argument(item, into))
            }
            plain => {
                into.push(self.plain(plain));
                Ok(())
            }
        }
    }
}

fn value<'a>(from: &'a Value, into: &mut Vec<Argument<'a>>) -> Result<(), Fault> {
    into.push(match from {
        Value::None => Argument::NONE,
        Value::Tensor(tensor) => Argument::tensor(tensor),
        Value::Int(value) => Argument::int(*value),
        Value::Float(value) => Argument::float(*value),
        Value::Bool(value) => Argument::bool(*value),
        Value::Str(text) => Argument::str(text),
        Value::List(_) | Value::Tuple(_) => {
            let items = list::items(from)?;
            into.push(Argument::list(items.len()));
            return items.iter().try_for_each(|item| value(item, into));
        }
        Value::Object(_) => {
            return Err(Fault::Type("an object of Python is given to an operator of torch".into()));
        }
    });
    Ok(())
}

fn boxed(bits: u64, kind: Kind) -> Value {
    match kind {
        Kind::Int => Value::Int(bits.cast_signed()),
        Kind::Float => Value::Float(float(bits)),
        Kind::Bool => Value::Bool(bits != 0),
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "an int",
        Kind::Float => "a float",
        Kind::Bool => "a bool",
    }
}

fn unbound() -> Fault {
    Fault::Type("a tensor is used that was not bound on the way that was taken".into())
}
