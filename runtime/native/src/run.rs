//! Runs programs.
#![allow(unsafe_code, reason = "steps read and write memory by address")]

use std::mem::MaybeUninit;
use std::ops::Range;

use ag_graph::ir::arithmetic::{float, range_length};

use crate::dtype::Element;
use crate::kernels::Shape;
use crate::list::{BorrowedMemory, List, position};
use crate::program::{ARENA, CONSTANTS, Elementwise, ListRegister, Number, Outer, Program, Register, Step};
use crate::segment::{Failure, NewList, Segment, Stopped};
use crate::view::Place;

/// Memory for runs, which is reused by the next run.
#[derive(Debug, Default)]
pub struct Memory {
    arena: Vec<MaybeUninit<Line>>,
    pub(crate) bases: Vec<*mut u8>,
    pub(crate) registers: Vec<u64>,
    lists: Vec<List>,
    /// The memory of lists that no longer exist, with the size of their tensors. New lists of tensors of the same size
    /// use this memory first, because they often grow to the same length.
    spare: Vec<(u32, Vec<u64>)>,
    /// The outputs that are numbers.
    numbers: Vec<u64>,
    /// The current step, in runs that record it.
    step: usize,
}

/// A cache line. Kernels need the alignment of their elements only; with this alignment, they are faster.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl Segment {
    /// Runs the segment. `inputs` contains the address of each tensor and the bits of each number, and `tensors` the
    /// address of each tensor that the segment writes. Returns the bits of the outputs that are numbers. `poll` is
    /// called between iterations of loops; if it returns `false`, the run stops.
    ///
    /// # Safety
    /// Each address must be valid: for a tensor of the dtype, the sizes and the strides in `self.inputs` or
    /// `self.tensors`. No written tensor may overlap an input or another written tensor.
    pub unsafe fn run<'m>(
        &self,
        memory: &'m mut Memory,
        inputs: &[u64],
        tensors: &[*mut u8],
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<&'m [u64], Stopped> {
        self.prepare(memory, inputs, tensors)?;
        // SAFETY: the caller guarantees the addresses; lowering allocates the buffers.
        unsafe { memory.run::<false>(&self.program, 0..self.len(), poll)? };
        memory.numbers.clear();
        for number in &self.numbers {
            let bits = memory.number(*number);
            memory.numbers.push(bits);
        }
        Ok(&memory.numbers)
    }

    /// Runs the segment again after it has stopped, and returns where it stops.
    ///
    /// # Safety
    /// As for `run`, with the same inputs.
    pub unsafe fn stopped_at(
        &self,
        memory: &mut Memory,
        inputs: &[u64],
        tensors: &[*mut u8],
    ) -> Option<Failure<'_>> {
        self.prepare(memory, inputs, tensors).ok()?;
        // SAFETY: the caller guarantees the addresses; lowering allocates the buffers.
        unsafe { memory.run::<true>(&self.program, 0..self.len(), &mut || true) }.err()?;
        let origin = *self.program.origins.get(memory.step)? as usize;
        let operation = self.program.operations.get(origin)?;
        let raises = matches!(self.program.steps.get(memory.step), Some(Step::Stop));
        Some(Failure { operation: &operation.name, span: operation.span, raises })
    }

    /// Stores the inputs and the addresses of the tensors.
    fn prepare(&self, memory: &mut Memory, inputs: &[u64], tensors: &[*mut u8]) -> Result<(), Stopped> {
        if inputs.len() != self.inputs.len() || tensors.len() != self.tensors.len() {
            return Err(Stopped);
        }
        memory.prepare(&self.program);
        for (input, base) in inputs.iter().zip(&self.input_bases) {
            match base {
                Ok(base) => memory.bases[*base as usize] = *input as usize as *mut u8,
                Err(register) => memory.registers[register.0 as usize] = *input,
            }
        }
        for (tensor, base) in tensors.iter().zip(&self.tensor_bases) {
            memory.bases[*base as usize] = *tensor;
        }
        Ok(())
    }
}

impl Memory {
    fn prepare(&mut self, program: &Program) {
        let lines = program.arena.div_ceil(64) + 1;
        if self.arena.len() < lines {
            self.arena = vec![MaybeUninit::uninit(); lines];
        }
        self.bases.clear();
        self.bases.resize(program.bases as usize, std::ptr::null_mut());
        self.bases[ARENA as usize] = self.arena.as_mut_ptr().cast();
        // Constants are only read.
        self.bases[CONSTANTS as usize] = program.constants.as_ptr().cast_mut().cast();
        self.registers.clear();
        self.registers.resize(program.registers as usize, 0);
        for list in &mut self.lists {
            list.clear();
            keep(&mut self.spare, list.item_bytes, std::mem::take(&mut list.data));
        }
        self.lists.resize_with(program.lists as usize, List::default);
        self.spare.sort_by_key(|(_, data)| data.capacity());
        self.spare.drain(..self.spare.len().saturating_sub(program.lists as usize));
    }

