//! Turns the findings of the engine into a report.

use std::collections::HashMap;
use std::sync::Arc;

use ag_db::diagnostic::Severity;
use ag_db::finding::{Finding, Note};
use ag_rules::registry;
use ruff_db::files::File;
use ruff_text_size::TextRange;

use super::{Fix, Location, RelatedMessage, Report, Source, Violation};
use crate::session::{Checked, Session};

/// Returns the report of a run. With `error_on_warning`, warnings become errors.
pub(crate) fn collect(session: &Session, checked: Vec<Checked>, error_on_warning: bool) -> Report {
    Reporter { session, error_on_warning, sources: HashMap::new() }.report(checked)
}

struct Reporter<'a> {
    session: &'a Session,
    error_on_warning: bool,
    sources: HashMap<File, Arc<Source>>,
}

impl Reporter<'_> {
    fn report(mut self, checked: Vec<Checked>) -> Report {
        let mut violations = Vec::new();
        for unreadable in &self.session.unreadable {
            let source = Source::new(unreadable.path.clone(), &self.session.cwd, String::new(), None);
            violations.extend(self.file_finding("AG901", unreadable.message.clone(), &source));
        }
        for Checked { document, findings, .. } in checked {
            let file = self.session.engine.file(document);
            match findings {
                Ok(findings) => {
                    violations.extend(findings.into_iter().map(|finding| self.violation(finding)))
                }
                Err(panic) => {
                    let source = self.source(file);
                    violations.extend(self.file_finding(
                        "AG903",
                        format!("{panic}; this is a bug in ag-lsp"),
                        &source,
                    ));
                }
            }
        }
        violations.sort_by(|a, b| a.location.source.path.cmp(&b.location.source.path));
        Report { violations }
    }

    fn severity(&self, severity: Severity) -> Severity {
        if self.error_on_warning && severity == Severity::Warning { Severity::Error } else { severity }
    }

    /// Returns a finding about a file as a whole.
    fn file_finding(&self, code: &str, message: String, source: &Arc<Source>) -> Option<Violation> {
        let rule = registry::find(code)?;
        Some(Violation {
            code: rule.code,
            name: rule.name,
            severity: self.severity(self.session.settings.rules.enabled(code)?),
            message,
            location: Location::new(source, TextRange::default()),
            labels: Vec::new(),
            why: Vec::new(),
            help: None,
            fix: None,
        })
    }

    fn source(&mut self, file: File) -> Arc<Source> {
        let session = self.session;
        let source = || Source::of_file(&session.engine, file, &session.cwd);
        Arc::clone(self.sources.entry(file).or_insert_with(source))
    }

    fn violation(&mut self, finding: Finding) -> Violation {
        let source = self.source(finding.location.file);
        let location = |range| Location::new(&source, range);
        let fix = finding.fix.map(|fix| Fix {
            message: fix.message,
            applicability: fix.applicability,
            edits: fix.edits.into_iter().map(|edit| (location(edit.range), edit.text)).collect(),
        });
        Violation {
            code: finding.code,
            name: finding.name,
            severity: self.severity(finding.severity),
            message: finding.message,
            location: location(finding.location.range),
            labels: self.related_messages(finding.labels),
            why: self.related_messages(finding.why),
            help: finding.help,
            fix,
        }
    }

    fn related_messages(&mut self, notes: Vec<Note>) -> Vec<RelatedMessage> {
        let related = |note: Note| {
            let location =
                note.location.map(|location| Location::new(&self.source(location.file), location.range));
            RelatedMessage { message: note.message, location }
        };
        notes.into_iter().map(related).collect()
    }
}
