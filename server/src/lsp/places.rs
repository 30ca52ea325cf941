//! Where a document's findings and notes are for the client; lines are counted once for all of them.

use ag_db::finding;
use tower_lsp::lsp_types::Location;

use super::documents::{self, Face};
use super::snapshot::{Snapshot, Spot};

pub(crate) struct Places<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) spot: &'a Spot<'a>,
    pub(crate) faces: Vec<Face<'a>>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, spot: &'a Spot<'a>) -> Self {
        Self { snapshot, spot, faces: Face::all(&spot.source, snapshot.client.encoding) }
    }

    /// Whether a place is in the document itself.
    pub(crate) fn is_here(&self, place: &finding::Location) -> bool {
        place.file == self.spot.engine.file(self.spot.document)
    }

    /// None for what the client cannot open: a model of a library.
    pub(crate) fn location(&self, place: &finding::Location) -> Option<Location> {
        if self.is_here(place) {
            let face = self.faces.iter().find(|face| face.holds(place.range.start()))?;
            return Some(Location::new(face.part.uri.clone(), face.range(place.range)));
        }
        let source = self.snapshot.source(self.spot.engine, place.file)?;
        documents::location(&source, place.range, self.snapshot.client.encoding)
    }
}
