//! `textDocument/documentSymbol`: the staged functions.

use ag_analysis::ide::symbols;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, SymbolKind};

use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &DocumentSymbolParams,
) -> Result<Option<DocumentSymbolResponse>> {
    Ok(symbols(snapshot, params))
}

fn symbols(snapshot: &Snapshot, params: &DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let spot = snapshot.at(&params.text_document.uri)?;
    let face = spot.face()?;
    let symbols = symbols::symbols(spot.engine.db(), spot.document).into_iter();
    let own = symbols.filter(|symbol| face.holds(symbol.name_range.start()));
    Some(DocumentSymbolResponse::Nested(own.map(|symbol| to_client(&symbol, &face)).collect()))
}

#[expect(deprecated, reason = "the type still has the field")]
fn to_client(symbol: &symbols::Symbol, face: &crate::lsp::documents::Face) -> DocumentSymbol {
    DocumentSymbol {
        name: symbol.qualname.clone(),
        detail: Some(symbol.detail.clone()),
        kind: if symbol.is_method { SymbolKind::METHOD } else { SymbolKind::FUNCTION },
        tags: None,
        deprecated: None,
        range: face.range(symbol.range),
        selection_range: face.range(symbol.name_range),
        children: None,
    }
}
