//! What each file declares by itself, and the interface through which types are asked for.
//!
//! ```text
//! index       functions, classes, imports, calls and roots of one file, from one walk over its tree
//! roots       what makes a function a root: decorators, calls, base classes
//! assumed     the types that the analysis assumes; what is assumed of a function
//! facts       what is known of an expression
//! answers     what the type oracle says of a function
//! oracle      the interface of the type oracle
//! ```
//!
//! This crate knows neither the analysis over files (`ag-staging`) nor the type engine (`ag-types`).

pub mod answers;
pub mod assumed;
pub mod assumptions;
pub mod callbacks;
pub mod dialect;
pub mod facts;
pub mod index;
pub mod lambdas;
pub mod locate;
pub mod modules;
pub mod oracle;
pub mod place;
pub mod roots;
pub mod self_contained;
