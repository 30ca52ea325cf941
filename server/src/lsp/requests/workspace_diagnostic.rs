//! `workspace/diagnostic`: the diagnostics of every reported document, with partial results if the client
//! supports them.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::notification::Notification;
use tower_lsp::lsp_types::{
    Url, WorkspaceDiagnosticParams, WorkspaceDiagnosticReport, WorkspaceDiagnosticReportResult,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};

use super::diagnostic::{Report, report};
use crate::lsp::diagnostics::{self, FileDiagnostics};
use crate::lsp::publish;
use crate::lsp::snapshot::Snapshot;

/// The number of documents in a partial result.
const PARTIAL_RESULT_SIZE: usize = 32;

enum PartialResult {}

impl Notification for PartialResult {
    type Params = Value;
    const METHOD: &'static str = "$/progress";
}

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &WorkspaceDiagnosticParams,
) -> Result<WorkspaceDiagnosticReportResult> {
    let known: FxHashMap<&Url, &str> =
        params.previous_result_ids.iter().map(|known| (&known.uri, known.value.as_str())).collect();
    let mut items = Vec::new();
    for uri in publish::reported_uris(snapshot) {
        let Some(context) = snapshot.document(&uri) else { continue };
        let files = diagnostics::for_document(snapshot, &context).into_iter();
        items.extend(files.map(|file| item(snapshot, file, &known)));
        if let Some(token) = &params.partial_result_params.partial_result_token
            && items.len() >= PARTIAL_RESULT_SIZE
        {
            let partial = WorkspaceDiagnosticReport { items: std::mem::take(&mut items) };
            snapshot.outbox.notify::<PartialResult>(json!({ "token": token, "value": partial }));
        }
    }
    Ok(WorkspaceDiagnosticReport { items }.into())
}

fn item(
    snapshot: &Snapshot,
    file: FileDiagnostics,
    known: &FxHashMap<&Url, &str>,
) -> WorkspaceDocumentDiagnosticReport {
    let is_open = snapshot.documents.get(&file.uri).is_some();
    let version = is_open.then_some(i64::from(file.version));
    match report(file.diagnostics, known.get(&file.uri).copied()) {
        Report::Full(full_document_diagnostic_report) => {
            WorkspaceFullDocumentDiagnosticReport { uri: file.uri, version, full_document_diagnostic_report }
                .into()
        }
        Report::Unchanged(unchanged_document_diagnostic_report) => {
            WorkspaceUnchangedDocumentDiagnosticReport {
                uri: file.uri,
                version,
                unchanged_document_diagnostic_report,
            }
            .into()
        }
    }
}
