//! The memory and the scalar registers of a run as values in a basic block.
//!
//! A result is written to memory only when the basic block ends, when the interpreter is called, or when an address that
//! is computed at run time is read. Most results are overwritten before that, so they are never written.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use rustc_hash::{FxHashMap, FxHashSet};

use super::build::Emitter;
use crate::dtype::Element;
use crate::program::{ARENA, CONSTANTS, Number, Program, Register, Step};
use crate::view::Place;

/// An element of the arena.
#[derive(Debug, Clone, Copy)]
struct Slot {
    value: Value,
    element: Element,
    /// Whether the memory has another value.
    is_changed: bool,
}

pub(super) struct State {
    /// The known elements of the arena by offset. They do not overlap.
    slots: BTreeMap<u32, Slot>,
    /// The bits of registers as `I64` or `F64`, and whether the register has other bits.
    registers: FxHashMap<Register, (Value, bool)>,
    /// Elements of inputs.
    inputs: FxHashMap<(Place, Element), Value>,
    /// The bases whose addresses are computed at run time and may be in the arena.
    arena_bases: FxHashSet<u32>,
}

impl State {
    pub(super) fn new(program: &Program) -> Self {
        let mut arena_bases = FxHashSet::default();
        for step in &program.steps {
            if let Step::Address { base, from, .. } = step
                && from.base != CONSTANTS
                && !program.inputs.contains(&from.base)
            {
                arena_bases.insert(*base);
            }
        }
        let (slots, registers, inputs) = Default::default();
        Self { slots, registers, inputs, arena_bases }
    }

    /// Forgets all values, at the start of a basic block that several jumps may reach.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.registers.clear();
        self.inputs.clear();
    }
}

/// Returns the type of an element in machine code.
pub(super) fn type_of(element: Element) -> Type {
    match element {
        Element::F32 => types::F32,
        Element::F64 => types::F64,
        Element::I32 => types::I32,
        Element::I64 => types::I64,
        Element::Bool => types::I8,
    }
}

impl Emitter<'_> {
    /// Writes all changed values to memory.
    pub(super) fn flush(&mut self) {
        self.flush_arena();
        let registers = std::mem::take(&mut self.state.registers);
        for (register, (value, is_changed)) in &registers {
            if *is_changed {
                let offset = register.0 as i32 * 8;
                self.b.ins().store(MemFlagsData::trusted(), *value, self.registers, offset);
            }
        }
        self.state.registers = registers;
        self.state.registers.values_mut().for_each(|register| register.1 = false);
    }

    fn flush_arena(&mut self) {
        let mut slots = std::mem::take(&mut self.state.slots);
        for (offset, slot) in &mut slots {
            if slot.is_changed {
                self.b.ins().store(MemFlagsData::trusted(), slot.value, self.arena, *offset as i32);
                slot.is_changed = false;
            }
        }
        self.state.slots = slots;
    }

    /// Returns the element at a place.
    pub(super) fn element(&mut self, place: Place, element: Element) -> Value {
        let flags = MemFlagsData::trusted();
        match place.base {
            CONSTANTS => self.constant(place.offset as usize, element),
            ARENA => {
                if let Some(slot) = self.state.slots.get(&place.offset)
                    && slot.element == element
                {
                    return slot.value;
                }
                self.forget(place.offset, element.size() as u32, false);
                let value = self.b.ins().load(type_of(element), flags, self.arena, place.offset as i32);
                self.state.slots.insert(place.offset, Slot { value, element, is_changed: false });
                value
            }
            base => {
                if let Some(value) = self.state.inputs.get(&(place, element)) {
                    return *value;
                }
                let input = self.inputs.get(&base).copied();
                if input.is_none() && self.state.arena_bases.contains(&base) {
                    self.flush_arena();
                }
                let address = input
                    .unwrap_or_else(|| self.b.ins().load(types::I64, flags, self.bases, base as i32 * 8));
                let value = self.b.ins().load(type_of(element), flags, address, place.offset as i32);
                if input.is_some() {
                    self.state.inputs.insert((place, element), value);
                }
                value
            }
        }
    }

    /// Changes the element at an offset of the arena.
    pub(super) fn set_element(&mut self, offset: u32, element: Element, value: Value) {
        self.forget(offset, element.size() as u32, true);
        self.state.slots.insert(offset, Slot { value, element, is_changed: true });
    }

    /// Forgets the values that overlap these bytes of the arena. Changed values are written first, unless all their
    /// bytes will be overwritten.
    fn forget(&mut self, offset: u32, bytes: u32, overwrites: bool) {
        let overlapping: Vec<u32> = self
            .state
            .slots
            .range(offset.saturating_sub(7)..offset + bytes)
            .filter(|(start, slot)| **start + slot.element.size() as u32 > offset)
            .map(|(start, _)| *start)
            .collect();
        for start in overlapping {
            let Some(slot) = self.state.slots.remove(&start) else { continue };
            let end = start + slot.element.size() as u32;
            let is_overwritten = overwrites && start >= offset && end <= offset + bytes;
            if slot.is_changed && !is_overwritten {
                self.b.ins().store(MemFlagsData::trusted(), slot.value, self.arena, start as i32);
            }
        }
    }

    /// Returns an element of the table of constants, which has units of eight bytes.
    fn constant(&mut self, offset: usize, element: Element) -> Value {
        let word = self.program.constants.get(offset / 8).copied().unwrap_or_default();
        let bits = word >> (offset % 8 * 8);
        match element {
            Element::F32 => self.b.ins().f32const(f32::from_bits(bits as u32)),
            Element::F64 => self.b.ins().f64const(f64::from_bits(bits)),
            Element::I32 => self.b.ins().iconst(types::I32, i64::from(bits as u32)),
            Element::I64 => self.b.ins().iconst(types::I64, bits.cast_signed()),
            Element::Bool => self.b.ins().iconst(types::I8, i64::from(bits as u8)),
        }
    }

    /// Returns the bits of a number.
    pub(super) fn integer(&mut self, number: Number) -> Value {
        match number {
            Number::Const(bits) => self.b.ins().iconst(types::I64, bits.cast_signed()),
            Number::Register(register) => self.integer_in(register),
        }
    }

    pub(super) fn integer_in(&mut self, register: Register) -> Value {
        self.register(register, types::I64)
    }

    pub(super) fn float(&mut self, number: Number) -> Value {
        match number {
            Number::Const(bits) => self.b.ins().f64const(f64::from_bits(bits)),
            Number::Register(register) => self.register(register, types::F64),
        }
    }

    fn register(&mut self, register: Register, ty: Type) -> Value {
        if let Some((value, _)) = self.state.registers.get(&register).copied() {
            if self.b.func.dfg.value_type(value) == ty {
                return value;
            }
            return self.b.ins().bitcast(ty, MemFlagsData::new(), value);
        }
        let value = self.b.ins().load(ty, MemFlagsData::trusted(), self.registers, register.0 as i32 * 8);
        self.state.registers.insert(register, (value, false));
        value
    }

    /// Changes a register. The value is an `I64` or an `F64`.
    pub(super) fn set_register(&mut self, register: Register, value: Value) {
        self.state.registers.insert(register, (value, true));
    }

    /// Changes a register to a boolean, which is an `I8`.
    pub(super) fn set_truth(&mut self, register: Register, value: Value) {
        let value = self.b.ins().uextend(types::I64, value);
        self.set_register(register, value);
    }
}
