//! The native tier: runs parts of a graph in memory of its own, without a tensor object and without an allocation
//! inside loops.
//!
//! A libtorch operator costs about a microsecond even on small tensors; a step of a native program costs a few
//! nanoseconds. [`lower::segment`] finds the longest part of a region that can run natively. Such a part contains only
//! operators that this crate supports. Its dtypes are `f32`, `f64`, `i32`, `i64` or `bool`, and its shapes are known
//! and within the limits. The other nodes run on libtorch. A segment may contain whole loops, branches and lists.
//!
//! A segment has no effects before it ends. If a run stops early, for example at a division by zero, nothing has
//! changed; the same nodes then run on libtorch, which raises the exception.
//!
//! This crate depends on neither torch nor Python.

mod dtype;
mod hot;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod jit;
mod kernels;
mod list;
mod listing;
pub mod lower;
mod options;
mod pass;
mod program;
mod run;
mod segment;
mod view;

pub use dtype::Element;
pub use hot::{LoopCompilation, compiled_loops, loop_compilation, set_loop_compilation};
pub use kernels::pool::{Images, Order, Window, max_pool2d};
pub use listing::listing;
pub use lower::MIN_OPERATORS;
pub use options::{Limits, Options};
pub use pass::{Fired, Pass, Passes};
pub use run::Memory;
pub use segment::{Base, Failure, Input, Layouts, NewList, NewTensor, Output, OutputView, Segment, Stopped};
