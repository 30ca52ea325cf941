//! The commands of code lenses and code actions. An editor extension may implement them itself; for other
//! clients the server implements them with the means of the protocol.

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

/// The kind of code actions that do not edit.
pub(crate) const VIEW: CodeActionKind = CodeActionKind::new("view");

/// Argument of a command on a function, or on the whole document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FunctionParams {
    pub(crate) uri: Url,
    #[serde(default)]
    pub(crate) function: Option<String>,
    #[serde(default)]
    pub(crate) view: Option<ConvertedView>,
}

/// Argument of a command that draws the graph of a function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphParams {
    pub(crate) uri: Url,
    pub(crate) function: String,
    /// `x=f32[32,10] n=3`. Default: the inputs that were used last, else proposed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<String>,
    /// The interpreter that is selected in the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<PathBuf>,
}

/// Argument of a command on a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PositionParams {
    pub(crate) uri: Url,
    pub(crate) position: Position,
}

/// Returns the commands for a traced function.
pub(crate) fn for_function(
    snapshot: &Snapshot,
    uri: &Url,
    symbol: &Symbol,
    position: Position,
) -> Vec<Command> {
    let function = &symbol.qualname;
    let view = Some(snapshot.options.converted_view);
    let converted = FunctionParams { uri: uri.clone(), function: Some(function.clone()), view };
    let at = PositionParams { uri: uri.clone(), position };
    let graph = GraphParams { uri: uri.clone(), function: function.clone(), inputs: None, python: None };
    let mut commands = vec![
        command("Show converted code", SHOW_CONVERTED, &converted),
        command("Explain staging", EXPLAIN, &at),
    ];
    if symbol.has_graph && is_runnable(snapshot, uri) {
        commands.push(command("Show graph", SHOW_GRAPH, &graph));
    }
    commands.into_iter().flatten().collect()
}

/// Returns the command at the entry point of a program.
pub(crate) fn for_program(snapshot: &Snapshot, uri: &Url) -> Option<Command> {
    let program = FunctionParams { uri: uri.clone(), function: None, view: None };
    is_runnable(snapshot, uri).then(|| command("Run", RUN, &program)).flatten()
}

/// Returns whether the document is a file on disk in a trusted workspace.
fn is_runnable(snapshot: &Snapshot, uri: &Url) -> bool {
    snapshot.client.trusted && uri.scheme() == "file" && !uri.path().ends_with(".ipynb")
}

fn command(title: &str, command: &str, argument: &impl Serialize) -> Option<Command> {
    let argument = serde_json::to_value(argument).ok()?;
    Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument])))
}
