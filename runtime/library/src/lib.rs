//! Writes a function as a shared library with a C header. The library needs neither libtorch nor Python.
//!
//! The library is a copy of a template, which is built with this crate, and contains the code of `ag-standalone`. The
//! copy has the graph and its captured tensors in a segment of its own, and functions named after the user's function.

mod elf;
mod header;
mod names;

use ag_graph::ir::Graph;
use ag_graph::ir::text::print;
use ag_standalone::{Model, Program, Unsupported, model};
use thiserror::Error;

pub use self::header::Source;

/// The shared library without a model.
const TEMPLATE: &[u8] = include_bytes!(env!("AG_TEMPLATE"));

/// The maximum length of the name of a function: names in the template have 64 bytes, and get a suffix.
pub const MAX_NAME: usize = 56;

/// A function as files.
#[derive(Debug)]
pub struct Library {
    /// The shared library, an ELF file.
    pub object: Vec<u8>,
    /// The C header.
    pub header: String,
}

/// Why a function cannot be written.
#[derive(Debug, Error)]
pub enum LibraryError {
    #[error("{0:?} is not a C identifier of at most {MAX_NAME} characters")]
    Name(String),
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    #[error("{0}")]
    Model(#[from] model::ModelError),
    #[error("the shared library cannot be written: {0}")]
    Object(String),
}

impl Library {
    /// Compiles a graph to a function with this name. `captures` contains the elements of each captured tensor, in the
    /// order of the graph's parameters. `results` contains the path of each result, and `source` says where the
    /// function is from.
    pub fn new(
        name: &str,
        graph: &Graph,
        captures: &[&[u8]],
        results: &[String],
        source: &Source<'_>,
    ) -> Result<Self, LibraryError> {
        if name.len() > MAX_NAME || !names::is_identifier(name) {
            return Err(LibraryError::Name(name.to_owned()));
        }
        let bytes = model::encode(&print(graph), captures);
        let model = Model::decode(&bytes)?;
        let program = Program::new(&model)?;
        let header = header::header(name, program.arguments(), program.results(), results, source);
        let object = elf::with_model(TEMPLATE, name, &bytes).map_err(LibraryError::Object)?;
        Ok(Self { object, header })
    }
}
