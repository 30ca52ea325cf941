//! Converted documents: their URIs, and the conversion that a URI denotes.
//!
//! ```text
//! ag-converted:/home/ada/model.py/Model.call.simplified.py?function=Model.call&view=simplified
//! ```
//!
//! Editors show the last part of the path as the document's name. The query selects function and view.

use std::borrow::Cow;

use ag_convert::View;
use ag_ide::converted;
use ag_ide::converted::Converted;
use tower_lsp::lsp_types::Url;

use super::documents;
use super::options::ConvertedView;
use super::snapshot::{DocumentContext, Snapshot};

pub(crate) const SCHEME: &str = "ag-converted";

/// The parsed URI of a converted document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConvertedUri {
    pub(crate) source: Url,
    /// `None` for the whole file.
    pub(crate) function: Option<String>,
    pub(crate) view: ConvertedView,
}

impl ConvertedUri {
    pub(crate) fn parse(snapshot: &Snapshot, uri: &Url) -> Option<Self> {
        if uri.scheme() != SCHEME {
            return None;
        }
        let mut file = Url::parse("file:///").ok()?;
        let (source, _name) = uri.path().rsplit_once('/')?;
        file.set_path(source);
        let path = documents::path_of(&file)?;
        let source = snapshot.documents.uri_of(&path).cloned().unwrap_or(file);
        // Some clients percent-encode the whole query.
        let query = uri.query().unwrap_or_default();
        let query = percent_decoded(query);
        let mut parsed = Self { source, function: None, view: snapshot.options.converted_view };
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("function", name)) if !name.is_empty() => {
                    parsed.function = Some(percent_decoded(name).into_owned());
                }
                Some(("view", "full")) => parsed.view = ConvertedView::Full,
                Some(("view", "simplified")) => parsed.view = ConvertedView::Simplified,
                _ => {}
            }
        }
        Some(parsed)
    }

    pub(crate) fn uri(&self, snapshot: &Snapshot) -> Option<Url> {
        let path = snapshot.document(&self.source)?.source.path.clone();
        let mut uri = Url::parse("ag-converted:/").ok()?;
        let view = match self.view {
            ConvertedView::Simplified => "simplified",
            ConvertedView::Full => "full",
        };
        let name = self.function.as_deref().or(path.file_stem()).unwrap_or_default();
        uri.set_path(&format!("{path}/{name}.{view}.py"));
        let mut query = uri.query_pairs_mut();
        if let Some(function) = &self.function {
            query.append_pair("function", function);
        }
        query.append_pair("view", view);
        drop(query);
        Some(uri)
    }

    /// Returns the source and its converted code.
    pub(crate) fn convert<'a>(&'a self, snapshot: &'a Snapshot) -> Option<(DocumentContext<'a>, Converted)> {
        let context = snapshot.document(&self.source)?;
        let view = match self.view {
            ConvertedView::Simplified => View::Simplified,
            ConvertedView::Full => View::Full,
        };
        let converted =
            converted::converted(context.engine.db(), context.document, self.function.as_deref(), view)?;
        Some((context, converted))
    }
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}
