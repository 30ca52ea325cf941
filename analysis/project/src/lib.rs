//! The engine of a project: files and settings in, findings and stages out.
//!
//! It joins what the other crates keep apart: the user's database, the type oracle, and the settings. Start
//! reading at [`Engine`].

pub mod config;
mod edits;
mod engine;
mod import_roots;

pub use ag_types::environment;
pub use ag_types::{Environment, EnvironmentError};
pub use engine::{Engine, EngineError};
