//! Which steps become instructions, and the instructions of those that read or write elements.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::build::Emitter;
use super::{lanes, scalars};
use crate::dtype::Element;
use crate::hot::Loop;
use crate::program::{ARENA, Elementwise, Number, Outer, Program, Step};
use crate::view::Place;

/// The maximum number of elements of a step that becomes instructions for each element. For more elements, the vectors
/// of a kernel are faster.
const MAX_ELEMENTS: usize = 4;

/// The work of the steps of a loop.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The number of steps that become instructions.
    pub(super) inlined: usize,
    /// The number of steps that the interpreter runs.
    pub(super) others: usize,
    /// The number of elements that the inlined steps compute.
    pub(super) elements: usize,
}

/// Returns the work of a loop. `None` if the loop is not part of the program.
pub(super) fn work(program: &Program, hot: &Loop) -> Option<Work> {
    let mut work = Work::default();
    for step in program.steps.get(hot.head..=hot.back)? {
        if target(step).is_some() || is_inlined(program, step) {
            work.inlined += 1;
            work.elements += if let Step::Elementwise(step) = step { count(program, step) } else { 1 };
        } else {
            work.others += 1;
        }
    }
    Some(work)
}

/// Returns the target of a jump.
pub(super) fn target(step: &Step) -> Option<usize> {
    match step {
        Step::Jump { to }
        | Step::JumpIfFalse { to, .. }
        | Step::JumpBack { to, .. }
        | Step::ForTest { to, .. }
        | Step::ForNext { to, .. } => Some(*to as usize),
        _ => None,
    }
}

/// Returns the inputs that the inlined steps of a loop read.
pub(super) fn inputs(program: &Program, hot: &Loop) -> Vec<u32> {
    let mut read = Vec::new();
    for step in &program.steps[hot.head..=hot.back] {
        if is_inlined(program, step) {
            { *step }.places(&mut |place| {
                if program.inputs.contains(&place.base) && !read.contains(&place.base) {
                    read.push(place.base);
                }
            });
        }
    }
    read
}

/// Returns the number of elements of a step.
fn count(program: &Program, step: &Elementwise) -> usize {
    let outer = &program.outer[step.outer.0 as usize..][..step.outer.1 as usize];
    step.shape.count as usize * outer.iter().map(|outer| outer.size as usize).product::<usize>()
}

/// Returns whether a step that is not a jump becomes instructions.
pub(super) fn is_inlined(program: &Program, step: &Step) -> bool {
    match step {
        Step::Elementwise(step) => {
            step.out.base == ARENA
                && count(program, step) <= MAX_ELEMENTS
                && lanes::is_supported(&step.kernel)
        }
        Step::Scalar { operation, .. } => scalars::is_supported(*operation),
        Step::Fill { out, element, .. } => out.base == ARENA && *element != Element::I32,
        Step::Item { .. } | Step::Select { .. } | Step::CopyScalar { .. } | Step::Address { .. } => true,
        Step::CheckDivisors { count, .. } => *count as usize <= MAX_ELEMENTS,
        _ => false,
    }
}

/// The offsets in bytes of each element of the operands and the result.
fn offsets(step: &Elementwise, outer: &[Outer], start: [u32; 4], into: &mut Vec<[u32; 4]>) {
    let Some((first, rest)) = outer.split_first() else {
        for index in 0..step.shape.count {
            into.push(
                [0, 1, 2, 3]
                    .map(|slot| start[slot] + index * step.shape.strides[slot] * u32::from(step.bytes[slot])),
            );
        }
        return;
    };
    for index in 0..first.size {
        let start = [0, 1, 2, 3].map(|slot| start[slot] + index * first.strides[slot]);
        offsets(step, rest, start, into);
    }
}

