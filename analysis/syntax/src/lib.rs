//! Helpers for ruff's syntax tree: the functions of a file, their expressions, names and imports.
//!
//! This crate depends on text and syntax only: no types, no dataflow, no dialects.

pub mod blocks;
pub mod directives;
pub mod edits;
pub mod expressions;
pub mod functions;
pub mod imports;
pub mod nesting;
pub mod qname;
pub mod statements;
pub mod unsupported;
pub mod words;
