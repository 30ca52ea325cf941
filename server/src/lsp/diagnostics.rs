//! Findings as the client shows them.

use ag_db::diagnostic::Severity;
use ag_db::finding::{Finding, Note};
use ag_rules::registry;
use tower_lsp::lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    NumberOrString, Range, Url,
};

use super::documents::Face;
use super::job::{Outcome, catch};
use super::places::Places;
use super::snapshot::{Snapshot, Spot};

pub(crate) const SOURCE: &str = "ag-lsp";

/// The diagnostics of one file or cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reported {
    pub(crate) uri: Url,
    pub(crate) version: i32,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The diagnostics of a document, cell by cell if it is a notebook. A fault of ours in one document is one of them.
pub(crate) fn of(snapshot: &Snapshot, spot: &Spot) -> Vec<Reported> {
    let places = Places::new(snapshot, spot);
    let mut reported: Vec<Reported> = places
        .faces
        .iter()
        .map(|face| Reported {
            uri: face.part.uri.clone(),
            version: face.part.version,
            diagnostics: Vec::new(),
        })
        .collect();
    match catch(|| spot.engine.findings(spot.document)) {
        Outcome::Done(findings) => {
            for finding in &findings {
                let start = finding.location.range.start();
                if let Some(number) = places.faces.iter().position(|face| face.holds(start)) {
                    reported[number].diagnostics.push(diagnostic(&places, &places.faces[number], finding));
                }
            }
        }
        Outcome::Stale(cancelled) => std::panic::resume_unwind(Box::new(cancelled)),
        Outcome::Panicked(panic) => {
            if let Some(first) = reported.first_mut() {
                first.diagnostics.extend(failure(&panic));
            }
        }
    }
    reported
}

pub(crate) fn diagnostic(places: &Places, face: &Face, finding: &Finding) -> Diagnostic {
    let related = finding.labels.iter().chain(&finding.why).filter_map(|note| related(places, note));
    let related: Vec<_> =
        if places.snapshot.client.related_information { related.collect() } else { Vec::new() };
    let message = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    Diagnostic {
        range: face.range(finding.location.range),
        severity: Some(severity(finding.severity)),
        code: Some(NumberOrString::String(finding.code.to_owned())),
        code_description: description(places.snapshot, finding.code),
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

/// What does nothing is shown faded.
fn tags(code: &str) -> Option<Vec<DiagnosticTag>> {
    let idle = registry::find(code).is_some_and(|rule| rule.name.starts_with("unused-"));
    idle.then(|| vec![DiagnosticTag::UNNECESSARY])
}

/// The rule's page, where the client can open a document of this server.
fn description(snapshot: &Snapshot, code: &str) -> Option<CodeDescription> {
    let opens = snapshot.client.code_description && snapshot.client.text_document_content;
    let href = opens.then(|| Url::parse(&format!("ag-rule:/{code}.md")).ok())??;
    Some(CodeDescription { href })
}

fn related(places: &Places, note: &Note) -> Option<DiagnosticRelatedInformation> {
    let location = places.location(note.location.as_ref()?)?;
    Some(DiagnosticRelatedInformation { location, message: note.message.clone() })
}

fn failure(panic: &str) -> Option<Diagnostic> {
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
