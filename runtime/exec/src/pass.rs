//! The passes over plans. Each has a file in `compile` and can be switched off.

use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    DeferredProducts,
}

impl Pass {
    pub const ALL: [Self; 1] = [Self::DeferredProducts];

    pub fn name(self) -> &'static str {
        match self {
            Self::DeferredProducts => "deferred-products",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pass| pass.name() == name)
    }

    /// Returns whether plans that are compiled now use the pass.
    pub(super) fn is_enabled(self) -> bool {
        DISABLED.load(Ordering::Relaxed) & (1 << self as u32) == 0
    }
}

/// The passes that do not run, as bits.
static DISABLED: AtomicU32 = AtomicU32::new(0);

/// Sets the passes over plans that are compiled later; all others do not run.
pub fn set_passes(passes: impl IntoIterator<Item = Pass>) {
    let enabled = passes.into_iter().fold(0, |bits, pass| bits | 1 << pass as u32);
    DISABLED.store(!enabled, Ordering::Relaxed);
}
