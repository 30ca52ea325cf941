//! Compiles hot loops to machine code, with Cranelift.
//!
//! The interpreter spends more time on the dispatch of a step for a few elements than on its arithmetic. In the machine
//! code of a loop, such steps are instructions, and their results stay in processor registers until a basic block ends.
//! For all other steps, the code calls the interpreter. So every loop can be compiled, and the results are the same.
//!
//! Between basic blocks, and when the interpreter is called, all state is in the memory of the run: in the arena and in
//! the scalar registers. So the code can start at any iteration.
#![allow(unsafe_code, reason = "runs machine code, which reads and writes memory by address")]

mod build;
mod calls;
mod lanes;
mod scalars;
mod state;
mod steps;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use memmap2::MmapMut;

pub(crate) use self::calls::run;
use crate::hot::{Code, Loop, LoopCompilation};
use crate::program::Program;

/// The maximum number of elements that the code of a loop computes one by one. It bounds the time of the compilation to
/// about 10 ms.
const MAX_WORK: usize = 2_000;

/// Returns the machine code of a loop. `None` if it is not worth the compilation, or if the system does not allow
/// executable memory.
pub(crate) fn compiled(program: &Program, hot: &Loop, mode: LoopCompilation) -> Option<Code> {
    let work = steps::work(program, hot)?;
    let is_worth = work.inlined >= 4 && 2 * work.inlined >= work.others && work.elements <= MAX_WORK;
    (is_worth || mode == LoopCompilation::Always).then_some(())?;
    // A defect of the code generator is no reason to end the process: the interpreter runs the loop.
    catch_unwind(AssertUnwindSafe(|| code(program, hot))).ok()?
}

fn code(program: &Program, hot: &Loop) -> Option<Code> {
    let isa = isa()?;
    let function = build::function(program, hot, &*isa)?;
    let bytes = machine_code(function, &isa)?;
    let mut memory = MmapMut::map_anon(bytes.len()).ok()?;
    memory.copy_from_slice(&bytes);
    let memory = memory.make_exec().ok()?;
    Some(Code { entry: memory.as_ptr() as usize, exit: hot.back + 1, _memory: Box::new(memory) })
}

/// Returns the code generator for this processor.
fn isa() -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    // A quarter of the time of the other allocator, for code that is about a tenth slower.
    flags.set("regalloc_algorithm", "single_pass").ok()?;
    flags.set("opt_level", "none").ok()?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
    flags.set("unwind_info", "false").ok()?;
    cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
}

/// Returns position-independent code. `None` if it refers to symbols, which no step does.
fn machine_code(function: Function, isa: &OwnedTargetIsa) -> Option<Vec<u8>> {
    let mut context = Context::for_function(function);
    let code = context.compile(&**isa, &mut ControlPlane::default()).ok()?;
    code.buffer.relocs().is_empty().then(|| code.code_buffer().to_vec())
}
