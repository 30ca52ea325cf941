//! What a request sees: every project and document as they were when its turn came. A later edit
//! cancels the engine's queries; it never changes what is seen.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ag_db::Document;
use ag_project::{Engine, Environment};
use ruff_db::files::File;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_text_size::TextSize;
use tower_lsp::lsp_types::{Position, Url};

use super::capabilities::Client;
use super::documents::{self, Documents, Face, Source};
use super::options::EditorOptions;
use super::outbox::Outbox;

/// A project without the means to change it.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) folder: SystemPathBuf,
    pub(crate) whole: bool,
    pub(crate) configuration: Option<SystemPathBuf>,
    pub(crate) environment: Environment,
    /// How long the engine last took to come to rest.
    pub(crate) settled_in: Duration,
    pub(crate) engine: Engine,
}

#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) client: Arc<Client>,
    /// For answers that are given in parts.
    pub(crate) outbox: Outbox,
    pub(crate) options: Arc<EditorOptions>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) views: Vec<View>,
}

/// A document in its project.
pub(crate) struct Spot<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) document: Document,
    pub(crate) source: Cow<'a, Source>,
    uri: &'a Url,
    snapshot: &'a Snapshot,
}

impl Snapshot {
    /// The document at an address, or the notebook that has a cell at it.
    pub(crate) fn at<'a>(&'a self, uri: &'a Url) -> Option<Spot<'a>> {
        let open = self.documents.get(uri);
        let path = open.map(|source| source.path.clone()).or_else(|| documents::path_of(uri))?;
        let view = &self.views[project_of(self.views.iter().map(|view| (&view.folder, view.whole)), &path)?];
        let document = view.engine.document(&path)?;
        let source = match open {
            Some(source) => Cow::Borrowed(&**source),
            None => Cow::Owned(documents::closed(&view.engine, &path)?),
        };
        Some(Spot { engine: &view.engine, document, source, uri, snapshot: self })
    }

    /// The source of a file that findings speak of, if the client can open it.
    pub(crate) fn source(&self, engine: &Engine, file: File) -> Option<Cow<'_, Source>> {
        let path = engine.path(file);
        match self.documents.at(&path) {
            Some(source) => Some(Cow::Borrowed(&**source)),
            None => documents::closed(engine, &path).map(Cow::Owned),
        }
    }
}

impl Spot<'_> {
    /// The part of the document that the request is about.
    pub(crate) fn face(&self) -> Option<Face<'_>> {
        let encoding = self.snapshot.client.encoding;
        // The client may spell the address of a file in its own way.
        Face::of(&self.source, self.uri, encoding).or_else(|| {
            Face::all(&self.source, encoding).into_iter().next().filter(|_| !self.source.is_notebook)
        })
    }

    pub(crate) fn offset(&self, position: Position) -> Option<TextSize> {
        Some(self.face()?.offset(position))
    }
}

/// Which of several projects a file belongs to: the one of the innermost folder around it, and what is
/// in no folder to the first. A folder of the workspace wins over a project of open files.
pub(crate) fn project_of<'a>(
    folders: impl Iterator<Item = (&'a SystemPathBuf, bool)>,
    path: &SystemPath,
) -> Option<usize> {
    let on_disk =
        path.parent().is_some_and(|parent| parent.as_std_path().is_dir()) && !path.as_str().contains(':');
    folders
        .enumerate()
        .filter(|(_, (folder, _))| !on_disk || path.starts_with(folder))
        .max_by_key(|(number, (folder, whole))| {
            let depth = if on_disk { folder.as_str().len() } else { 0 };
            (*whole, depth, std::cmp::Reverse(*number))
        })
        .map(|(number, _)| number)
}
