//! Converted documents: their addresses, and the conversion behind an address.
//!
//! ```text
//! ag-converted:/home/ada/model.py/Model.call.simplified.py?function=Model.call&view=simplified
//! ```
//!
//! The last part of the path is the name that editors show; the query says what it is.

use std::borrow::Cow;

use ag_convert::View;
use ag_ide::converted;
use ag_ide::converted::Converted;
use tower_lsp::lsp_types::Url;

use super::documents;
use super::options::ConvertedView;
use super::snapshot::{Snapshot, Spot};

pub(crate) const SCHEME: &str = "ag-converted";

/// What an address of a converted document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) source: Url,
    /// The whole file if there is none.
    pub(crate) function: Option<String>,
    pub(crate) view: ConvertedView,
}

impl Address {
    pub(crate) fn parse(snapshot: &Snapshot, uri: &Url) -> Option<Self> {
        if uri.scheme() != SCHEME {
            return None;
        }
        let mut file = Url::parse("file:///").ok()?;
        let (source, _name) = uri.path().rsplit_once('/')?;
        file.set_path(source);
        let path = documents::path_of(&file)?;
        let source = snapshot.documents.address(&path).cloned().unwrap_or(file);
        // Some clients encode the query as a whole.
        let query = uri.query().unwrap_or_default();
        let query = percent_decoded(query);
        let mut address = Self { source, function: None, view: snapshot.options.converted_view };
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("function", name)) if !name.is_empty() => {
                    address.function = Some(percent_decoded(name).into_owned());
                }
                Some(("view", "full")) => address.view = ConvertedView::Full,
                Some(("view", "simplified")) => address.view = ConvertedView::Simplified,
                _ => {}
            }
        }
        Some(address)
    }

    pub(crate) fn uri(&self, snapshot: &Snapshot) -> Option<Url> {
        let path = snapshot.at(&self.source)?.source.path.clone();
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

    /// The source and what it is converted into.
    pub(crate) fn convert<'a>(&'a self, snapshot: &'a Snapshot) -> Option<(Spot<'a>, Converted)> {
        let spot = snapshot.at(&self.source)?;
        let view = match self.view {
            ConvertedView::Simplified => View::Simplified,
            ConvertedView::Full => View::Full,
        };
        let converted =
            converted::converted(spot.engine.db(), spot.document, self.function.as_deref(), view)?;
        Some((spot, converted))
    }
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}
