//! `ag-lsp/graphInputs`: the root at a position, with proposed inputs for tracing it.

use ag_ide::{inputs, symbols};
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::lsp::snapshot::Snapshot;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    pub(crate) text_document: TextDocumentIdentifier,
    /// Takes precedence over `position`.
    #[serde(default)]
    pub(crate) function: Option<String>,
    #[serde(default)]
    pub(crate) position: Option<Position>,
}

#[derive(Serialize)]
pub(crate) struct Inputs {
    pub(crate) function: String,
    /// `x=f32[32,10] n=3`
    pub(crate) inputs: String,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &Params) -> Result<Option<Inputs>> {
    Ok(proposed(snapshot, params))
}

fn proposed(snapshot: &Snapshot, params: &Params) -> Option<Inputs> {
    let context = snapshot.document(&params.text_document.uri)?;
    let (db, document) = (context.engine.db(), context.document);
    let offset = params.position.and_then(|position| context.offset(position));
    let wanted = |symbol: &symbols::Symbol| match &params.function {
        Some(name) => symbol.qualname == *name,
        None => offset.is_some_and(|offset| symbol.range.contains_inclusive(offset)),
    };
    let mut roots = symbols::symbols(db, document).into_iter().filter(|symbol| symbol.has_graph);
    let function = roots.find(wanted)?.qualname;
    let inputs = inputs::proposed(db, document, &function)?.join(" ");
    Some(Inputs { function, inputs })
}
