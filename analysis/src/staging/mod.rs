//! Binding times: what is evaluated now, in Python, and what later, in a graph; and why.
//!
//! ```text
//! index ── roots, callbacks            what a file says by itself
//!   └── fixpoint ── types ── ghost     what is called with what, over the project
//!         └── assumptions              the result: inputs of the per-function queries
//!               └── facts, decisions, binding, why
//! ```

pub mod assumed;
pub mod assumptions;
pub mod binding;
pub mod callbacks;
pub mod closed;
pub mod construct;
pub mod decisions;
pub mod dialect;
pub mod difference;
pub mod effects;
pub mod facts;
pub mod fixpoint;
pub mod ghost;
pub mod hierarchy;
pub mod index;
pub mod lambdas;
pub mod place;
pub mod queries;
pub mod roots;
pub mod stages;
pub mod stubs;
pub mod types;
pub mod visible;
pub mod why;
