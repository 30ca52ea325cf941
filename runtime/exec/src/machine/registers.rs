//! The registers of all active functions, one frame after the other.

use ag_graph::ir::arithmetic::{Kind, float, widen};
use tch::Tensor;

use crate::aten::{Argument, AtenError, Output};
use crate::error::Fault;
use crate::list;
use crate::plan::{Function, ObjectReg, Register, ScalarInput, ScalarReg, Source, TensorReg, TypedScalar};
use crate::typed::MAX_INTS;
use crate::value::Value;

#[derive(Debug, Default)]
pub(super) struct Registers {
    scalars: Vec<u64>,
    tensors: Vec<Option<Tensor>>,
    objects: Vec<Value>,
    frame: Frame,
}

/// The first register of a function in each bank.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    scalars: usize,
    tensors: usize,
    objects: usize,
}

impl Registers {
    /// Opens a frame for a function and returns the caller's frame.
    pub(super) fn open(&mut self, function: &Function) -> Frame {
        let frame =
            Frame { scalars: self.scalars.len(), tensors: self.tensors.len(), objects: self.objects.len() };
        self.scalars.resize(frame.scalars + function.scalars as usize, 0);
        self.tensors.resize_with(frame.tensors + function.tensors as usize, || None);
        self.objects.resize_with(frame.objects + function.objects as usize, || Value::None);
        std::mem::replace(&mut self.frame, frame)
    }

    /// Closes the current frame.
    pub(super) fn close(&mut self, before: Frame) {
        self.scalars.truncate(self.frame.scalars);
        self.tensors.truncate(self.frame.tensors);
        self.objects.truncate(self.frame.objects);
        self.frame = before;
    }

    pub(super) fn scalar_mut(&mut self, reg: ScalarReg) -> &mut u64 {
        &mut self.scalars[self.frame.scalars + reg.0 as usize]
    }

    pub(super) fn scalar(&self, input: ScalarInput) -> u64 {
        match input {
            ScalarInput::Const(bits) => bits,
            ScalarInput::Register(reg) => self.scalars[self.frame.scalars + reg.0 as usize],
        }
    }

    pub(super) fn tensor_mut(&mut self, reg: TensorReg) -> &mut Option<Tensor> {
        &mut self.tensors[self.frame.tensors + reg.0 as usize]
    }

    pub(super) fn tensor(&self, reg: TensorReg) -> Result<&Tensor, Fault> {
        self.tensors[self.frame.tensors + reg.0 as usize].as_ref().ok_or_else(unbound)
    }

    /// Moves the tensor out of its register.
    pub(super) fn take(&mut self, reg: TensorReg) -> Result<Tensor, Fault> {
        self.tensor_mut(reg).take().ok_or_else(unbound)
    }

    pub(super) fn object_mut(&mut self, reg: ObjectReg) -> &mut Value {
        &mut self.objects[self.frame.objects + reg.0 as usize]
    }

    /// Returns the values of integer inputs at the start of an array, and how many there are.
    pub(super) fn ints(&self, inputs: &[ScalarInput]) -> ([i64; MAX_INTS], usize) {
        let mut ints = [0; MAX_INTS];
        for (int, input) in ints.iter_mut().zip(inputs) {
            *int = self.scalar(*input).cast_signed();
        }
        (ints, inputs.len().min(MAX_INTS))
    }

    /// Returns the value of a source. A source that releases its register moves the value out of it.
    pub(super) fn fetch(&mut self, source: &Source) -> Value {
        match source {
            Source::Scalar(TypedScalar { input, kind }) => boxed(self.scalar(*input), *kind),
            Source::Tensor(reg, true) => self.tensor_mut(*reg).take().map_or(Value::None, Value::from),
            Source::Tensor(reg, false) => {
                self.tensor_mut(*reg).as_ref().map_or(Value::None, |tensor| tensor.shallow_clone().into())
            }
            Source::Object(reg, true) => std::mem::take(self.object_mut(*reg)),
            Source::Object(reg, false) => self.object_mut(*reg).clone(),
            Source::Const(value) => value.clone(),
            Source::List(items) => Value::list(items.iter().map(|item| self.fetch(item)).collect()),
        }
    }

    /// Stores a value in a register. A number is widened to the kind of the register.
    pub(super) fn store(&mut self, register: Register, value: Value) -> Result<(), Fault> {
        match (register, value) {
            (Register::Object(reg), value) => *self.object_mut(reg) = value,
            (Register::Tensor(reg), Value::Tensor(tensor)) => *self.tensor_mut(reg) = Some(tensor.into()),
            (Register::Tensor(reg), Value::None) => *self.tensor_mut(reg) = None,
            (Register::Tensor(_), value) => {
                return Err(Fault::Type(format!("expected a Tensor, found {}", value.kind())));
            }
            (Register::Scalar(reg, wanted), value) => {
                let number = match value {
                    Value::Int(value) => widen(value.cast_unsigned(), Kind::Int, wanted),
                    Value::Float(value) => widen(value.to_bits(), Kind::Float, wanted),
                    Value::Bool(value) => widen(u64::from(value), Kind::Bool, wanted),
                    _ => None,
                };
                *self.scalar_mut(reg) = number.ok_or_else(|| {
                    Fault::Type(format!("expected {}, found {}", name(wanted), value.kind()))
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn store_output(&mut self, register: Register, output: Output) -> Result<(), Fault> {
        match (register, output) {
            (Register::Tensor(reg), Output::Tensor(tensor)) => *self.tensor_mut(reg) = Some(tensor),
            (register, output) => self.store(register, output.into())?,
        }
        Ok(())
    }

    /// Calls `run` with the values of the arguments that an operator call leaves open.
    pub(super) fn with_hole_values(
        &self,
        holes: &[Source],
        run: impl FnOnce(&[Argument<'_>]) -> Result<(), AtenError>,
    ) -> Result<(), Fault> {
        const FEW: usize = 12;
        let mut few = [Argument::NONE; FEW];
        let is_plain = holes.iter().all(|hole| matches!(hole, Source::Scalar(_) | Source::Tensor(..)));
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

    pub(super) fn argument_of(&self, number: TypedScalar) -> Argument<'static> {
        let bits = self.scalar(number.input);
        match number.kind {
            Kind::Int => Argument::int(bits.cast_signed()),
            Kind::Float => Argument::float(float(bits)),
            Kind::Bool => Argument::bool(bits != 0),
        }
    }

    /// Converts a scalar or a tensor to an argument of an operator; anything else becomes `NONE`.
    fn plain(&self, source: &Source) -> Argument<'_> {
        match source {
            Source::Scalar(number) => self.argument_of(*number),
            Source::Tensor(reg, _) => self.tensors[self.frame.tensors + reg.0 as usize]
                .as_ref()
                .map_or(Argument::NONE, Argument::tensor),
            _ => Argument::NONE,
        }
    }

    /// Appends a source as arguments of an operator: a list as the number of its items and the items.
    fn argument<'a>(&'a self, source: &'a Source, into: &mut Vec<Argument<'a>>) -> Result<(), Fault> {
        match source {
            Source::Object(reg, _) => value(&self.objects[self.frame.objects + reg.0 as usize], into),
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

/// Appends a value as arguments of an operator: a list as the number of its items and the items.
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
            return Err(Fault::Type("a Python object cannot be passed to a torch operator".into()));
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
    Fault::Type("a tensor is used that is undefined on the path taken".into())
}
