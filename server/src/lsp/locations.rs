//! Converts locations of findings and notes to locations of the protocol. The line index of a document is
//! built once for all of its findings.

use ag_db::finding;
use tower_lsp::lsp_types::Location;

use super::documents::{self, PartMapper};
use super::snapshot::{DocumentContext, Snapshot};

pub(crate) struct Locations<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) context: &'a DocumentContext<'a>,
    pub(crate) mappers: Vec<PartMapper<'a>>,
}

impl<'a> Locations<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, context: &'a DocumentContext<'a>) -> Self {
        Self { snapshot, context, mappers: PartMapper::all(&context.source, snapshot.client.encoding) }
    }

    /// Returns whether a location is in this document.
    pub(crate) fn is_here(&self, location: &finding::Location) -> bool {
        location.file == self.context.engine.file(self.context.document)
    }

    /// Converts a location. `None` for files that the client cannot open, such as bundled library models.
    pub(crate) fn to_lsp(&self, location: &finding::Location) -> Option<Location> {
        if self.is_here(location) {
            let mapper = self.mappers.iter().find(|mapper| mapper.contains(location.range.start()))?;
            return Some(Location::new(mapper.part.uri.clone(), mapper.range(location.range)));
        }
        let source = self.snapshot.source(self.context.engine, location.file)?;
        documents::location(&source, location.range, self.snapshot.client.encoding)
    }
}
