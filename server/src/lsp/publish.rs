//! Pushes diagnostics to clients that do not pull them. A result is dropped if the text has been edited
//! since, and only changed diagnostics are sent.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use tower_lsp::lsp_types::notification::PublishDiagnostics;
use tower_lsp::lsp_types::{PublishDiagnosticsParams, Url};

use super::diagnostics::{self, FileDiagnostics};
use super::job::{Outcome, catch};
use super::options::DiagnosticMode;
use super::owner::{Inbox, Owner};
use super::snapshot::Snapshot;

/// Computes the diagnostics of all reported documents.
pub(crate) struct Publish {
    pub(crate) publication: u64,
    pub(crate) inbox: Inbox,
}

impl Publish {
    pub(crate) fn run(self, snapshot: Snapshot) {
        let all = catch(|| {
            let uris = reported_uris(&snapshot);
            let diagnostics =
                |uri: &Url| Some(diagnostics::for_document(&snapshot, &snapshot.document(uri)?));
            uris.iter().filter_map(diagnostics).flatten().collect::<Vec<_>>()
        });
        drop(snapshot);
        let Self { publication, inbox } = self;
        // An edit or the end of a run cancels this job, and schedules another one.
        if let Outcome::Done(all) = all {
            inbox.update(move |owner| owner.publish(publication, all));
        }
    }
}

/// Returns the documents whose diagnostics are reported: the open ones or, depending on the settings, the whole
/// workspace.
pub(crate) fn reported_uris(snapshot: &Snapshot) -> Vec<Url> {
    let mut uris: BTreeMap<String, Url> =
        snapshot.documents.iter().map(|(uri, source)| (source.path.to_string(), uri.clone())).collect();
    if snapshot.options.diagnostic_mode == DiagnosticMode::Workspace {
        for project in snapshot.projects.iter().filter(|project| project.is_workspace) {
            for document in project.engine.documents() {
                let path = project.engine.path(project.engine.file(document));
                if let Ok(uri) = Url::from_file_path(path.as_std_path()) {
                    uris.entry(path.to_string()).or_insert(uri);
                }
            }
        }
    }
    uris.into_values().collect()
}

impl Owner {
    /// The results of [`Publish`]. Outdated ones are dropped.
    fn publish(&mut self, publication: u64, all: Vec<FileDiagnostics>) {
        if publication != self.publications {
            return;
        }
        let reported_uris: FxHashSet<Url> = all.iter().map(|reported| reported.uri.clone()).collect();
        for reported in all {
            let is_open = self.documents.get(&reported.uri).is_some();
            let before = self.published.get(&reported.uri);
            let is_irrelevant = !is_open && before.is_none() && reported.diagnostics.is_empty();
            if is_irrelevant || before == Some(&reported) {
                continue;
            }
            self.outbox.notify::<PublishDiagnostics>(PublishDiagnosticsParams {
                uri: reported.uri.clone(),
                diagnostics: reported.diagnostics.clone(),
                version: is_open.then_some(reported.version),
            });
            self.published.insert(reported.uri.clone(), reported);
        }
        let gone: Vec<Url> =
            self.published.keys().filter(|uri| !reported_uris.contains(uri)).cloned().collect();
        for uri in gone {
            self.published.remove(&uri);
            self.outbox.notify::<PublishDiagnostics>(PublishDiagnosticsParams {
                uri,
                diagnostics: Vec::new(),
                version: None,
            });
        }
    }
}
