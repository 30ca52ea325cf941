//! Converted documents that the client shows stay in step with their source: when the source is edited,
//! the client is told to fetch them anew.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::lsp_types::Url;
use tower_lsp::lsp_types::notification::Notification;
use tower_lsp::lsp_types::request::Request;

use super::converted::Address;
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
pub(super) struct Followed {
    /// The addresses of its converted documents.
    addresses: FxHashSet<Url>,
    /// What the client knows of.
    seen: Option<Stamp>,
}

/// A state of an open document: the versions of its parts.
#[derive(PartialEq, Eq)]
struct Stamp(Vec<i32>);

impl Stamp {
    fn of(source: &Source) -> Self {
        Self(source.parts.iter().map(|part| part.version).collect())
    }
}

impl Owner {
    /// The client asks for converted code, by the address of the source or of the converted document.
    pub(super) fn follow(&mut self, uri: Url) {
        let address = Address::parse(&self.snapshot(), &uri);
        let source = address.as_ref().map_or_else(|| uri.clone(), |address| address.source.clone());
        let seen = self.documents.get(&source).map(|source| Stamp::of(source));
        let followed = self.followed.entry(source).or_default();
        followed.seen = seen;
        if address.is_some() {
            followed.addresses.insert(uri);
        }
    }

    /// The client has closed a converted document.
    pub(super) fn unfollow(&mut self, uri: &Url) {
        self.followed
            .retain(|_, followed| !(followed.addresses.remove(uri) && followed.addresses.is_empty()));
    }

    /// Tells of the converted documents of sources that have changed.
    pub(super) fn tell_converted(&mut self) {
        for (source, followed) in &mut self.followed {
            let Some(open) = self.documents.get(source) else { continue };
            let stamp = Some(Stamp::of(open));
            if followed.seen == stamp {
                continue;
            }
            followed.seen = stamp;
            let version = open.parts.first().filter(|_| !open.is_notebook).map(|part| part.version);
            self.outbox.notify::<ConvertedDocumentChanged>(Changed { uri: source.clone(), version });
            if self.client.text_document_content {
                for uri in &followed.addresses {
                    self.outbox.request::<ContentRefresh>(json!({ "uri": uri }), |_| ());
                }
            }
        }
    }
}
