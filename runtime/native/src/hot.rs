//! Hot loops, which become machine code (the module `jit`).

use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// Which loops are compiled to machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LoopCompilation {
    Never,
    /// Loops after many iterations, if most of their steps are small.
    Hot,
    /// Every loop. For tests.
    Always,
}

static COMPILATION: AtomicU8 = AtomicU8::new(LoopCompilation::Hot as u8);

/// Sets which loops are compiled from now on.
pub fn set_loop_compilation(loops: LoopCompilation) {
    COMPILATION.store(loops as u8, Ordering::Relaxed);
}

pub fn loop_compilation() -> LoopCompilation {
    match COMPILATION.load(Ordering::Relaxed) {
        0 => LoopCompilation::Never,
        1 => LoopCompilation::Hot,
        _ => LoopCompilation::Always,
    }
}

static COMPILED: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of loops that this process has compiled.
pub fn compiled_loops() -> usize {
    COMPILED.load(Ordering::Relaxed)
}

/// The number of iterations after which a loop is hot. The compilation of a step takes about as long as so many runs of
/// the step by the interpreter.
const HOT: u32 = 4_000;

/// A loop of a program: the steps from `head` to the jump back at `back`.
#[cfg_attr(
    not(all(feature = "jit", target_arch = "x86_64")),
    allow(dead_code, reason = "only the module `jit` reads it")
)]
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) head: usize,
    pub(crate) back: usize,
    /// The number of iterations that were not compiled.
    iterations: AtomicU32,
    /// `None` if the loop cannot be compiled, or is not worth it.
    code: OnceLock<Option<Code>>,
}

impl Loop {
    pub(crate) fn new(head: usize, back: usize) -> Self {
        Self { head, back, iterations: AtomicU32::new(0), code: OnceLock::new() }
    }

    /// Counts an iteration, and returns the machine code of the loop if there is one. The code starts at the head.
    #[inline(always)]
    pub(crate) fn code(&self, compile: impl FnOnce(LoopCompilation) -> Option<Code>) -> Option<&Code> {
        match self.code.get() {
            Some(code) => code.as_ref(),
            None => self.counted(compile),
        }
    }

    fn counted(&self, compile: impl FnOnce(LoopCompilation) -> Option<Code>) -> Option<&Code> {
        // Runs on several threads may lose counts.
        let iterations = self.iterations.load(Ordering::Relaxed).saturating_add(1);
        self.iterations.store(iterations, Ordering::Relaxed);
        let mode = loop_compilation();
        if mode == LoopCompilation::Never || mode == LoopCompilation::Hot && iterations < HOT {
            return None;
        }
        let compile = || compile(mode).inspect(|_| _ = COMPILED.fetch_add(1, Ordering::Relaxed));
        self.code.get_or_init(compile).as_ref()
    }
}

/// The machine code of a loop.
#[cfg_attr(
    not(all(feature = "jit", target_arch = "x86_64")),
    allow(dead_code, reason = "only the module `jit` reads it")
)]
#[derive(Debug)]
pub(crate) struct Code {
    /// The address of the function (`jit::calls::Entry`).
    pub(crate) entry: usize,
    /// The first step after the loop.
    pub(crate) exit: usize,
    /// The memory of the code, which is executable and read-only.
    pub(crate) _memory: Box<dyn Any + Send + Sync>,
}
