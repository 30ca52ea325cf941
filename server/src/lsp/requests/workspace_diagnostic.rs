//! `workspace/diagnostic`: the diagnostics of every document that is reported on, in parts if the client
//! takes them so.

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
use crate::lsp::diagnostics::{self, Reported};
use crate::lsp::publish;
use crate::lsp::snapshot::Snapshot;

/// Documents in a part.
const PART: usize = 32;

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
    for uri in publish::addresses(snapshot) {
        let Some(spot) = snapshot.at(&uri) else { continue };
        let reported = diagnostics::of(snapshot, &spot).into_iter();
        items.extend(reported.map(|part| item(snapshot, part, &known)));
        if let Some(token) = &params.partial_result_params.partial_result_token
            && items.len() >= PART
        {
            let part = WorkspaceDiagnosticReport { items: std::mem::take(&mut items) };
            snapshot.outbox.notify::<PartialResult>(json!({ "token": token, "value": part }));
        }
    }
    Ok(WorkspaceDiagnosticReport { items }.into())
}

fn item(
    snapshot: &Snapshot,
    part: Reported,
    known: &FxHashMap<&Url, &str>,
) -> WorkspaceDocumentDiagnosticReport {
    let is_open = snapshot.documents.get(&part.uri).is_some();
    let version = is_open.then_some(i64::from(part.version));
    match report(part.diagnostics, known.get(&part.uri).copied()) {
        Report::Full(full_document_diagnostic_report) => {
            WorkspaceFullDocumentDiagnosticReport { uri: part.uri, version, full_document_diagnostic_report }
                .into()
        }
        Report::Unchanged(unchanged_document_diagnostic_report) => {
            WorkspaceUnchangedDocumentDiagnosticReport {
                uri: part.uri,
                version,
                unchanged_document_diagnostic_report,
            }
            .into()
        }
    }
}
