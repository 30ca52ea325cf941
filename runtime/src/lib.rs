//! Staged Python as a graph: the runtime of converted code.
//!
//! The rooms below `stage` know no Python.

pub mod autodiff;
pub mod emit;
pub mod exec;
pub mod ir;
pub mod optimize;
pub mod saved;
#[cfg(feature = "python")]
mod stage;
