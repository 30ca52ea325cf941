//! Converts spans, which are relative to a function or statement, to locations in a file.

use ag_db::Db;
use ag_db::diagnostic::{Anchor, Span, Step};
use ag_db::finding::{Location, Note};
use ruff_text_size::TextSize;

use crate::index::file_index;

/// Returns the steps of a why-chain with their locations.
pub fn notes(db: &dyn Db, why: &[Step]) -> Vec<Note> {
    why.iter()
        .map(|step| Note {
            message: step.message.clone(),
            location: step.span.as_ref().and_then(|span| locate(db, span)),
        })
        .collect()
}

/// Returns the current location of a span in its file; `None` if its function or statement no longer exists.
pub fn locate(db: &dyn Db, span: &Span) -> Option<Location> {
    let file = span.document.file(db);
    let index = file_index(db, span.document);
    let start = match &span.anchor {
        Anchor::File => TextSize::default(),
        Anchor::Statement(statement) => *index.statements.get(*statement as usize)?,
        Anchor::Function(path) => index.definitions.find(path)?.1.range.start(),
    };
    Some(Location { file, range: span.range + start })
}
