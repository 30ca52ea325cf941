//! Executes graphs on libtorch: compiles a graph to a plan, a flat list of typed steps, and runs it.
//!
//! Only this crate and `ag-python` link libtorch; only the module `aten` calls C++.

pub mod aten;
mod backoff;
mod clock;
mod compile;
mod deferred;
mod error;
mod host;
mod in_place;
mod list;
mod listing;
mod machine;
mod memory;
mod pass;
mod plan;
mod pooling;
mod products;
pub mod saved;
mod tier;
mod typed;
mod value;

pub use ag_native::{LoopCompilation, compiled_loops, set_loop_compilation};
pub use clock::Clock;
pub use compile::{CompileError, deferred_products};
pub use error::{Error, Fault, Location};
pub use host::{Host, StandaloneHost};
pub use pass::{Pass, set_passes};
pub use plan::Plan;
pub use products::{
    ProductKernels, description as products_description, product_kernels, set_product_kernels,
};
pub use tier::{Tier, native_passes, set_native_passes, set_tier, tier};
pub use value::{Object, Value};

/// Returns the number of threads that one operator may use.
pub fn threads() -> i32 {
    tch::get_num_threads()
}

/// Returns the limits of native programs for the current number of threads. If the user has selected a kernel for
/// products, large products are left to this kernel.
pub fn limits() -> ag_native::Limits {
    let limits = ag_native::Limits::for_threads(threads().unsigned_abs() as usize);
    if product_kernels() == ProductKernels::Measured { limits } else { limits.without_large_products() }
}

/// Sets the number of threads that one operator may use. For operators below about 50 µs, one thread is fastest.
pub fn set_threads(count: i32) {
    tch::set_num_threads(count.max(1));
}
