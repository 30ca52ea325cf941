//! `textDocument/documentSymbol`: the traced functions of a source, or the definitions of a converted document.

use ag_ide::{converted, symbols};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, Range, SymbolKind};

use crate::lsp::converted::ConvertedUri;
use crate::lsp::position::Lines;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &DocumentSymbolParams,
) -> Result<Option<DocumentSymbolResponse>> {
    Ok(symbols(snapshot, params).or_else(|| outline(snapshot, params)))
}

fn symbols(snapshot: &Snapshot, params: &DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let context = snapshot.document(&params.text_document.uri)?;
    let mapper = context.mapper()?;
    let symbols = symbols::symbols(context.engine.db(), context.document).into_iter();
    let own = symbols.filter(|symbol| mapper.contains(symbol.name_range.start()));
    let to_client = |symbol: symbols::Symbol| {
        let kind = if symbol.is_method { SymbolKind::METHOD } else { SymbolKind::FUNCTION };
        let (range, name) = (mapper.range(symbol.range), mapper.range(symbol.name_range));
        new(symbol.qualname, Some(symbol.detail), kind, range, name)
    };
    Some(DocumentSymbolResponse::Nested(own.map(to_client).collect()))
}

fn outline(snapshot: &Snapshot, params: &DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let target = ConvertedUri::parse(snapshot, &params.text_document.uri)?;
    let (_, converted) = target.convert(snapshot)?;
    let lines = Lines::new(&converted.text, snapshot.client.encoding);
    let to_client = |it: converted::Definition| {
        let kind = if it.is_class { SymbolKind::CLASS } else { SymbolKind::FUNCTION };
        new(it.name, None, kind, lines.range(it.range), lines.range(it.name_range))
    };
    let outline = converted::outline(&converted.text).into_iter().map(to_client);
    Some(DocumentSymbolResponse::Nested(outline.collect()))
}

#[expect(deprecated, reason = "the type still has the field")]
fn new(
    name: String,
    detail: Option<String>,
    kind: SymbolKind,
    range: Range,
    selection_range: Range,
) -> DocumentSymbol {
    DocumentSymbol {
        name,
        detail,
        kind,
        tags: None,
        deprecated: None,
        range,
        selection_range,
        children: None,
    }
}
