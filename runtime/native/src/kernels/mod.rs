//! Kernels: loops over memory, compiled once for every x86-64 processor and once for those with AVX2 and FMA.
//!
//! The loops are plain Rust, which the compiler vectorizes. A macro expands each loop twice, in a function with
//! `#[target_feature]` and in one without it. A generic function with a closure would be compiled without the feature.

pub(crate) mod elementwise;
pub(crate) mod loss;
mod math;
pub(crate) mod product;
#[cfg(target_arch = "x86_64")]
mod product_512;
pub(crate) mod reduce;
pub(crate) mod rows;
pub(crate) mod selection;

/// Whether the processor has the instructions of the wide kernels.
pub(crate) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
