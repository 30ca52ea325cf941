//! Tracks the converted documents that the client shows. When their source is edited, the client is notified
//! to fetch them again.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::lsp_types::Url;
use tower_lsp::lsp_types::notification::Notification;
use tower_lsp::lsp_types::request::Request;

use super::converted::ConvertedUri;
use super::documents::Source;
use super::owner::Owner;

enum ConvertedDocumentChanged {}

#[derive(Serialize, Deserialize)]
struct Changed {
    uri: Url,
    version: Option<i32>,
}

impl Notification for ConvertedDocumentChanged {
    type Params = Changed;
    const METHOD: &'static str = "ag-lsp/convertedDocumentChanged";
}

enum ContentRefresh {}

impl Request for ContentRefresh {
    type Params = Value;
    type Result = Value;
    const METHOD: &'static str = "workspace/textDocumentContent/refresh";
}

/// A source whose converted code the client shows.
#[derive(Default)]
pub(super) struct TrackedSource {
    /// The URIs of its converted documents.
    converted: FxHashSet<Url>,
    /// The versions of the source in the last notification to the client.
    seen: Option<Versions>,
}

/// The versions of the parts of an open document.
#[derive(PartialEq, Eq)]
struct Versions(Vec<i32>);

impl Versions {
    fn new(source: &Source) -> Self {
        Self(source.parts.iter().map(|part| part.version).collect())
    }
}

impl Owner {
    /// Starts tracking. `uri` identifies the source or the converted document.
    pub(super) fn track(&mut self, uri: Url) {
        let parsed = ConvertedUri::parse(&self.snapshot(), &uri);
        let source = parsed.as_ref().map_or_else(|| uri.clone(), |parsed| parsed.source.clone());
        let seen = self.documents.get(&source).map(|source| Versions::new(source));
        let tracked = self.tracked.entry(source).or_default();
        tracked.seen = seen;
        if parsed.is_some() {
            tracked.converted.insert(uri);
        }
    }

    /// Stops tracking a converted document that the client has closed.
    pub(super) fn untrack(&mut self, uri: &Url) {
        self.tracked.retain(|_, tracked| !(tracked.converted.remove(uri) && tracked.converted.is_empty()));
    }

    /// Notifies the client of converted documents whose source has changed.
    pub(super) fn notify_converted(&mut self) {
        for (source, tracked) in &mut self.tracked {
            let Some(open) = self.documents.get(source) else { continue };
            let versions = Some(Versions::new(open));
            if tracked.seen == versions {
                continue;
            }
            tracked.seen = versions;
            let version = open.parts.first().filter(|_| !open.is_notebook).map(|part| part.version);
            self.outbox.notify::<ConvertedDocumentChanged>(Changed { uri: source.clone(), version });
            if self.client.text_document_content {
                for uri in &tracked.converted {
                    self.outbox.request::<ContentRefresh>(json!({ "uri": uri }), |_| ());
                }
            }
        }
    }
}
