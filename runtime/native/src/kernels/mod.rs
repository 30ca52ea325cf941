//! Kernels: loops over memory, compiled once for every x86-64 processor and once for those with AVX2 and FMA; products of
//! `f32` also for those with AVX-512.
//!
//! The loops are plain Rust, which the compiler vectorizes. A macro expands each loop twice, in a function with
//! `#[target_feature]` and in one without it. A generic function with a closure would be compiled without the feature.

use std::sync::OnceLock;

pub(crate) use self::loops::Kernel;

#[macro_use]
mod loops;

pub(crate) mod elementwise;
mod lanes;
pub(crate) mod loss;
mod math;
mod number;
pub(crate) mod product;
#[cfg(target_arch = "x86_64")]
mod product_256;
#[cfg(target_arch = "x86_64")]
mod product_512;
pub(crate) mod reduce;
pub(crate) mod rows;
pub(crate) mod selection;

/// The instruction set of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Instructions {
    Portable,
    /// AVX2 and FMA.
    Wide,
    /// AVX-512 too.
    Long,
}

/// The instruction set of this process: the processor's, unless `AUTOGRAPH_INSTRUCTIONS` names a smaller one.
pub(crate) fn instructions() -> Instructions {
    static INSTRUCTIONS: OnceLock<Instructions> = OnceLock::new();
    *INSTRUCTIONS.get_or_init(|| {
        let most = match std::env::var("AUTOGRAPH_INSTRUCTIONS").as_deref() {
            Ok("portable") => Instructions::Portable,
            Ok("avx2") => Instructions::Wide,
            _ => Instructions::Long,
        };
        available().min(most)
    })
}

fn available() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    {
        let is_wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        match (is_wide, is_x86_feature_detected!("avx512f")) {
            (true, true) => Instructions::Long,
            (true, false) => Instructions::Wide,
            _ => Instructions::Portable,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    Instructions::Portable
}

/// Whether the processor has the instructions of the wide kernels.
pub(crate) fn is_wide() -> bool {
    instructions() >= Instructions::Wide
}
