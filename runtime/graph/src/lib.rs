//! The runtime's graph: its types, text, gradients, optimizer and drawings.
//!
//! This crate depends on neither Python nor libtorch.

pub mod autodiff;
pub mod batching;
pub mod emit;
pub mod ir;
pub mod liveness;
pub mod optimize;