    /// Returns the addresses of the items of a list that has left the segment of the last run, each contiguous. `None` if
    /// an item is missing, as in `[None] * n`.
    pub fn items(&self, list: &NewList) -> Option<impl Iterator<Item = *const u8>> {
        let bytes = list.item_bytes();
        let list = self.lists.get(list.register.0 as usize)?;
        let address = list.address();
        (list.missing_count == 0)
            .then(|| (0..list.bytes / bytes).map(move |index| address.wrapping_add(index * bytes)))
    }

    /// Returns the size in bytes of the memory that the next run can use.
    pub fn size(&self) -> usize {
        let lists = self.lists.iter().map(|list| &list.data).chain(self.spare.iter().map(|(_, data)| data));
        let bytes: usize = lists.map(|data| data.capacity() * size_of::<u64>()).sum();
        bytes + self.arena.capacity() * size_of::<Line>()
    }

    #[inline(always)]
    fn at(&self, place: Place) -> *mut u8 {
        // SAFETY: lowering counts the bases, and `prepare` allocates that many.
        unsafe { *self.bases.get_unchecked(place.base as usize) }.wrapping_add(place.offset as usize)
    }

    #[inline(always)]
    fn number(&self, number: Number) -> u64 {
        match number {
            Number::Const(bits) => bits,
            Number::Register(register) => self.registers[register.0 as usize],
        }
    }

    #[inline(always)]
    fn register(&mut self, register: Register) -> &mut u64 {
        &mut self.registers[register.0 as usize]
    }

    fn list(&mut self, list: ListRegister) -> &mut List {
        &mut self.lists[list.0 as usize]
    }

    /// Returns an empty list for tensors of this size.
    fn new_list(&mut self, list: ListRegister, bytes: u32) -> &mut List {
        let spare = &mut self.spare;
        let list = &mut self.lists[list.0 as usize];
        list.clear();
        list.item_bytes = bytes;
        if list.data.capacity() == 0 {
            let place = spare.iter().rposition(|(item, _)| *item == bytes);
            let found = place.map(|place| spare.swap_remove(place)).or_else(|| spare.pop());
            list.data = found.unwrap_or_default().1;
            list.data.clear();
        }
        list
    }

    /// Moves a list out of its register if this is its last use; otherwise copies it.
    fn take(&mut self, list: ListRegister, is_last: bool) -> List {
        if is_last { std::mem::take(self.list(list)) } else { self.list(list).clone() }
    }

