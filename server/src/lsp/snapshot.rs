//! The immutable state that a request reads: every project and document at one revision. A later edit
//! cancels the engine's queries but never changes a snapshot.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ag_db::Document;
use ag_project::{Engine, Environment};
use ruff_db::files::File;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_text_size::TextSize;
use tower_lsp::lsp_types::{Position, Url};

use super::capabilities::Client;
use super::documents::{self, Documents, PartMapper, Source};
use super::options::EditorOptions;
use super::outbox::Outbox;

/// A read-only project.
#[derive(Clone)]
pub(crate) struct ProjectSnapshot {
    pub(crate) folder: SystemPathBuf,
    pub(crate) is_workspace: bool,
    pub(crate) configuration: Option<SystemPathBuf>,
    pub(crate) environment: Environment,
    /// Duration of the last run of the analysis.
    pub(crate) analysis_time: Duration,
    pub(crate) engine: Engine,
}

#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) client: Arc<Client>,
    /// Receives partial results.
    pub(crate) outbox: Outbox,
    pub(crate) options: Arc<EditorOptions>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) projects: Vec<ProjectSnapshot>,
    pub(crate) revision: u64,
    pub(crate) latest_revision: Arc<AtomicU64>,
}

/// A document with the engine that analyzes it.
pub(crate) struct DocumentContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) document: Document,
    pub(crate) source: Cow<'a, Source>,
    uri: &'a Url,
    snapshot: &'a Snapshot,
}

impl Snapshot {
    /// Returns whether a text was edited after the snapshot was taken. Computations are also cancelled when a run of
    /// the analysis ends.
    pub(crate) fn is_edited(&self) -> bool {
        self.revision != self.latest_revision.load(Ordering::Relaxed)
    }

    /// Returns the document with this URI, or the notebook that contains the cell with this URI.
    pub(crate) fn document<'a>(&'a self, uri: &'a Url) -> Option<DocumentContext<'a>> {
        let open = self.documents.get(uri);
        let path = open.map(|source| source.path.clone()).or_else(|| documents::path_of(uri))?;
        let project = &self.projects
            [project_of(self.projects.iter().map(|project| (&project.folder, project.is_workspace)), &path)?];
        let document = project.engine.document(&path)?;
        let source = match open {
            Some(source) => Cow::Borrowed(&**source),
            None => Cow::Owned(documents::unopened(&project.engine, &path)?),
        };
        Some(DocumentContext { engine: &project.engine, document, source, uri, snapshot: self })
    }

    /// Returns the source of a file that a finding refers to, if the client can open it.
    pub(crate) fn source(&self, engine: &Engine, file: File) -> Option<Cow<'_, Source>> {
        let path = engine.path(file);
        match self.documents.get_by_path(&path) {
            Some(source) => Some(Cow::Borrowed(&**source)),
            None => documents::unopened(engine, &path).map(Cow::Owned),
        }
    }
}

impl DocumentContext<'_> {
    /// Returns the file or cell that the request refers to.
    pub(crate) fn mapper(&self) -> Option<PartMapper<'_>> {
        let encoding = self.snapshot.client.encoding;
        // Clients may spell the URI of a file differently.
        PartMapper::for_uri(&self.source, self.uri, encoding).or_else(|| {
            PartMapper::all(&self.source, encoding).into_iter().next().filter(|_| !self.source.is_notebook)
        })
    }

    pub(crate) fn offset(&self, position: Position) -> Option<TextSize> {
        Some(self.mapper()?.offset(position))
    }
}

/// Returns the index of the project that a file belongs to: the project with the innermost enclosing folder. A
/// workspace folder takes precedence over a project of open files. A text without a file belongs to the first project.
pub(crate) fn project_of<'a>(
    folders: impl Iterator<Item = (&'a SystemPathBuf, bool)>,
    path: &SystemPath,
) -> Option<usize> {
    let on_disk =
        path.parent().is_some_and(|parent| parent.as_std_path().is_dir()) && !path.as_str().contains(':');
    folders
        .enumerate()
        .filter(|(_, (folder, _))| !on_disk || path.starts_with(folder))
        .max_by_key(|(index, (folder, is_workspace))| {
            let depth = if on_disk { folder.as_str().len() } else { 0 };
            (*is_workspace, depth, std::cmp::Reverse(*index))
        })
        .map(|(index, _)| index)
}
