//! `textDocument/diagnostic`: the diagnostics of a document, or the report that they are unchanged.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    Diagnostic, DocumentDiagnosticParams, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport, Url,
};

use crate::lsp::diagnostics;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &DocumentDiagnosticParams,
) -> Result<DocumentDiagnosticReportResult> {
    let items = for_uri(snapshot, &params.text_document.uri);
    let report = match report(items, params.previous_result_id.as_deref()) {
        Report::Full(report) => DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: report,
        }),
        Report::Unchanged(report) => {
            DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: report,
            })
        }
    };
    Ok(report.into())
}

/// Returns the diagnostics of one file or one notebook cell.
fn for_uri(snapshot: &Snapshot, uri: &Url) -> Vec<Diagnostic> {
    let Some(context) = snapshot.document(uri) else { return Vec::new() };
    let mut files = diagnostics::for_document(snapshot, &context).into_iter();
    // Clients may spell the URI of a file differently.
    let own = if context.source.is_notebook { files.find(|file| file.uri == *uri) } else { files.next() };
    own.map(|file| file.diagnostics).unwrap_or_default()
}

pub(super) enum Report {
    Full(FullDocumentDiagnosticReport),
    Unchanged(UnchangedDocumentDiagnosticReport),
}

/// The result id is a digest of the diagnostics, so it stays valid across restarts.
pub(super) fn report(items: Vec<Diagnostic>, previous: Option<&str>) -> Report {
    let mut hasher = FxHasher::default();
    serde_json::to_string(&items).unwrap_or_default().hash(&mut hasher);
    let result_id = format!("{:016x}", hasher.finish());
    match previous == Some(&result_id) {
        true => Report::Unchanged(UnchangedDocumentDiagnosticReport { result_id }),
        false => Report::Full(FullDocumentDiagnosticReport { result_id: Some(result_id), items }),
    }
}
