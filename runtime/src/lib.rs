//! Staged Python as a graph: the runtime of converted code.
//!
//! The rooms below `stage` know no Python.

pub mod exec;
#[cfg(feature = "python")]
mod stage;
