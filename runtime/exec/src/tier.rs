//! The settings of the native tier: which operators run natively, and which passes improve their programs.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use ag_native::Passes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Tier {
    /// Every operator runs on libtorch, so results are bitwise identical to libtorch's.
    Torch,
    /// Segments of small tensors run natively.
    Native,
    /// Even a single operator runs natively. For tests.
    Always,
}

static TIER: AtomicU8 = AtomicU8::new(Tier::Native as u8);

/// Sets the tier of all plans. `Always` affects only plans that are compiled later.
pub fn set_tier(tier: Tier) {
    TIER.store(tier as u8, Ordering::Relaxed);
}

pub fn tier() -> Tier {
    match TIER.load(Ordering::Relaxed) {
        0 => Tier::Torch,
        1 => Tier::Native,
        _ => Tier::Always,
    }
}

static PASSES: AtomicU32 = AtomicU32::new(u32::MAX);

/// Sets the passes of native programs that are compiled later.
pub fn set_native_passes(passes: Passes) {
    PASSES.store(passes.bits(), Ordering::Relaxed);
}

pub fn native_passes() -> Passes {
    Passes::from_bits(PASSES.load(Ordering::Relaxed))
}
