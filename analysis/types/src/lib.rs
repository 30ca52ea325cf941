//! ty behind the interface of the type oracle ([`ag_index::oracle`]); no other crate depends on ty.
//!
//! ```text
//! oracle             answers questions; owns the documents and their annotated source
//!   cancellation     cancels them from another thread
//!   annotate         inserts assumed types into a document's text, as annotations
//!     dependency_slice   the code of a document on which some of its functions depend
//!   inference        queries ty about annotated source, and converts its types to plain data
//! database           ty's salsa database, the only one that contains annotated source
//! stubs, imports     models of libraries; the search paths of imports
//! notebooks          reads notebooks with unknown or missing fields
//! ```

mod annotate;
mod cancellation;
mod database;
mod dependency_slice;
pub mod environment;
mod imports;
mod inference;
mod notebooks;
mod oracle;
pub mod stubs;

pub use cancellation::Cancellation;
pub use environment::{Environment, EnvironmentError};
pub use oracle::{Oracle, SearchPathsError};
