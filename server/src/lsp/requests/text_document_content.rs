//! `workspace/textDocumentContent`: virtual documents, which are converted code and the documentation of rules.

use ag_rules::registry;
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use crate::lsp::converted::ConvertedUri;
use crate::lsp::snapshot::Snapshot;
use crate::manual;

#[derive(Deserialize)]
pub(crate) struct Params {
    pub(crate) uri: Url,
}

#[derive(Serialize)]
pub(crate) struct Content {
    text: String,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &Params) -> Result<Content> {
    let text = match params.uri.scheme() {
        "ag-rule" => rule(&params.uri),
        _ => converted(snapshot, &params.uri),
    };
    let text = text.ok_or_else(|| Error::invalid_params(format!("unknown document {}", params.uri)))?;
    Ok(Content { text })
}

fn rule(uri: &Url) -> Option<String> {
    let code = uri.path().trim_start_matches('/').strip_suffix(".md")?;
    registry::find(code).map(manual::page)
}

fn converted(snapshot: &Snapshot, uri: &Url) -> Option<String> {
    let target = ConvertedUri::parse(snapshot, uri)?;
    let (_, converted) = target.convert(snapshot)?;
    Some(converted.text)
}
