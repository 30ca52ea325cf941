//! Kernels: loops over memory. Each is compiled for all x86-64 processors, and for those with AVX2 and FMA. Loops over
//! elements and products of `f32` are also compiled for AVX-512.
//!
//! The loops are plain Rust, which the compiler vectorizes. A macro expands each loop in a function with
//! `#[target_feature]` and in a function without it. A closure in a generic function would be compiled without the
//! feature.

use std::sync::OnceLock;

pub(crate) use self::loops::Shape;
pub(crate) use self::maps::Kernel;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
pub(crate) use self::maps::Map;

#[macro_use]
mod loops;

#[cfg(target_arch = "x86_64")]
mod column_sums;
mod elementwise;
mod extreme;
mod lanes;
pub(crate) mod loss;
pub(crate) mod maps;
mod math;
#[cfg(target_arch = "x86_64")]
mod narrow_512;
mod number;
pub(crate) mod pool;
pub(crate) mod product;
#[cfg(target_arch = "x86_64")]
mod product_256;
#[cfg(target_arch = "x86_64")]
mod product_512;
pub(crate) mod reduce;
pub(crate) mod rows;
pub(crate) mod scatter;
pub(crate) mod selection;
#[cfg(target_arch = "x86_64")]
mod tiles;

/// The instruction set of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Instructions {
    Portable,
    /// With AVX2 and FMA.
    Avx2,
    /// With AVX-512 F, BW, DQ and VL, which all processors with AVX-512 except for Xeon Phi have.
    Avx512,
}

/// Returns the instruction set of this process: the processor's, unless `AUTOGRAPH_INSTRUCTIONS` names a smaller one.
pub(crate) fn instructions() -> Instructions {
    static INSTRUCTIONS: OnceLock<Instructions> = OnceLock::new();
    *INSTRUCTIONS.get_or_init(|| {
        let most = match std::env::var("AUTOGRAPH_INSTRUCTIONS").as_deref() {
            Ok("portable") => Instructions::Portable,
            Ok("avx2") => Instructions::Avx2,
            _ => Instructions::Avx512,
        };
        available().min(most)
    })
}

fn available() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    {
        let is_wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let is_widest = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (is_wide, is_widest) {
            (true, true) => Instructions::Avx512,
            (true, false) => Instructions::Avx2,
            _ => Instructions::Portable,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    Instructions::Portable
}

/// Returns whether the wide kernels run, which need AVX2 and FMA.
pub(crate) fn is_wide() -> bool {
    instructions() >= Instructions::Avx2
}
