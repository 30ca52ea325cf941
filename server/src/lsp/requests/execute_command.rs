//! `workspace/executeCommand`, for clients without an implementation of the commands. Commands that start a process are
//! in [`crate::lsp::graphs`] and [`crate::lsp::programs`].

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::request::ShowDocument;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType, ShowDocumentParams, Url};

use super::{explain_staging, status};
use crate::lsp::commands::{self, FunctionParams};
use crate::lsp::converted::ConvertedUri;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &ExecuteCommandParams) -> Result<Option<Value>> {
    let argument = params.arguments.first().cloned().unwrap_or_default();
    match params.command.as_str() {
        commands::SHOW_CONVERTED => {
            let argument: FunctionParams = read(argument)?;
            let view = argument.view.unwrap_or(snapshot.options.converted_view);
            let target = ConvertedUri { source: argument.uri, function: argument.function, view };
            let uri = target.uri(snapshot).ok_or_else(|| unknown(&target.source))?;
            show(snapshot, uri);
            Ok(None)
        }
        commands::EXPLAIN => {
            let argument: commands::PositionParams = read(argument)?;
            let params = explain_staging::Params {
                text_document: tower_lsp::lsp_types::TextDocumentIdentifier::new(argument.uri),
                position: argument.position,
            };
            Ok(explain_staging::answer(snapshot, &params)?.and_then(|it| serde_json::to_value(it).ok()))
        }
        commands::STATUS => Ok(serde_json::to_value(status::answer(snapshot, &status::Params {})?).ok()),
        other => Err(Error::invalid_params(format!("unknown command `{other}`"))),
    }
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(argument: Value) -> Result<T> {
    serde_json::from_value(argument).map_err(|error| Error::invalid_params(error.to_string()))
}

fn unknown(uri: &Url) -> Error {
    Error::invalid_params(format!("{uri} is not a document of this server"))
}

fn show(snapshot: &Snapshot, uri: Url) {
    if snapshot.client.shows_documents {
        let params = ShowDocumentParams { uri, external: None, take_focus: Some(false), selection: None };
        snapshot.outbox.request::<ShowDocument>(params, |_| ());
    } else {
        snapshot.outbox.show(MessageType::INFO, format!("Open {uri} to see the converted code"));
    }
}
