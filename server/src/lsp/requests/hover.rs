//! `textDocument/hover`: what is known at a place.

use ag_ide::hover;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverContents, HoverParams};

use crate::lsp::markdown;
use crate::lsp::places::Places;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &HoverParams) -> Result<Option<Hover>> {
    Ok(hover(snapshot, params))
}

fn hover(snapshot: &Snapshot, params: &HoverParams) -> Option<Hover> {
    let at = &params.text_document_position_params;
    let spot = snapshot.at(&at.text_document.uri)?;
    let face = spot.face()?;
    let hover = hover::hover(spot.engine.db(), spot.document, face.offset(at.position))?;
    let text = markdown::text(&Places::new(snapshot, &spot), &hover.paragraphs);
    Some(Hover {
        contents: HoverContents::Markup(markdown::content(snapshot, text)),
        range: Some(face.range(hover.range)),
    })
}
