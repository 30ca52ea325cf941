//! Runs native segments on the registers of a machine.
#![allow(unsafe_code, reason = "a segment reads and writes tensors by address")]

use std::cell::Cell;

use ag_native::{Base, Input, Memory, NewList, Output, Segment};
use tch::Tensor;

use super::registers::Registers;
use crate::aten;
use crate::plan::{Dead, Native, Register, ScalarInput};
use crate::value::Value;

/// The maximum size in bytes of the buffers that a thread keeps between runs of plans. Larger buffers are freed.
const MAX_KEPT: usize = 1 << 27;

thread_local! {
    /// The buffers of the last run on this thread.
    static KEPT: Cell<Option<Scratch>> = const { Cell::new(None) };
}

/// The buffers that runs of segments reuse.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    memory: Memory,
    inputs: Vec<u64>,
    addresses: Vec<*mut u8>,
    tensors: Vec<Tensor>,
    views: Vec<Tensor>,
    lists: Vec<Value>,
    numbers: Vec<u64>,
}

impl Scratch {
    /// Returns the buffers that the thread has kept, or new ones.
    pub(super) fn take() -> Self {
        KEPT.take().unwrap_or_default()
    }

    /// Keeps the buffers for the next run on this thread.
    pub(super) fn keep(mut self) {
        self.tensors.clear();
        self.views.clear();
        self.lists.clear();
        if self.memory.size() <= MAX_KEPT {
            KEPT.set(Some(self));
        }
    }

    /// Runs a segment. If it returns `false`, nothing has changed.
    pub(super) fn run(
        &mut self,
        native: &Native,
        registers: &mut Registers,
        poll: &mut dyn FnMut() -> bool,
    ) -> bool {
        if !native.backoff.should_run() {
            return false;
        }
        self.inputs.clear();
        for (((_, input), register), [sizes, strides]) in
            native.segment.inputs.iter().zip(&native.inputs).zip(&native.input_sizes)
        {
            let bits = match (input, register) {
                (Input::Tensor(element, ..), Register::Tensor(reg)) => registers
                    .tensor(*reg)
                    .ok()
                    .and_then(|tensor| aten::address(tensor, element.dtype(), sizes, strides))
                    .map(|address| address as usize as u64),
                (Input::Number(_), Register::Scalar(reg, _)) => {
                    Some(registers.scalar(ScalarInput::Register(*reg)))
                }
                _ => None,
            };
            let Some(bits) = bits else { return false };
            self.inputs.push(bits);
        }
        self.addresses.clear();
        self.tensors.clear();
        for (tensor, [sizes, strides]) in native.segment.tensors.iter().zip(&native.tensor_sizes) {
            let Some((tensor, address)) = aten::uninitialized(tensor.element.dtype(), sizes, strides) else {
                return false;
            };
            self.addresses.push(address);
            self.tensors.push(tensor);
        }
        // SAFETY: the inputs and the new tensors have the dtypes, sizes and strides of the segment.
        let run = unsafe { native.segment.run(&mut self.memory, &self.inputs, &self.addresses, poll) };
        native.backoff.count(run.is_err());
        let Ok(numbers) = run else { return false };
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        let Some(lists) = lists(&native.segment, &self.memory) else { return false };
        self.lists = lists;
        self.views.clear();
        for (_, output) in &native.segment.outputs {
            let Output::View(view) = output else { continue };
            let base = match view.of {
                Base::Tensor(index) => Some(&self.tensors[index]),
                Base::Input(index) => match native.inputs[index] {
                    Register::Tensor(reg) => registers.tensor(reg).ok(),
                    _ => None,
                },
            };
            let Some(tensor) =
                base.and_then(|base| aten::view(base, &view.sizes, &view.strides, view.offset))
            else {
                return false;
            };
            self.views.push(tensor);
        }
        for dead in &native.dead {
            match dead {
                Dead::Tensor(reg) => drop(registers.tensor_mut(*reg).take()),
                Dead::Object(reg) => *registers.object_mut(*reg) = Value::None,
            }
        }
        let mut numbers = self.numbers.iter();
        let mut lists = self.lists.drain(..);
        let mut taken = 0;
        let mut views = self.views.drain(..);
        let mut tensors = self.tensors.drain(..);
        for (register, (_, output)) in native.outputs.iter().zip(&native.segment.outputs) {
            match (register, output) {
                // The tensors are in the order of the outputs. A tensor is skipped if only views of it are outputs.
                (Register::Tensor(reg), Output::Tensor(index)) => {
                    *registers.tensor_mut(*reg) = tensors.nth(index - taken);
                    taken = index + 1;
                }
                (Register::Tensor(reg), Output::View(_)) => *registers.tensor_mut(*reg) = views.next(),
                (Register::Object(reg), Output::List(_)) => {
                    *registers.object_mut(*reg) = lists.next().unwrap_or_default();
                }
                (Register::Scalar(reg, _), Output::Number(_)) => {
                    *registers.scalar_mut(*reg) = numbers.next().copied().unwrap_or_default();
                }
                _ => {}
            }
        }
        true
    }
}

/// Returns the lists that leave a segment, after a run. `None` if an item is missing.
fn lists(segment: &Segment, memory: &Memory) -> Option<Vec<Value>> {
    segment.lists.iter().map(|list| items(list, memory)).collect()
}

/// Returns a list of new tensors.
fn items(list: &NewList, memory: &Memory) -> Option<Value> {
    let sizes: Vec<i64> = list.sizes.iter().map(|size| *size as i64).collect();
    let mut strides = vec![1; sizes.len()];
    for dimension in (1..sizes.len()).rev() {
        strides[dimension - 1] = strides[dimension] * sizes[dimension];
    }
    let tensors = memory.items(list)?.map(|item| {
        let (tensor, address) = aten::uninitialized(list.element.dtype(), &sizes, &strides)?;
        // SAFETY: the new tensor is contiguous, and so is the item, which has the same dtype and sizes.
        unsafe { item.copy_to_nonoverlapping(address, list.item_bytes()) };
        Some(Value::Tensor(tensor.into()))
    });
    Some(Value::list(tensors.collect::<Option<_>>()?))
}
