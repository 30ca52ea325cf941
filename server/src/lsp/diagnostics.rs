//! Converts findings to diagnostics of the protocol.

use ag_db::diagnostic::Severity;
use ag_db::finding::{Finding, Note};
use ag_rules::registry;
use tower_lsp::lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    NumberOrString, Range, Url,
};

use super::documents::PartMapper;
use super::job::{Outcome, catch};
use super::locations::Locations;
use super::snapshot::{DocumentContext, Snapshot};

pub(crate) const SOURCE: &str = "ag-lsp";

/// The diagnostics of one file or notebook cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileDiagnostics {
    pub(crate) uri: Url,
    pub(crate) version: i32,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Returns the diagnostics of a document, one entry per cell of a notebook. A panic of the analysis becomes a
/// diagnostic.
pub(crate) fn for_document(snapshot: &Snapshot, context: &DocumentContext) -> Vec<FileDiagnostics> {
    let locations = Locations::new(snapshot, context);
    let mut files: Vec<FileDiagnostics> = locations
        .mappers
        .iter()
        .map(|mapper| FileDiagnostics {
            uri: mapper.part.uri.clone(),
            version: mapper.part.version,
            diagnostics: Vec::new(),
        })
        .collect();
    match catch(|| context.engine.findings(context.document)) {
        Outcome::Done(findings) => {
            for finding in &findings {
                let start = finding.location.range.start();
                if let Some(index) = locations.mappers.iter().position(|mapper| mapper.contains(start)) {
                    files[index].diagnostics.push(diagnostic(&locations, &locations.mappers[index], finding));
                }
            }
        }
        Outcome::Stale(cancelled) => std::panic::resume_unwind(Box::new(cancelled)),
        Outcome::Panicked(panic) => {
            if let Some(first) = files.first_mut() {
                first.diagnostics.extend(panic_diagnostic(&panic));
            }
        }
    }
    files
}

pub(crate) fn diagnostic(locations: &Locations, mapper: &PartMapper, finding: &Finding) -> Diagnostic {
    let related = finding.labels.iter().chain(&finding.why).filter_map(|note| related(locations, note));
    let related: Vec<_> =
        if locations.snapshot.client.related_information { related.collect() } else { Vec::new() };
    let message = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    Diagnostic {
        range: mapper.range(finding.location.range),
        severity: Some(severity(finding.severity)),
        code: Some(NumberOrString::String(finding.code.to_owned())),
        code_description: description(locations.snapshot, finding.code),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: tags(finding.code),
        data: None,
    }
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Info => DiagnosticSeverity::INFORMATION,
    }
}

/// Returns the tag of unnecessary code, which clients show faded, for the rules `unused-…`.
fn tags(code: &str) -> Option<Vec<DiagnosticTag>> {
    let is_unnecessary = registry::find(code).is_some_and(|rule| rule.name.starts_with("unused-"));
    is_unnecessary.then(|| vec![DiagnosticTag::UNNECESSARY])
}

/// Returns a link to the rule's documentation, if the client can open virtual documents.
fn description(snapshot: &Snapshot, code: &str) -> Option<CodeDescription> {
    let opens = snapshot.client.code_description && snapshot.client.text_document_content;
    let href = opens.then(|| Url::parse(&format!("ag-rule:/{code}.md")).ok())??;
    Some(CodeDescription { href })
}

fn related(locations: &Locations, note: &Note) -> Option<DiagnosticRelatedInformation> {
    let location = locations.to_lsp(note.location.as_ref()?)?;
    Some(DiagnosticRelatedInformation { location, message: note.message.clone() })
}

fn panic_diagnostic(panic: &str) -> Option<Diagnostic> {
    let rule = registry::find("AG903")?;
    Some(Diagnostic {
        range: Range::default(),
        severity: Some(severity(rule.severity)),
        code: Some(NumberOrString::String(rule.code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: format!("{panic}; this is a bug in ag-lsp"),
        ..Diagnostic::default()
    })
}
