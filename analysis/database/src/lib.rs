//! The salsa database of a workspace and its inputs: documents with the user's text, and nothing else.
//!
//! Every query above this crate is a function of these inputs. Type inference is not one of them: the
//! type oracle has a database of its own, so annotated source never reaches this one.

mod db;
pub mod diagnostic;
mod document;
pub mod finding;

pub use db::{Cancelled, Database, Db, QueryListener, SharedSystem};
pub use document::{Document, Project, source_type, text};
