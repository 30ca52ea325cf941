//! The salsa database of a workspace and its inputs: documents with the user's text, and nothing else.
//!
//! Every query of the crates above is a function of these inputs. Type inference does not run here: the
//! type oracle has a separate database, so this one never contains annotated source.

mod db;
pub mod diagnostic;
mod document;
pub mod finding;

pub use db::{Cancelled, Database, Db, QueryListener, SharedSystem};
pub use document::{Document, Project, source_type, text, with_text};