    /// Runs the steps in a range of a program. With `RECORDS`, records the current step, and runs no compiled loop.
    ///
    /// # Safety
    /// The bases must be set, and the program must be a result of lowering.
    pub(crate) unsafe fn run<const RECORDS: bool>(
        &mut self,
        program: &Program,
        steps: Range<usize>,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stopped> {
        let mut at = steps.start;
        let steps = &program.steps[..steps.end];
        while let Some(step) = steps.get(at) {
            if RECORDS {
                self.step = at;
            }
            at += 1;
            // SAFETY: lowering gives each operand a place that is valid for its shape.
            unsafe {
                match step {
                    Step::Elementwise(elementwise) => self.elementwise(program, elementwise),
                    Step::Product { kernel, product, out, a, b } => {
                        kernel(&program.products[*product as usize], self.at(*out), self.at(*a), self.at(*b));
                    }
                    Step::Products { kernel, product, out, a, b, count, strides } => {
                        let product = &program.products[*product as usize];
                        let [mut out, mut a, mut b] = [out, a, b].map(|place| self.at(*place));
                        for _ in 0..*count {
                            kernel(product, out, a, b);
                            out = out.wrapping_add(strides[0] as usize);
                            a = a.wrapping_add(strides[1] as usize);
                            b = b.wrapping_add(strides[2] as usize);
                        }
                    }
                    Step::Reduce { reduce, out, a } => {
                        program.reductions[*reduce as usize].run(self.at(*out), self.at(*a));
                    }
                    Step::Rows { kind, element, out, operands, rows, columns } => {
                        let operands = operands.map(|place| self.at(place).cast_const());
                        kind.run(*element, self.at(*out), operands, *rows as usize, *columns as usize);
                    }
                    Step::Loss { loss, outs, x, classes } => {
                        let outs = [self.at(outs[0]), self.at(outs[1])];
                        loss.forward(outs, self.at(*x), self.at(*classes)).map_err(|()| Stopped)?;
                    }
                    Step::LossBackward { loss, out, gradient, classes, weight } => {
                        let operands = (self.at(*gradient), self.at(*classes), self.at(*weight));
                        loss.backward(self.at(*out), operands.0, operands.1, operands.2)
                            .map_err(|()| Stopped)?;
                    }
                    Step::TopK { selection, outs, a } => {
                        let selection = &program.selections[*selection as usize];
                        let [values, indices] = outs.map(|out| self.at(out));
                        (selection.kernel)(selection, values, indices.cast(), self.at(*a))
                            .map_err(|()| Stopped)?;
                    }
                    Step::Gather { gather, out, a, indices } => {
                        let gather = &program.gathers[*gather as usize];
                        gather
                            .run(self.at(*out), self.at(*a), self.at(*indices).cast())
                            .map_err(|()| Stopped)?;
                    }
                    Step::Pick { pick, out, a, indices } => {
                        let pick = &program.picks[*pick as usize];
                        pick.run(self.at(*out), self.at(*a), self.at(*indices).cast())
                            .map_err(|()| Stopped)?;
                    }
                    Step::Scatter { scatter, out, indices, source } => {
                        let scatter = &program.scatters[*scatter as usize];
                        let (indices, source) = (self.at(*indices), self.at(*source));
                        scatter.run(self.at(*out), indices.cast(), source).map_err(|()| Stopped)?;
                    }
                    Step::JoinIndices { join, out, indices } => {
                        let (out, indices) = (self.at(*out), self.at(*indices));
                        join.run(out.cast(), indices.cast()).map_err(|()| Stopped)?;
                    }
                    Step::CheckDivisors { a, count, stride } => {
                        let a = self.at(*a).cast::<i64>();
                        for index in 0..*count as usize {
                            if a.add(index * *stride as usize).read() == 0 {
                                return Err(Stopped);
                            }
                        }
                    }
                    Step::Zero { out, bytes } => self.at(*out).write_bytes(0, *bytes as usize),
                    Step::Address { base, from, index, size, stride } => {
                        let index = position(self.number(*index), *size as usize)?;
                        self.bases[*base as usize] = self.at(*from).add(index * *stride as usize);
                    }
                    Step::Fill { out, element, number, is_float } => {
                        let (out, bits) = (self.at(*out), self.number(*number));
                        let real = if *is_float { float(bits) } else { bits.cast_signed() as f64 };
                        match element {
                            Element::F32 => out.cast::<f32>().write(real as f32),
                            Element::F64 => out.cast::<f64>().write(real),
                            // Libtorch wraps other numbers.
                            Element::I32 => {
                                let number = i32::try_from(bits.cast_signed()).map_err(|_| Stopped)?;
                                out.cast::<i32>().write(number);
                            }
                            Element::I64 => out.cast::<u64>().write(bits),
                            Element::Bool => out.write(u8::from(real != 0.0)),
                        }
                    }
                    Step::Item { out, element, a } => {
                        let a = self.at(*a);
                        *self.register(*out) = match element {
                            Element::F32 => f64::from(a.cast::<f32>().read()).to_bits(),
                            Element::I32 => i64::from(a.cast::<i32>().read()).cast_unsigned(),
                            Element::F64 | Element::I64 => a.cast::<u64>().read(),
                            Element::Bool => u64::from(a.read()),
                        };
                    }
                    Step::Push { list, a, bytes } => {
                        let a = self.at(*a);
                        self.list(*list).push(a, *bytes as usize);
                    }
                    Step::Repeat { list, count, a, bytes } => {
                        let (a, count) = (self.at(*a), self.number(*count).cast_signed());
                        let list = self.new_list(*list, *bytes);
                        for _ in 0..count {
                            list.push(a, *bytes as usize);
                        }
                    }
                    Step::Get { out, list, index, bytes } => {
                        let (out, index, bytes) = (self.at(*out), self.number(*index), *bytes as usize);
                        let list = self.list(*list);
                        let start = list.start(index, bytes)?;
                        list.address().add(start).copy_to_nonoverlapping(out, bytes);
                    }
                    Step::Borrow { base, list, index, bytes } => {
                        let (index, bytes) = (self.number(*index), *bytes as usize);
                        let list = self.list(*list);
                        let start = list.start(index, bytes)?;
                        self.bases[*base as usize] = list.address_mut().add(start);
                    }
                    Step::BorrowLast { base, list, bytes } => {
                        let bytes = *bytes as usize;
                        let list = self.list(*list);
                        let start = list.start(u64::MAX, bytes)?;
                        list.missing.truncate(start / bytes);
                        list.bytes = start;
                        self.bases[*base as usize] = list.address_mut().add(start);
                    }
                    Step::Pop { out, list, index, bytes } => {
                        let (out, index, bytes) = (self.at(*out), self.number(*index), *bytes as usize);
                        let list = self.list(*list);
                        let start = list.start(index, bytes)?;
                        if start / bytes < list.missing.len() {
                            list.missing.remove(start / bytes);
                        }
                        let item = list.writable().add(start);
                        item.copy_to_nonoverlapping(out, bytes);
                        item.add(bytes).copy_to(item, list.bytes - start - bytes);
                        list.bytes -= bytes;
                    }
                    Step::Set { list, index, a, bytes } => {
                        let (a, index, bytes) = (self.at(*a), self.number(*index), *bytes as usize);
                        let list = self.list(*list);
                        let start = list.mark_present(index, bytes)?;
                        a.copy_to_nonoverlapping(list.writable().add(start), bytes);
                    }
                    Step::Concat { out, list, bytes } => {
                        let out = self.at(*out);
                        self.concat(out, *list, *bytes as usize)?;
                    }
                    Step::Split { list, a, bytes } => {
                        let a = self.at(*a);
                        self.new_list(*list, *bytes).push(a, *bytes as usize);
                    }
                    Step::Jump { to } => at = *to as usize,
                    Step::JumpIfFalse { condition, to } => {
                        if self.number(*condition) == 0 {
                            at = *to as usize;
                        }
                    }
                    Step::JumpBack { to, number } => {
                        if !poll() {
                            return Err(Stopped);
                        }
                        at = *to as usize;
                        if !RECORDS && let Some(next) = self.compiled(program, *number, poll)? {
                            at = next;
                        }
                    }
                    Step::ForTest { left, to } => {
                        if *self.register(*left) == 0 {
                            at = *to as usize;
                        }
                    }
                    Step::ForNext { index, left, step, to, number } => {
                        if !poll() {
                            return Err(Stopped);
                        }
                        let by = *self.register(*step);
                        let index = self.register(*index);
                        *index = index.wrapping_add(by);
                        *self.register(*left) -= 1;
                        at = *to as usize;
                        if !RECORDS && let Some(next) = self.compiled(program, *number, poll)? {
                            at = next;
                        }
                    }
                    step => self.other(step)?,
                }
            }
        }
        Ok(())
    }

    /// Runs the other iterations of a loop if it is compiled, and returns the step after the loop.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    #[inline(always)]
    fn compiled(
        &mut self,
        program: &Program,
        number: u32,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<Option<usize>, Stopped> {
        let hot = &program.loops[number as usize];
        match hot.code(|mode| crate::jit::compiled(program, hot, mode)) {
            Some(code) => crate::jit::run(code, self, program, poll).map(Some),
            None => Ok(None),
        }
    }

    /// Without the feature `jit`, no loop is compiled.
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    #[inline(always)]
    fn compiled(
        &mut self,
        program: &Program,
        number: u32,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<Option<usize>, Stopped> {
        Ok(program.loops[number as usize].code(|_| None).map(|code| code.exit))
    }

    /// Joins the items of a list.
    ///
    /// # Safety
    /// `out` must be valid for this number of bytes.
    unsafe fn concat(&mut self, out: *mut u8, list: ListRegister, bytes: usize) -> Result<(), Stopped> {
        let joined = self.list(list);
        if joined.bytes != bytes || joined.missing_count > 0 {
            return Err(Stopped);
        }
        if let Some(borrowed) = joined.borrowed.as_mut().filter(|borrowed| borrowed.address == out) {
            borrowed.is_read_only = true;
            return Ok(());
        }
        let from = joined.address();
        // Another list, which may be used again, has borrowed the memory.
        if self.lists.iter().any(|list| list.is_in(out)) {
            return Err(Stopped);
        }
        // SAFETY: the list has this number of bytes. The caller guarantees the target.
        unsafe { from.copy_to_nonoverlapping(out, bytes) };
        Ok(())
    }

    /// Runs a step that uses no memory by address.
    fn other(&mut self, step: &Step) -> Result<(), Stopped> {
        match *step {
            Step::Scalar { f, out, a, b, .. } => {
                *self.register(out) = f(self.number(a), self.number(b)).map_err(|_| Stopped)?;
            }
            Step::Select { out, condition, a, b } => {
                let taken = if self.number(condition) == 0 { b } else { a };
                *self.register(out) = self.number(taken);
            }
            Step::CopyScalar { out, a } => *self.register(out) = self.number(a),
            Step::ForStart { index, left, step, start, stop, by } => {
                let [start, stop, by] = [start, stop, by].map(|number| self.number(number));
                *self.register(left) =
                    range_length(start.cast_signed(), stop.cast_signed(), by.cast_signed()).ok_or(Stopped)?;
                *self.register(index) = start;
                *self.register(step) = by;
            }
            Step::NewList { out, bytes } => {
                self.new_list(out, bytes);
            }
            Step::DropList { list } => {
                let list = self.list(list);
                list.clear();
                let (item, data) = (list.item_bytes, std::mem::take(&mut list.data));
                keep(&mut self.spare, item, data);
            }
            Step::NewListIn { out, place, bytes } => {
                let borrowed =
                    BorrowedMemory { address: self.at(place), bytes: bytes as usize, is_read_only: false };
                let list = self.list(out);
                list.clear();
                list.borrowed = Some(borrowed);
            }
            Step::FillMissing { list, count, bytes } => {
                let count = self.number(count).cast_signed();
                self.new_list(list, bytes).fill_missing(count, bytes as usize)?;
            }
            Step::MoveList { out, a, is_last } => {
                let moved = self.take(a, is_last);
                let replaced = std::mem::replace(self.list(out), moved);
                keep(&mut self.spare, replaced.item_bytes, replaced.data);
            }
            Step::PushList { list, item, is_last } => {
                let item = self.take(item, is_last);
                self.list(list).lists.push(item);
            }
            Step::GetList { out, list, index } => {
                let index = self.number(index);
                let items = &self.list(list).lists;
                let item = items[position(index, items.len())?].clone();
                *self.list(out) = item;
            }
            Step::PopList { out, list, index } => {
                let index = self.number(index);
                let items = &mut self.list(list).lists;
                let index = position(index, items.len())?;
                *self.list(out) = items.remove(index);
            }
            Step::Length { out, list, bytes } => {
                *self.register(out) = (self.list(list).bytes / bytes as usize) as u64;
            }
            Step::LengthOfLists { out, list } => {
                *self.register(out) = self.list(list).lists.len() as u64;
            }
            // `Stop`. The other steps are handled by `run`.
            _ => return Err(Stopped),
        }
        Ok(())
    }

    /// # Safety
    /// See `run`.
    #[inline(always)]
    unsafe fn elementwise(&self, program: &Program, step: &Elementwise) {
        let out = self.at(step.out);
        let [a, b, c] = step.operands;
        let operands = [self.at(a).cast_const(), self.at(b).cast_const(), self.at(c).cast_const()];
        let (start, length) = step.outer;
        // SAFETY: lowering gives each operand a place that is valid for its shape.
        unsafe {
            if length == 0 {
                (step.kernel.run)(out, operands, &step.shape);
            } else if let [outer @ .., rows] = &program.outer[start as usize..][..length as usize] {
                let shape = Shape { rows: rows.size, row_strides: rows.strides, ..step.shape };
                nested(step, &shape, outer, out, operands);
            }
        }
    }
}

/// Keeps the memory of a list, so that a later list can use it.
fn keep(spare: &mut Vec<(u32, Vec<u64>)>, item: u32, data: Vec<u64>) {
    if data.capacity() > 0 {
        spare.push((item, data));
    }
}

/// Runs the kernel in a loop over each outer dimension.
///
/// # Safety
/// See `Memory::run`.
unsafe fn nested(
    step: &Elementwise,
    shape: &Shape,
    outer: &[Outer],
    mut out: *mut u8,
    mut operands: [*const u8; 3],
) {
    let [first, rest @ ..] = outer else {
        // SAFETY: the dimensions are those of the operands.
        unsafe { (step.kernel.run)(out, operands, shape) };
        return;
    };
    for _ in 0..first.size {
        // SAFETY: the dimensions are those of the operands.
        unsafe { nested(step, shape, rest, out, operands) };
        out = out.wrapping_add(first.strides[3] as usize);
        for (operand, stride) in operands.iter_mut().zip(first.strides) {
            *operand = operand.wrapping_add(stride as usize);
        }
    }
}
