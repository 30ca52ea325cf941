//! `workspace/executeCommand`: for clients that have no commands of their own. Those that start a process are not answered
//! from a snapshot alone: see [`crate::lsp::graphs`] and [`crate::lsp::programs`].

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::request::ShowDocument;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType, ShowDocumentParams, Url};

use super::{explain_staging, status};
use crate::lsp::commands::{self, About};
use crate::lsp::converted::Address;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &ExecuteCommandParams) -> Result<Option<Value>> {
    let argument = params.arguments.first().cloned().unwrap_or_default();
    match params.command.as_str() {
        commands::SHOW_CONVERTED => {
            let about: About = read(argument)?;
            let view = about.view.unwrap_or(snapshot.options.converted_view);
            let address = Address { source: about.uri, function: about.function, view };
            let uri = address.uri(snapshot).ok_or_else(|| unknown(&address.source))?;
            show(snapshot, uri);
            Ok(None)
        }
        commands::EXPLAIN => {
            let about: commands::At = read(argument)?;
            let params = explain_staging::Params {
                text_document: tower_lsp::lsp_types::TextDocumentIdentifier::new(about.uri),
                position: about.position,
            };
            Ok(explain_staging::answer(snapshot, &params)?.and_then(|it| serde_json::to_value(it).ok()))
        }
        commands::STATUS => Ok(serde_json::to_value(status::answer(snapshot, &status::Params {})?).ok()),
        other => Err(Error::invalid_params(format!("there is no command `{other}`"))),
    }
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(argument: Value) -> Result<T> {
    serde_json::from_value(argument).map_err(|error| Error::invalid_params(error.to_string()))
}

fn unknown(uri: &Url) -> Error {
    Error::invalid_params(format!("{uri} is not a document of ours"))
}

fn show(snapshot: &Snapshot, uri: Url) {
    if snapshot.client.shows_documents {
        let params = ShowDocumentParams { uri, external: None, take_focus: Some(false), selection: None };
        snapshot.outbox.request::<ShowDocument>(params, |_| ());
    } else {
        snapshot.outbox.show(MessageType::INFO, format!("The converted code is the document {uri}"));
    }
}
