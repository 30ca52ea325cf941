//! Runs graphs on libtorch: a graph is compiled to a plan, a flat list of typed steps, and the plan runs.
//! Only this room knows `tch`; only `aten` in it calls C++.

pub mod aten;
mod compile;
mod error;
mod host;
mod list;
mod listing;
mod liveness;
mod machine;
mod plan;
mod products;
pub mod saved;
mod sums;
mod typed;
mod value;

pub use compile::CompileError;
pub use error::{Error, Fault, Place};
pub use host::{Alone, Host};
pub use plan::Plan;
pub use value::{Object, Value};

/// How many threads one operator may use.
pub fn threads() -> i32 {
    tch::get_num_threads()
}

/// One is right below some 50 µs of work per operator.
pub fn set_threads(count: i32) {
    tch::set_num_threads(count.max(1));
}
