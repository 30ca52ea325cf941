//! `ag-lsp/graphInputs`: the function whose graph is asked for, and with which inputs it could be staged.

use ag_ide::{inputs, symbols};
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, TextDocumentIdentifier};

use crate::lsp::snapshot::Snapshot;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    pub(crate) text_document: TextDocumentIdentifier,
    /// By name, or around a place.
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
    let spot = snapshot.at(&params.text_document.uri)?;
    let (db, document) = (spot.engine.db(), spot.document);
    let place = params.position.and_then(|position| spot.offset(position));
    let wanted = |symbol: &symbols::Symbol| match &params.function {
        Some(name) => symbol.qualname == *name,
        None => place.is_some_and(|place| symbol.range.contains_inclusive(place)),
    };
    let mut roots = symbols::symbols(db, document).into_iter().filter(|symbol| symbol.has_graph);
    let function = roots.find(wanted)?.qualname;
    let inputs = inputs::proposed(db, document, &function)?.join(" ");
    Some(Inputs { function, inputs })
}