impl Emitter<'_> {
    /// Emits a step for which `is_inlined` is true.
    pub(super) fn step(&mut self, step: &Step) -> Option<()> {
        match *step {
            Step::Elementwise(ref step) => self.elementwise(step)?,
            Step::Scalar { operation, out, a, b, .. } => self.scalar(operation, out, a, b)?,
            Step::Select { out, condition, a, b } => {
                let (condition, a, b) = (self.integer(condition), self.integer(a), self.integer(b));
                let value = self.b.ins().select(condition, a, b);
                self.set_register(out, value);
            }
            Step::CopyScalar { out, a } => {
                let value = self.integer(a);
                self.set_register(out, value);
            }
            Step::Fill { out, element, number, is_float } => {
                let value = self.filled(element, number, is_float);
                self.set_element(out.offset, element, value);
            }
            Step::Item { out, element, a } => {
                let value = self.element(a, element);
                let value = match element {
                    Element::F32 => self.b.ins().fpromote(types::F64, value),
                    Element::I32 => self.b.ins().sextend(types::I64, value),
                    Element::Bool => self.b.ins().uextend(types::I64, value),
                    Element::F64 | Element::I64 => value,
                };
                self.set_register(out, value);
            }
            Step::Address { base, from, index, size, stride } => {
                self.address(base, from, index, size, stride);
            }
            Step::CheckDivisors { a, count, stride } => {
                for index in 0..count {
                    let place = Place { offset: a.offset + index * stride * 8, ..a };
                    let value = self.element(place, Element::I64);
                    self.stop_if_zero(value);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn elementwise(&mut self, step: &Elementwise) -> Option<()> {
        let outer = &self.program.outer[step.outer.0 as usize..][..step.outer.1 as usize];
        let mut places = Vec::new();
        offsets(step, outer, [0; 4], &mut places);
        let elements = lanes::operands(&step.kernel);
        // All elements are read first, because the result may be in the memory of an operand.
        let mut results = Vec::with_capacity(places.len());
        for offsets in &places {
            let mut operands = Vec::with_capacity(3);
            for ((place, offset), element) in step.operands.iter().zip(offsets).zip(&elements) {
                let place = Place { offset: place.offset + offset, ..*place };
                operands.push(self.element(place, *element));
            }
            results.push(self.mapped(&step.kernel, &operands)?);
        }
        for (value, offsets) in results.into_iter().zip(&places) {
            self.set_element(step.out.offset + offsets[3], step.kernel.to, value);
        }
        Some(())
    }

    /// Returns a number as an element.
    fn filled(&mut self, element: Element, number: Number, is_float: bool) -> Value {
        if element == Element::I64 {
            return self.integer(number);
        }
        let real = if is_float {
            self.float(number)
        } else {
            let value = self.integer(number);
            self.b.ins().fcvt_from_sint(types::F64, value)
        };
        match element {
            Element::F32 => self.b.ins().fdemote(types::F32, real),
            Element::Bool => {
                let zero = self.b.ins().f64const(0.0);
                self.b.ins().fcmp(FloatCC::NotEqual, real, zero)
            }
            _ => real,
        }
    }

    /// Sets a base to the address of an item of a dimension.
    fn address(&mut self, base: u32, from: Place, index: Number, size: u32, stride: u32) {
        let flags = MemFlagsData::trusted();
        let index = self.integer(index);
        let wrapped = self.b.ins().iadd_imm_s(index, i64::from(size));
        let is_negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, index, 0);
        let index = self.b.ins().select(is_negative, wrapped, index);
        let is_outside = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, index, i64::from(size));
        self.stop_if(is_outside, true);
        let start = match (from.base, self.inputs.get(&from.base)) {
            (ARENA, _) => self.arena,
            (_, Some(input)) => *input,
            (other, None) => self.b.ins().load(types::I64, flags, self.bases, other as i32 * 8),
        };
        let distance = self.b.ins().imul_imm_s(index, i64::from(stride));
        let address = self.b.ins().iadd(start, distance);
        let address = self.b.ins().iadd_imm_s(address, i64::from(from.offset));
        self.b.ins().store(flags, address, self.bases, base as i32 * 8);
    }
}
