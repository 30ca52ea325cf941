//! The commands that lenses and actions carry. An editor that can show more than the protocol has words for answers
//! them itself; for the others the server does what it can.

use std::path::PathBuf;

use ag_ide::symbols::Symbol;
use serde::{Deserialize, Serialize};
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

/// The graph of a function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphOf {
    pub(crate) uri: Url,
    pub(crate) function: String,
    /// `x=f32[32,10] n=3`; those used last, or proposed, where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<String>,
    /// The interpreter that the editor has chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<PathBuf>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct At {
    pub(crate) uri: Url,
    pub(crate) position: Position,
}

/// What is offered about a staged function.
pub(crate) fn about(snapshot: &Snapshot, uri: &Url, symbol: &Symbol, position: Position) -> Vec<Command> {
    let function = &symbol.qualname;
    let view = Some(snapshot.options.converted_view);
    let about = About { uri: uri.clone(), function: Some(function.clone()), view };
    let at = At { uri: uri.clone(), position };
    let graph = GraphOf { uri: uri.clone(), function: function.clone(), inputs: None, python: None };
    let mut commands = vec![
        command("Show converted code", SHOW_CONVERTED, &about),
        command("Explain staging", EXPLAIN, &at),
    ];
    if symbol.has_graph && runs(snapshot, uri) {
        commands.push(command("Show graph", SHOW_GRAPH, &graph));
    }
    commands.into_iter().flatten().collect()
}

/// What is offered where a program starts.
pub(crate) fn run(snapshot: &Snapshot, uri: &Url) -> Option<Command> {
    let about = About { uri: uri.clone(), function: None, view: None };
    runs(snapshot, uri).then(|| command("Run", RUN, &about)).flatten()
}

/// Whether what is in the document may be run, and is on disk for Python to read.
fn runs(snapshot: &Snapshot, uri: &Url) -> bool {
    snapshot.client.trusted && uri.scheme() == "file" && !uri.path().ends_with(".ipynb")
}

fn command(title: &str, command: &str, argument: &impl Serialize) -> Option<Command> {
    let argument = serde_json::to_value(argument).ok()?;
    Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument])))
}
