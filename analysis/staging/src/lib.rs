//! Binding times: what is evaluated now, in Python, and what later, in a graph; and why.
//!
//! ```text
//! analysis      a run: index, roots, rounds of questions to the type oracle
//!   fixpoint    which functions are staged, and what their parameters are assumed to be
//!   results     the results, as inputs of the queries below
//! queries       per function: facts, decisions, control flow
//!   effects     what staged statements do to facts: the state of a staged loop comes out as Tensors
//!   binding     the binding time of a decision
//!   why         the reasons
//! ```

pub mod analysis;
pub mod binding;
pub mod construct;
pub mod decisions;
pub mod difference;
pub mod effects;
pub mod fixpoint;
pub mod hierarchy;
mod import_cycles;
pub mod options;
pub mod queries;
pub mod results;
pub mod staged;
pub mod stages;
pub mod why;
