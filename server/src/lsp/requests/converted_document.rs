//! `ag-lsp/convertedDocument`: converted code with its source map.

use ag_convert::SpanKind;
use ag_ide::converted;
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Position, Range, TextDocumentIdentifier, Url};

use crate::lsp::converted::ConvertedUri;
use crate::lsp::documents::PartMapper;
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

/// Why a function is not converted.
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
    let uri = &params.text_document.uri;
    let target = match ConvertedUri::parse(snapshot, uri) {
        Some(target) => target,
        None => {
            let context = snapshot.document(uri)?;
            let function_at = |position| {
                converted::function_at(context.engine.db(), context.document, context.offset(position)?)
            };
            ConvertedUri {
                source: uri.clone(),
                function: params.function.clone().or_else(|| function_at(params.position?)),
                view: params.view.unwrap_or(snapshot.options.converted_view),
            }
        }
    };
    let uri = target.uri(snapshot)?;
    let (context, converted) = target.convert(snapshot)?;
    let encoding = snapshot.client.encoding;
    let lines = Lines::new(&converted.text, encoding);
    let mappers = PartMapper::all(&context.source, encoding);
    let original = |range: ruff_text_size::TextRange| {
        Some(mappers.iter().find(|mapper| mapper.contains(range.start()))?.range(range))
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
        view: target.view,
        function: target.function.clone(),
        text: converted.text,
    })
}
