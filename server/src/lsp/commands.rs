//! The commands that lenses and actions carry. Editors know the first two themselves; the server does
//! what it can for the others.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_lsp::lsp_types::{CodeActionKind, Command, Position, Url};

use super::options::ConvertedView;
use super::snapshot::Snapshot;

pub(crate) const SHOW_CONVERTED: &str = "ag-lsp.showConvertedCode";
pub(crate) const EXPLAIN: &str = "ag-lsp.explainStaging";
pub(crate) const STATUS: &str = "ag-lsp.status";
pub(crate) const RUN: &str = "ag-lsp.run";
pub(crate) const SHOW_GRAPH: &str = "ag-lsp.showGraph";

pub(crate) const ALL: [&str; 5] = [SHOW_CONVERTED, EXPLAIN, STATUS, RUN, SHOW_GRAPH];

/// The kind of actions that change nothing.
pub(crate) const VIEW: CodeActionKind = CodeActionKind::new("view");

/// A function of a document, or the whole of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) uri: Url,
    #[serde(default)]
    pub(crate) function: Option<String>,
    #[serde(default)]
    pub(crate) view: Option<ConvertedView>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct At {
    pub(crate) uri: Url,
    pub(crate) position: Position,
}

/// What is offered about a staged function.
pub(crate) fn about(snapshot: &Snapshot, uri: &Url, function: &str, position: Position) -> Vec<Command> {
    let view = Some(snapshot.options.converted_view);
    let about = About { uri: uri.clone(), function: Some(function.to_owned()), view };
    let at = At { uri: uri.clone(), position };
    let command = |title: &str, command: &str, argument: serde_json::Result<Value>| {
        Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument.ok()?])))
    };
    [
        command("Show converted code", SHOW_CONVERTED, serde_json::to_value(&about)),
        command("Explain staging", EXPLAIN, serde_json::to_value(&at)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
