//! Runs native segments on the registers of a machine.
#![allow(unsafe_code, reason = "a segment reads and writes tensors by address")]

use std::sync::atomic::{AtomicBool, Ordering};

use ag_native::{Input, Memory, Output};
use tch::Tensor;

use super::registers::Registers;
use crate::aten;
use crate::plan::{Dead, Native, Register, ScalarInput};
use crate::value::Value;

static IS_ENABLED: AtomicBool = AtomicBool::new(true);

/// Whether plans run natively where they can. Otherwise every operator is that of libtorch.
pub fn set_native(is_enabled: bool) {
    IS_ENABLED.store(is_enabled, Ordering::Relaxed);
}

/// Whether plans run natively where they can.
pub fn is_native() -> bool {
    IS_ENABLED.load(Ordering::Relaxed)
}

/// What the runs of segments reuse.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    memory: Memory,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    tensors: Vec<Option<Tensor>>,
}

impl Scratch {
    /// Runs a segment. If it returns `false`, nothing has changed.
    pub(super) fn run(
        &mut self,
        native: &Native,
        registers: &mut Registers,
        poll: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.inputs.clear();
        for (((_, input), place), sizes) in
            native.segment.inputs.iter().zip(&native.inputs).zip(&native.input_sizes)
        {
            let bits = match (input, place) {
                (Input::Tensor(element, _), Register::Tensor(ten)) => registers
                    .tensor(*ten)
                    .ok()
                    .and_then(|tensor| aten::address(tensor, element.dtype(), sizes))
                    .map(|address| address as usize as u64),
                (Input::Number(_), Register::Scalar(num, _)) => {
                    Some(registers.scalar(ScalarInput::Register(*num)))
                }
                _ => None,
            };
            let Some(bits) = bits else { return false };
            self.inputs.push(bits);
        }
        self.outputs.clear();
        self.tensors.clear();
        for ((_, output), [sizes, strides]) in native.segment.outputs.iter().zip(&native.output_sizes) {
            let Output::Tensor(element, ..) = output else {
                self.outputs.push(0);
                self.tensors.push(None);
                continue;
            };
            let Some((tensor, address)) = aten::uninitialized(element.dtype(), sizes, strides) else {
                return false;
            };
            self.outputs.push(address as usize as u64);
            self.tensors.push(Some(tensor));
        }
        // SAFETY: the inputs have the dtypes and sizes of the segment and are contiguous, and the outputs are
        // new tensors with the dtypes, sizes and strides of the segment.
        let run = unsafe { native.segment.run(&mut self.memory, &self.inputs, &mut self.outputs, poll) };
        if run.is_err() {
            self.tensors.clear();
            return false;
        }
        for dead in &native.dead {
            match dead {
                Dead::Tensor(ten) => drop(registers.tensor_mut(*ten).take()),
                Dead::Object(any) => *registers.object_mut(*any) = Value::None,
            }
        }
        for ((place, tensor), bits) in native.outputs.iter().zip(&mut self.tensors).zip(&self.outputs) {
            match place {
                Register::Tensor(ten) => *registers.tensor_mut(*ten) = tensor.take(),
                Register::Scalar(num, _) => *registers.scalar_mut(*num) = *bits,
                Register::Object(_) => {}
            }
        }
        true
    }
}
