//! Binding times: which code is evaluated in Python while tracing, which in the graph, and why.
//!
//! ```text
//! analysis      a run: index, roots, rounds of type inference
//!   update      replaces a run after edits that affect only the functions that they change
//!   fixpoint    which functions are staged, and the assumed types of their parameters
//!     value_flow  the functions that calls may reach through variables, fields and containers
//!   keras       the version of Keras with which a file runs
//!     requirements  the version that the project requires
//!   results     the results, as inputs of the queries below
//! queries       per function: facts, decisions, control flow
//!   transfer    transfer functions: variables carried through a staged loop become Tensors
//!   traced_leaves  the numbers in traced pytrees of JAX become arrays
//!     pytrees     the classes that are pytrees
//!   binding     the binding time of a decision
//!   why         the reasons
//!   reached_from  the root from which a function is reached
//! ```

pub mod analysis;
mod attribute_code;
pub mod binding;
pub mod construct;
pub mod decisions;
pub mod difference;
pub mod fixpoint;
pub mod hierarchy;
pub mod host_numbers;
mod import_cycles;
pub mod keras;
mod moves;
pub mod options;
mod pytrees;
pub mod queries;
pub mod reached_from;
mod requirements;
pub mod results;
pub mod staged;
pub mod stages;
mod traced_leaves;
pub mod transfer;
pub mod update;
pub mod value_flow;
pub mod why;
