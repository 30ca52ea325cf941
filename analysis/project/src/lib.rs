//! The engine of a project: computes findings and stages from files and settings.
//!
//! It connects the user's database, the type oracle and the settings. The main type is [`Engine`].

pub mod config;
mod edits;
mod engine;
mod import_roots;

pub use ag_types::environment;
pub use ag_types::{Environment, EnvironmentError};
pub use engine::{Engine, EngineError, path_order};
