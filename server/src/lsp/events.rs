//! What the client tells: documents open, change and close, files and folders come and go.

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
use super::snapshot::project_of;

/// Files that say how a project is set up.
const CONFIGURATIONS: [&str; 3] = ["ag-lsp.toml", ".ag-lsp.toml", "pyproject.toml"];

impl Owner {
    pub(crate) fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        if document.uri.scheme() == converted::SCHEME {
            self.follow(document.uri);
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
        self.touch(uri);
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
        self.touch(uri);
    }

    pub(crate) fn close(&mut self, params: &DidCloseTextDocumentParams) {
        self.unfollow(&params.text_document.uri);
        self.let_go(&params.text_document.uri);
    }

    /// The file counts again as it is on disk.
    pub(super) fn let_go(&mut self, uri: &Url) {
        let Some(source) = Arc::make_mut(&mut self.documents).close(uri) else { return };
        self.edited.remove(uri);
        self.reload(std::slice::from_ref(&source.path));
    }

    /// Files have changed on disk. What is open is as the editor has it all the same.
    pub(crate) fn watched(&mut self, params: DidChangeWatchedFilesParams) {
        let paths: Vec<SystemPathBuf> =
            params.changes.iter().filter_map(|change| path_of(&change.uri)).collect();
        let configured = |path: &SystemPathBuf| {
            path.file_name().is_some_and(|name| CONFIGURATIONS.contains(&name))
                || self.projects.iter().any(|project| project.configuration.as_ref() == Some(path))
        };
        if paths.iter().any(configured) {
            self.reopen();
            return;
        }
        self.reload(&paths);
        self.refresh();
    }

    fn reload(&mut self, paths: &[SystemPathBuf]) {
        for path in paths {
            let folders = self.projects.iter().map(|project| (&project.folder, project.whole));
            let Some(number) = project_of(folders, path) else { continue };
            let project = &mut self.projects[number];
            let wanted = project.wants(path);
            if let Err(error) = project.engine.reload(std::slice::from_ref(path), |_| wanted) {
                self.outbox.show(MessageType::ERROR, format!("ag-lsp: {error}"));
            }
            project.stale = true;
            self.edited.extend(self.documents.address(path).cloned());
        }
        self.revision += 1;
    }

    pub(crate) fn change_folders(&mut self, params: DidChangeWorkspaceFoldersParams) {
        let removed: Vec<_> = params.event.removed.iter().filter_map(|folder| path_of(&folder.uri)).collect();
        self.folders.retain(|folder| !removed.contains(folder));
        for added in params.event.added.iter().filter_map(|folder| path_of(&folder.uri)) {
            if !self.folders.contains(&added) {
                self.folders.push(added);
            }
        }
        let folders = &self.folders;
        // Files that were outside may be inside now.
        self.projects.retain(|project| project.whole && folders.contains(&project.folder));
        self.edit_all();
    }

    /// The editor's settings, new or the same.
    pub(crate) fn configure(&mut self, options: EditorOptions) {
        if *self.options != options {
            self.options = Arc::new(options);
            self.reopen();
        }
    }

    /// Sets every project up anew.
    pub(super) fn reopen(&mut self) {
        self.projects.clear();
        self.edit_all();
        self.refresh();
    }

    fn edit_all(&mut self) {
        self.edited.extend(self.documents.iter().map(|(uri, _)| uri.clone()));
        self.revision += 1;
    }
}
