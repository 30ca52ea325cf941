//! Calls between the interpreter and machine code.
#![allow(unsafe_code, reason = "calls functions by address")]

use std::mem::offset_of;

use crate::hot::Code;
use crate::program::Program;
use crate::run::Memory;
use crate::segment::Stopped;

/// The entry of machine code. Returns whether the loop has ended normally; otherwise the run stops.
pub(super) type Entry = unsafe extern "C" fn(*mut Run<'_>) -> bool;

/// What machine code reads of a run.
#[repr(C)]
pub(super) struct Run<'a> {
    bases: *mut *mut u8,
    registers: *mut u64,
    memory: *mut Memory,
    program: &'a Program,
    poll: &'a mut dyn FnMut() -> bool,
}

pub(super) const BASES: i32 = offset_of!(Run<'_>, bases) as i32;
pub(super) const REGISTERS: i32 = offset_of!(Run<'_>, registers) as i32;

/// Runs a loop from its head, and returns the next step.
pub(crate) fn run(
    code: &Code,
    memory: &mut Memory,
    program: &Program,
    poll: &mut dyn FnMut() -> bool,
) -> Result<usize, Stopped> {
    let (bases, registers) = (memory.bases.as_mut_ptr(), memory.registers.as_mut_ptr());
    let mut run = Run { bases, registers, memory, program, poll };
    // SAFETY: the code was compiled for this program, whose bases and registers are set. The addresses stay valid: no step
    // changes the number of bases or registers.
    unsafe {
        let entry = std::mem::transmute::<usize, Entry>(code.entry);
        if entry(&raw mut run) { Ok(code.exit) } else { Err(Stopped) }
    }
}

/// Runs steps with the interpreter. Returns `false` if the run stops.
///
/// # Safety
/// The run must be that of the code that calls this function, and the steps must not jump.
pub(super) unsafe extern "C" fn interpret(run: *mut Run<'_>, start: u32, end: u32) -> bool {
    // SAFETY: the caller guarantees the run. The code holds no reference to the memory.
    unsafe {
        let run = &mut *run;
        let steps = start as usize..end as usize;
        (*run.memory).run::<false>(run.program, steps, &mut *run.poll).is_ok()
    }
}

/// Returns whether the run may continue.
///
/// # Safety
/// The run must be that of the code that calls this function.
pub(super) unsafe extern "C" fn poll(run: *mut Run<'_>) -> bool {
    // SAFETY: the caller guarantees the run.
    unsafe { ((*run).poll)() }
}
