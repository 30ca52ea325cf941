//! `ag-lsp/convertedDocument`: converted code with its map to the source.

use ag_convert::SpanKind;
use ag_ide::converted;
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, Range, TextDocumentIdentifier, Url};

use crate::lsp::converted::Address;
use crate::lsp::documents::Face;
use crate::lsp::options::ConvertedView;
use crate::lsp::position::Lines;
use crate::lsp::snapshot::Snapshot;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    pub(crate) text_document: TextDocumentIdentifier,
    position: Option<Position>,
    function: Option<String>,
    view: Option<ConvertedView>,
}

#[derive(Serialize)]
pub(crate) struct ConvertedDocument {
    pub(crate) uri: Url,
    text: String,
    view: ConvertedView,
    function: Option<String>,
    map: Vec<Mapping>,
    reasons: Vec<Reason>,
}

#[derive(Serialize)]
struct Mapping {
    generated: Range,
    original: Range,
    kind: SpanKind,
}

/// Why a function is left as it is.
#[derive(Serialize)]
struct Reason {
    function: String,
    range: Range,
    message: String,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &Params) -> Result<Option<ConvertedDocument>> {
    Ok(document(snapshot, params))
}

fn document(snapshot: &Snapshot, params: &Params) -> Option<ConvertedDocument> {
    let asked = &params.text_document.uri;
    let address = match Address::parse(snapshot, asked) {
        Some(address) => address,
        None => {
            let spot = snapshot.at(asked)?;
            let around =
                |position| converted::function_at(spot.engine.db(), spot.document, spot.offset(position)?);
            Address {
                source: asked.clone(),
                function: params.function.clone().or_else(|| around(params.position?)),
                view: params.view.unwrap_or(snapshot.options.converted_view),
            }
        }
    };
    let uri = address.uri(snapshot)?;
    let (spot, converted) = address.convert(snapshot)?;
    let encoding = snapshot.client.encoding;
    let lines = Lines::new(&converted.text, encoding);
    let faces = Face::all(&spot.source, encoding);
    let original = |range: ruff_text_size::TextRange| {
        Some(faces.iter().find(|face| face.holds(range.start()))?.range(range))
    };
    let spans = converted.map.spans().iter().filter_map(|span| {
        Some(Mapping {
            generated: lines.range(span.generated),
            original: original(span.original)?,
            kind: span.kind,
        })
    });
    let reasons = converted.kept.iter().filter_map(|kept| {
        Some(Reason {
            function: kept.qualname.clone(),
            range: original(kept.range)?,
            message: kept.message.clone(),
        })
    });
    Some(ConvertedDocument {
        uri,
        map: spans.collect(),
        reasons: reasons.collect(),
        view: address.view,
        function: address.function.clone(),
        text: converted.text,
    })
}
