//! Editor features. The results are plain structs with byte offsets into the file, computed on demand by queries. This
//! crate does not depend on the language server protocol: the caller renders locations.

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

pub use function::FunctionAnalysis;
