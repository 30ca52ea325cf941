//! `textDocument/definition` in a converted document: the source of the code. In Python files, the language
//! server for Python answers this request.

use ruff_text_size::TextRange;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{GotoDefinitionParams, GotoDefinitionResponse, Location};

use crate::lsp::converted::ConvertedUri;
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
    let target = ConvertedUri::parse(snapshot, &at.text_document.uri)?;
    let (context, converted) = target.convert(snapshot)?;
    let encoding = snapshot.client.encoding;
    let offset = size(Lines::new(&converted.text, encoding).offset(at.position));
    let original = converted.map.original(offset)?;
    documents::location(&context.source, TextRange::empty(original), encoding)
}
