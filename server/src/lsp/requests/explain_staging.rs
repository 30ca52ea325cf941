//! `ag-lsp/explainStaging`: every staging decision in a function, with its why-chain.

use ag_ide::{hover, symbols};
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::lsp::locations::Locations;
use crate::lsp::markdown;
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
    let context = snapshot.document(&params.text_document.uri)?;
    let offset = context.offset(params.position)?;
    let function = symbols::symbol_at(context.engine.db(), context.document, offset)?.qualname;
    let hover = hover::explanation(context.engine.db(), context.document, offset)?;
    let markdown = markdown::text(&Locations::new(snapshot, &context), &hover.paragraphs);
    Some(Explanation { function, markdown })
}
