//! Notifications of the client: documents are opened, changed and closed; files and folders change.

use std::sync::Arc;

use ruff_db::system::SystemPathBuf;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, MessageType, Url,
};

use super::converted;
use super::documents::{self, Part, Source, path_of};
use super::options::EditorOptions;
use super::owner::Owner;
use super::project::Project;
use super::snapshot::project_of;

/// Names of configuration files.
const CONFIGURATIONS: [&str; 3] = ["ag-lsp.toml", ".ag-lsp.toml", "pyproject.toml"];

impl Owner {
    pub(crate) fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        if document.uri.scheme() == converted::SCHEME {
            self.track(document.uri);
            return;
        }
        let Some(path) = path_of(&document.uri) else { return };
        let uri = document.uri;
        let part = Part { uri: uri.clone(), version: document.version, text: document.text };
        if document.language_id != "python" {
            if path.file_name().is_some_and(|name| CONFIGURATIONS.contains(&name)) {
                Arc::make_mut(&mut self.documents).open_configuration(part);
            }
            return;
        }
        Arc::make_mut(&mut self.documents)
            .open(uri.clone(), Source { path, parts: vec![part], is_notebook: false });
        self.mark_edited(uri);
    }

    pub(crate) fn change(&mut self, params: DidChangeTextDocumentParams) {
        let (uri, encoding) = (params.text_document.uri, self.client.encoding);
        let documents = Arc::make_mut(&mut self.documents);
        if let Some(part) = documents.configuration_mut(&uri) {
            documents::edit(&mut part.text, params.content_changes, encoding);
            return;
        }
        let Some(source) = documents.get_mut(&uri) else { return };
        let Some(part) = source.parts.iter_mut().find(|part| part.uri == uri) else { return };
        documents::edit(&mut part.text, params.content_changes, encoding);
        part.version = params.text_document.version;
        self.mark_edited(uri);
    }

    pub(crate) fn close(&mut self, params: &DidCloseTextDocumentParams) {
        self.untrack(&params.text_document.uri);
        self.close_source(&params.text_document.uri);
    }

    /// Closes a source: the content on disk is analyzed instead of the editor's text.
    pub(super) fn close_source(&mut self, uri: &Url) {
        let Some(source) = Arc::make_mut(&mut self.documents).close(uri) else { return };
        self.edited.remove(uri);
        self.reload(std::slice::from_ref(&source.path));
    }

    /// Files have changed on disk. For open documents, the editor's text is still the one that is analyzed.
    pub(crate) fn files_changed(&mut self, params: DidChangeWatchedFilesParams) {
        let paths: Vec<SystemPathBuf> =
            params.changes.iter().filter_map(|change| path_of(&change.uri)).collect();
        let is_configuration = |path: &SystemPathBuf| {
            path.file_name().is_some_and(|name| CONFIGURATIONS.contains(&name))
                || self.projects.iter().any(|project| project.configuration.as_ref() == Some(path))
        };
        if paths.iter().any(is_configuration) {
            self.reopen();
            return;
        }
        self.reload(&paths);
        self.refresh();
    }

    pub(super) fn reload(&mut self, paths: &[SystemPathBuf]) {
        for path in paths {
            let folders = self.projects.iter().map(|project| (&project.folder, project.is_workspace));
            let Some(index) = project_of(folders, path) else { continue };
            let project = &mut self.projects[index];
            let is_included = project.includes(path) && project.loading.is_none();
            if let Some(loading) = &mut project.loading {
                loading.changed.push(path.clone());
            }
            let reloaded =
                project.change(|engine| engine.reload(std::slice::from_ref(path), |_| is_included));
            if let Err(error) = reloaded {
                self.outbox.show(MessageType::ERROR, format!("ag-lsp: {error}"));
            }
            self.edited.extend(self.documents.uri_of(path).cloned());
        }
        self.count_edit();
    }

    pub(crate) fn change_folders(&mut self, params: DidChangeWorkspaceFoldersParams) {
        let removed: Vec<_> = params.event.removed.iter().filter_map(|folder| path_of(&folder.uri)).collect();
        self.folders.retain(|folder| !removed.contains(folder));
        for added in params.event.added.iter().filter_map(|folder| path_of(&folder.uri)) {
            if !self.folders.contains(&added) {
                self.folders.push(added);
            }
        }
        let folders = self.folders.clone();
        // A file outside every folder may be inside one now.
        self.close_projects(|project| !project.is_workspace || !folders.contains(&project.folder));
        self.mark_all_edited();
    }

    /// Applies the editor's settings. Reopens the projects if they have changed.
    pub(crate) fn configure(&mut self, options: EditorOptions) {
        if *self.options != options {
            self.options = Arc::new(options);
            self.reopen();
        }
    }

    /// Reopens every project.
    pub(super) fn reopen(&mut self) {
        self.close_projects(|_| true);
        self.mark_all_edited();
        self.refresh();
    }

    /// Closes projects, and ends their runs.
    fn close_projects(&mut self, is_closed: impl Fn(&Project) -> bool) {
        for mut project in self.projects.extract_if(.., |project| is_closed(project)) {
            project.engine.cancel_run();
        }
    }

    fn mark_all_edited(&mut self) {
        self.edited.extend(self.documents.iter().map(|(uri, _)| uri.clone()));
        self.count_edit();
    }
}
