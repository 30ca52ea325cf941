//! The index of each single file, and the interface of the type oracle.
//!
//! ```text
//! ids               the positions of documents, functions, classes, parameters and roots in their lists
//! definitions       the functions and classes of a file
//! index             functions, classes, imports, calls and roots of one file, from one walk over its tree
//! root_decorators   the public functions that make their argument a root, and those that only wrap it
//! aliases           the names that a file gives to root decorators
//! roots             the decorators and calls that make a function a root
//! expected          code whose exceptions are expected
//! keras_classes     the methods that Keras calls while it traces
//! reexports         frameworks that are imported through the project
//! keras_functions   the functions that are passed to Keras
//! static_arguments  the arguments that a root does not trace
//! value_flow        the flow of functions as values through a file
//! type_expression   Python type expressions as data
//! assumed           assumed types: bounded sets of type expressions
//! assumptions       how a function is staged, with the assumed types of its parameters
//! facts             the inferred properties of an expression
//! answers           the type oracle's answer for a function
//! oracle            the interface of the type oracle
//! ```
//!
//! This crate depends neither on the analysis across files (`ag-staging`) nor on the type engine (`ag-types`).

pub mod aliases;
pub mod answers;
pub mod assumed;
pub mod assumptions;
pub mod callbacks;
pub mod definitions;
pub mod dialect;
pub mod expected;
pub mod facts;
pub mod ids;
pub mod index;
pub mod keras_classes;
mod keras_functions;
pub mod lambdas;
pub mod locate;
pub mod modules;
pub mod oracle;
pub mod reexports;
mod root_decorators;
pub mod roots;
pub mod scope_location;
pub mod self_contained;
pub mod static_arguments;
pub mod type_expression;
pub mod value_flow;
