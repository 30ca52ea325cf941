//! Converted documents that the client shows stay in step with their source: when the source is edited,
//! the client is told to fetch them anew.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::lsp_types::Url;
use tower_lsp::lsp_types::notification::Notification;
use tower_lsp::lsp_types::request::Request;

use super::converted::Address;
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

impl Owner {
    /// The client asks for converted code, by the address of the source or of the converted document.
    pub(super) fn follow(&mut self, uri: Url) {
        match Address::parse(&self.snapshot(), &uri) {
            Some(address) => {
                self.followed.entry(address.source).or_default().insert(uri);
            }
            None => {
                self.followed.entry(uri).or_default();
            }
        }
    }

    /// The client has closed a converted document.
    pub(super) fn unfollow(&mut self, uri: &Url) {
        self.followed.retain(|_, addresses| !(addresses.remove(uri) && addresses.is_empty()));
    }

    /// Tells of the converted documents of sources that were edited.
    pub(super) fn tell_converted(&self, edited: &FxHashSet<Url>) {
        for (source, addresses) in &self.followed {
            let open = self.documents.get(source);
            let part = open.and_then(|open| open.parts.first().filter(|_| !open.is_notebook));
            let is_edited = edited.contains(source)
                || open.is_some_and(|open| open.parts.iter().any(|part| edited.contains(&part.uri)));
            if !is_edited {
                continue;
            }
            let changed = Changed { uri: source.clone(), version: part.map(|part| part.version) };
            self.outbox.notify::<ConvertedDocumentChanged>(changed);
            if self.client.text_document_content {
                for uri in addresses {
                    self.outbox.request::<ContentRefresh>(json!({ "uri": uri }), |_| ());
                }
            }
        }
    }
}
