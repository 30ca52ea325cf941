//! The language server: the analysis for people who type. It alone knows the protocol.
//!
//! ```text
//! wire ── gate ── backend ──messages, in order──> owner (engines, documents)
//!                    ▲                              │ snapshot
//!                    └────────── answer ────── worker (a file per request)
//! ```
//!
//! tower-lsp is the transport: a handler's first act is to put its message into the owner's inbox. The
//! owner carries out edits, brings the engines to rest, and gives workers snapshots; an edit cancels what
//! they compute. What the server says by itself leaves through the outbox.

mod backend;
mod capabilities;
mod commands;
mod configuration_keys;
mod converted;
mod diagnostics;
mod documents;
mod events;
mod follow;
mod gate;
mod graphs;
mod job;
mod markdown;
mod notebooks;
mod options;
mod outbox;
mod owner;
mod places;
mod position;
mod process;
mod programs;
mod progress;
mod project;
mod publish;
mod refresh;
mod requests;
mod snapshot;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::atomic::Ordering;

use ruff_db::system::SystemPathBuf;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

use backend::Backend;
use gate::{Gate, Passed};
use outbox::Outbox;

/// Messages in work at one time; one that says to cancel another must not wait for its turn.
const CONCURRENCY: usize = 64;

/// Bytes of messages that may wait for tower-lsp.
const PIPE: usize = 1 << 20;

/// Serves one client until it says `exit` or is gone. Whether it has said `shutdown` before.
pub(crate) async fn serve(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite,
    cwd: SystemPathBuf,
) -> bool {
    let passed = Passed::default();
    let (service, socket) = LspService::build(|client| {
        let (outbox, emptying) = Outbox::new(client);
        tokio::spawn(emptying);
        Backend::new(outbox, passed.clone(), cwd)
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
    let gate = Gate { inner: service, passed: passed.clone() };
    let (sifted, reader) = tokio::io::duplex(PIPE);
    let sifting = tokio::spawn(wire::sift(input, sifted));
    let serving = Server::new(reader, output, socket).concurrency_level(CONCURRENCY).serve(gate);
    tokio::select! {
        () = serving => {}
        () = passed.exit.notified() => {}
    }
    // It may still wait for a client that has said goodbye.
    sifting.abort();
    passed.shutdown.load(Ordering::Relaxed)
}
