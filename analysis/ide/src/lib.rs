//! What editors show: plain structs with byte offsets into the file, made on demand from the queries.
//! This room knows no protocol; how a note's place is written is the caller's matter.

pub mod actions;
pub mod calls;
pub mod completion;
pub mod converted;
mod function;
pub mod hints;
pub mod hover;
pub mod inputs;
mod library;
pub mod programs;
pub mod symbols;
pub mod tokens;
mod words;

pub use function::StagedHere;
