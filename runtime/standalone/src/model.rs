//! Models: a graph and its captured tensors as bytes. Tensors are read where they are, without a copy.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `AGMODEL1`, the version of the format |
//! | 8 | the length of the text, little-endian |
//! | | the text of the graph (`ag_graph::ir::text`) |
//! | | for each captured tensor, in the order of the parameters: zeros up to a multiple of 64, and its elements |

use ag_graph::ir::text::{ParseError, parse};
use ag_graph::ir::{Graph, Origin};
use thiserror::Error;

const VERSION: &[u8; 8] = b"AGMODEL1";
/// The alignment of a captured tensor, relative to the start of the model: a cache line.
pub const ALIGNMENT: usize = 64;

/// The bytes before the position of the model in a shared library, by which `ag-library` finds it.
pub const MARK: [u8; 32] = *b"ag-library: position of a model.";

/// A graph with its captured tensors.
#[derive(Debug)]
pub struct Model<'a> {
    pub graph: Graph,
    /// The elements of each captured tensor, in the order of the parameters.
    pub captures: Vec<&'a [u8]>,
}

/// Why bytes are no model.
#[derive(Debug, Error)]
pub enum ModelError {
    #[error("not a model of this version")]
    Version,
    #[error("the model is incomplete")]
    Incomplete,
    #[error("the graph of the model: {0}")]
    Graph(ParseError),
}

/// Returns the bytes of a model.
pub fn encode(text: &str, captures: &[&[u8]]) -> Vec<u8> {
    let mut bytes = VERSION.to_vec();
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
    for capture in captures {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes.extend(*capture);
    }
    bytes
}

impl<'a> Model<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let rest = bytes.strip_prefix(VERSION).ok_or(ModelError::Version)?;
        let (length, rest) = rest.split_first_chunk().ok_or(ModelError::Incomplete)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| ModelError::Incomplete)?;
        let text = rest.get(..length).and_then(|text| std::str::from_utf8(text).ok());
        let graph = parse(text.ok_or(ModelError::Incomplete)?).map_err(ModelError::Graph)?;
        let mut at = VERSION.len() + size_of::<u64>() + length;
        let mut captures = Vec::new();
        for size in sizes(&graph) {
            let size = size.ok_or(ModelError::Incomplete)?;
            at = at.next_multiple_of(ALIGNMENT);
            let end = at.checked_add(size).ok_or(ModelError::Incomplete)?;
            captures.push(bytes.get(at..end).ok_or(ModelError::Incomplete)?);
            at = end;
        }
        Ok(Self { graph, captures })
    }
}

/// Returns the size in bytes of each captured tensor. `None` if the type of the capture does not determine it.
fn sizes(graph: &Graph) -> Vec<Option<usize>> {
    let Some(entry) = graph.entry() else { return Vec::new() };
    let params = graph.origins.iter().zip(entry.params());
    params
        .filter(|(origin, _)| matches!(origin, Origin::Capture(_)))
        .map(|(_, param)| {
            let ty = entry.ty(*param).tensor()?;
            let sizes = ty.sizes()?.into_iter().map(|size| usize::try_from(size).ok());
            sizes.into_iter().try_fold(ty.dtype.size(), |bytes, size| bytes.checked_mul(size?))
        })
        .collect()
}
