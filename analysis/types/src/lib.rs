//! ty behind the interface of the type oracle ([`ag_index::oracle`]); no other crate knows it.
//!
//! ```text
//! oracle             questions in, answers out; the documents with their annotated source
//!   annotate         writes assumed types into a document's text, as annotations
//!     dependency_slice   which part of a document some of its functions can see
//!   inference        asks ty about the annotated source, and turns its types into plain data
//! database           ty's salsa database; it holds annotated source, and the user's never does
//! stubs, imports     models of libraries; where imports are looked for
//! ```

mod annotate;
mod database;
mod dependency_slice;
pub mod environment;
mod imports;
mod inference;
mod oracle;
pub mod stubs;

pub use environment::{Environment, EnvironmentError};
pub use oracle::{Oracle, SearchPathsError};
