//! `textDocument/definition` in a converted document: where its code comes from. In Python files it is
//! another server's.

use ruff_text_size::TextRange;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{GotoDefinitionParams, GotoDefinitionResponse, Location};

use crate::lsp::converted::Address;
use crate::lsp::documents;
use crate::lsp::position::{Lines, size};
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &GotoDefinitionParams,
) -> Result<Option<GotoDefinitionResponse>> {
    Ok(location(snapshot, params).map(GotoDefinitionResponse::Scalar))
}

fn location(snapshot: &Snapshot, params: &GotoDefinitionParams) -> Option<Location> {
    let at = &params.text_document_position_params;
    let address = Address::parse(snapshot, &at.text_document.uri)?;
    let (spot, converted) = address.convert(snapshot)?;
    let encoding = snapshot.client.encoding;
    let offset = size(Lines::new(&converted.text, encoding).offset(at.position));
    let original = converted.map.original(offset)?;
    documents::location(&spot.source, TextRange::empty(original), encoding)
}
