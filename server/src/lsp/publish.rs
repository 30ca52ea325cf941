//! Pushing diagnostics, for clients that do not pull them. What is pushed is of the present text: an
//! outcome that comes after the next edit is dropped, and only what is new is sent.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use tower_lsp::lsp_types::notification::PublishDiagnostics;
use tower_lsp::lsp_types::{PublishDiagnosticsParams, Url};

use super::diagnostics::{self, Reported};
use super::job::{Job, Outcome, catch};
use super::options::DiagnosticMode;
use super::owner::{Inbox, Owner};
use super::snapshot::Snapshot;

/// The diagnostics of all documents that are reported on.
pub(crate) struct Publish {
    pub(crate) revision: u64,
    pub(crate) inbox: Inbox,
}

impl Job for Publish {
    fn run(self: Box<Self>, snapshot: Snapshot) {
        let all = catch(|| {
            let addresses = addresses(&snapshot);
            let of = |uri: &Url| snapshot.at(uri).map(|spot| diagnostics::of(&snapshot, &spot));
            addresses.iter().filter_map(of).flatten().collect::<Vec<_>>()
        });
        drop(snapshot);
        let Self { revision, inbox } = *self;
        // After the edit that has made this stale, there will be another one.
        if let Outcome::Done(all) = all {
            inbox.tell(move |owner| owner.publish(revision, all));
        }
    }
}

/// The documents that are reported on: the open ones, and by the settings those of the workspace.
pub(crate) fn addresses(snapshot: &Snapshot) -> Vec<Url> {
    let mut addresses: BTreeMap<String, Url> =
        snapshot.documents.iter().map(|(uri, source)| (source.path.to_string(), uri.clone())).collect();
    if snapshot.options.diagnostic_mode == DiagnosticMode::Workspace {
        for view in snapshot.views.iter().filter(|view| view.whole) {
            for document in view.engine.documents() {
                let path = view.engine.path(view.engine.file(document));
                if let Ok(uri) = Url::from_file_path(path.as_std_path()) {
                    addresses.entry(path.to_string()).or_insert(uri);
                }
            }
        }
    }
    addresses.into_values().collect()
}

impl Owner {
    fn publish(&mut self, revision: u64, all: Vec<Reported>) {
        if revision != self.revision {
            return;
        }
        let present: FxHashSet<Url> = all.iter().map(|reported| reported.uri.clone()).collect();
        for reported in all {
            let is_open = self.documents.get(&reported.uri).is_some();
            let before = self.published.get(&reported.uri);
            let nothing = !is_open && before.is_none() && reported.diagnostics.is_empty();
            if nothing || before == Some(&reported) {
                continue;
            }
            self.outbox.notify::<PublishDiagnostics>(PublishDiagnosticsParams {
                uri: reported.uri.clone(),
                diagnostics: reported.diagnostics.clone(),
                version: is_open.then_some(reported.version),
            });
            self.published.insert(reported.uri.clone(), reported);
        }
        let gone: Vec<Url> = self.published.keys().filter(|uri| !present.contains(uri)).cloned().collect();
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
