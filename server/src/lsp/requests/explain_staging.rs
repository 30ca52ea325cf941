//! `ag-lsp/explainStaging`: every decision of a function with its reason.

use ag_ide::{hover, symbols};
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::lsp::markdown;
use crate::lsp::places::Places;
use crate::lsp::snapshot::Snapshot;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    pub(crate) text_document: TextDocumentIdentifier,
    pub(crate) position: Position,
}

#[derive(Serialize)]
pub(crate) struct Explanation {
    function: String,
    pub(crate) markdown: String,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &Params) -> Result<Option<Explanation>> {
    Ok(explanation(snapshot, params))
}

fn explanation(snapshot: &Snapshot, params: &Params) -> Option<Explanation> {
    let spot = snapshot.at(&params.text_document.uri)?;
    let offset = spot.offset(params.position)?;
    let function = symbols::symbol_at(spot.engine.db(), spot.document, offset)?.qualname;
    let hover = hover::explanation(spot.engine.db(), spot.document, offset)?;
    let markdown = markdown::text(&Places::new(snapshot, &spot), &hover.paragraphs);
    Some(Explanation { function, markdown })
}
