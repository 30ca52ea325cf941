//! `textDocument/hover`: binding times, converted code and documentation at a position.

use ag_ide::hover;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverContents, HoverParams};

use crate::lsp::locations::Locations;
use crate::lsp::markdown;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &HoverParams) -> Result<Option<Hover>> {
    Ok(hover(snapshot, params))
}

fn hover(snapshot: &Snapshot, params: &HoverParams) -> Option<Hover> {
    let at = &params.text_document_position_params;
    let context = snapshot.document(&at.text_document.uri)?;
    let mapper = context.mapper()?;
    let hover = hover::hover(context.engine.db(), context.document, mapper.offset(at.position))?;
    let text = markdown::text(&Locations::new(snapshot, &context), &hover.paragraphs);
    Some(Hover {
        contents: HoverContents::Markup(markdown::content(snapshot, text)),
        range: Some(mapper.range(hover.range)),
    })
}
