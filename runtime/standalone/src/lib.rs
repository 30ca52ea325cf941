//! Compiled functions: graphs that run as one native program, without libtorch and without Python.
//!
//! - [`model`]: a graph and its captured tensors as bytes
//! - [`program`]: the native program of a model, and calls of it
//!
//! `ag-library` writes a model into a shared library, whose code is this crate.

pub mod model;
pub mod program;

pub use model::Model;
pub use program::{Argument, Call, CallError, Program, Unsupported, Value};
