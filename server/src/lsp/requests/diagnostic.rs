//! `textDocument/diagnostic`: the diagnostics of a document, or that they are as they were.

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
    let items = of_address(snapshot, &params.text_document.uri);
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

/// Of one file or one cell.
fn of_address(snapshot: &Snapshot, uri: &Url) -> Vec<Diagnostic> {
    let Some(spot) = snapshot.at(uri) else { return Vec::new() };
    let mut reported = diagnostics::of(snapshot, &spot).into_iter();
    // The client may spell the address of a file in its own way.
    let own = if spot.source.is_notebook { reported.find(|part| part.uri == *uri) } else { reported.next() };
    own.map(|part| part.diagnostics).unwrap_or_default()
}

pub(super) enum Report {
    Full(FullDocumentDiagnosticReport),
    Unchanged(UnchangedDocumentDiagnosticReport),
}

/// The result id is a digest of what is reported, so that it survives this process.
pub(super) fn report(items: Vec<Diagnostic>, previous: Option<&str>) -> Report {
    let mut hasher = FxHasher::default();
    serde_json::to_string(&items).unwrap_or_default().hash(&mut hasher);
    let result_id = format!("{:016x}", hasher.finish());
    match previous == Some(&result_id) {
        true => Report::Unchanged(UnchangedDocumentDiagnosticReport { result_id }),
        false => Report::Full(FullDocumentDiagnosticReport { result_id: Some(result_id), items }),
    }
}
