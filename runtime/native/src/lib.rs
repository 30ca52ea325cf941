//! The native tier: runs parts of a graph on small tensors in memory of its own, without a tensor object and
//! without an allocation inside loops.
//!
//! A libtorch operator costs about a microsecond, whatever the size of its tensors; a step here costs a few
//! nanoseconds. [`lower::segment`] finds the longest part of a region that can run natively: its operators are
//! known here, its dtypes are `f32`, `f64`, `i64` or `bool`, and its shapes are known and small. The rest of
//! the graph runs on libtorch. A segment may contain whole loops, branches and lists.
//!
//! A segment has no effects before it ends. If a run stops, for example at a division by zero, nothing has
//! changed, and the same nodes run on libtorch, which raises the exception.
//!
//! This crate knows neither torch nor Python.

mod dtype;
mod kernels;
pub mod lower;
mod program;
mod run;
mod segment;
mod view;

pub use dtype::Element;
pub use lower::FEWEST_OPERATORS;
pub use run::{Memory, Stopped};
pub use segment::{Base, Input, Layouts, NewTensor, Output, OutputView, Passes, Segment};
