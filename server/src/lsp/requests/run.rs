//! Resolves the file that `ag-lsp.run` and `ag-lsp.showGraph` execute. It must be saved.

use std::path::PathBuf;

use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use crate::lsp::commands::FunctionParams;
use crate::lsp::process::failed;
use crate::lsp::snapshot::Snapshot;

/// A file to execute, and the working directory.
pub(crate) struct SavedFile {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &FunctionParams) -> Result<SavedFile> {
    saved_file(snapshot, &params.uri)
}

pub(super) fn saved_file(snapshot: &Snapshot, uri: &Url) -> Result<SavedFile> {
    if !snapshot.client.trusted {
        return Err(failed("cannot run code in an untrusted workspace".to_owned()));
    }
    let context = snapshot
        .document(uri)
        .ok_or_else(|| Error::invalid_params(format!("{uri} is not part of the project")))?;
    let path = context.source.path.as_std_path().to_path_buf();
    let name = path.file_name().unwrap_or_default().display();
    if context.source.is_notebook {
        return Err(failed(format!("`{name}` is a notebook; only Python files can be run")));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) if text == context.source.text() => {}
        _ => {
            return Err(failed(format!("`{name}` has unsaved changes: save it first")));
        }
    }
    let folders = snapshot.projects.iter().map(|project| project.folder.as_std_path());
    let folder =
        folders.filter(|folder| path.starts_with(folder)).max_by_key(|folder| folder.as_os_str().len());
    let folder = folder.or(path.parent()).unwrap_or(&path).to_path_buf();
    Ok(SavedFile { path, folder })
}
