//! The language server. Only this module depends on the protocol.
//!
//! ```text
//! wire ── middleware ── backend ──messages, in order──> owner (engines, documents)
//!                          ▲                              │ snapshot
//!                          └───────── response ────── worker (one file per request)
//! ```
//!
//! tower-lsp is the transport. A handler first puts its message into the owner's inbox. The owner applies
//! edits, and hands snapshots to worker threads, which load folders, run the analysis and answer requests; an edit
//! cancels their computations.
//! Notifications and requests to the client go through the outbox.

mod backend;
mod capabilities;
mod commands;
mod configuration_keys;
mod converted;
mod diagnostics;
mod documents;
mod events;
mod graphs;
mod job;
mod loading;
mod locations;
mod markdown;
mod middleware;
mod notebooks;
mod options;
mod outbox;
mod owner;
mod position;
mod process;
mod programs;
mod progress;
mod project;
mod publish;
mod refresh;
mod requests;
mod runs;
mod snapshot;
#[cfg(test)]
mod tests;
mod timing;
mod tracking;
mod wire;

use std::sync::atomic::Ordering;

use ruff_db::system::SystemPathBuf;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

use backend::Backend;
use middleware::{Middleware, ProtocolState};
use outbox::Outbox;
pub(crate) use timing::Timing;

/// The number of messages handled concurrently. A cancellation must not wait for the request that it cancels.
const CONCURRENCY: usize = 64;

/// The capacity in bytes of the buffer in front of tower-lsp.
const PIPE: usize = 1 << 20;

/// Serves one client until it sends `exit` or disconnects. Returns whether it has sent `shutdown`.
pub(crate) async fn serve(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite,
    cwd: SystemPathBuf,
    timing: Timing,
) -> bool {
    let protocol = ProtocolState::default();
    let (service, socket) = LspService::build(|client| {
        let (outbox, draining) = Outbox::new(client);
        tokio::spawn(draining);
        Backend::new(outbox, protocol.clone(), cwd, timing)
    })
    .custom_method("ag-lsp/convertedDocument", Backend::converted_document)
    .custom_method("ag-lsp/explainStaging", Backend::explain_staging)
    .custom_method("ag-lsp/graph", Backend::graph)
    .custom_method("ag-lsp/graphInputs", Backend::graph_inputs)
    .custom_method("ag-lsp/status", Backend::status)
    .custom_method("window/workDoneProgress/cancel", Backend::cancel)
    .custom_method("workspace/textDocumentContent", Backend::text_document_content)
    .custom_method("notebookDocument/didOpen", Backend::did_open_notebook)
    .custom_method("notebookDocument/didChange", Backend::did_change_notebook)
    .custom_method("notebookDocument/didSave", Backend::did_save_notebook)
    .custom_method("notebookDocument/didClose", Backend::did_close_notebook)
    .finish();
    let middleware = Middleware { inner: service, protocol: protocol.clone() };
    let (pipe, reader) = tokio::io::duplex(PIPE);
    let reading = tokio::spawn(wire::replace_invalid(input, pipe));
    let serving = Server::new(reader, output, socket).concurrency_level(CONCURRENCY).serve(middleware);
    tokio::select! {
        () = serving => {}
        () = protocol.exit.notified() => {}
    }
    // The task may still be waiting for input after `exit`.
    reading.abort();
    protocol.shutdown.load(Ordering::Relaxed)
}
