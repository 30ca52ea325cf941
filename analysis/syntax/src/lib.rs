//! Help with ruff's tree: which functions a file has, their expressions, names and imports.
//!
//! This room knows text and syntax only: no types, no flow, no dialects.

pub mod blocks;
pub mod edits;
pub mod expressions;
pub mod functions;
pub mod imports;
pub mod nesting;
pub mod qname;
pub mod statements;
pub mod unsupported;
pub mod words;
