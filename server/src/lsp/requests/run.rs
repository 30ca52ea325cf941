//! Which file is run, for `ag-lsp.run` and `ag-lsp.showGraph`: the document as it is on disk.

use std::path::PathBuf;

use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use crate::lsp::commands::About;
use crate::lsp::process::failed;
use crate::lsp::snapshot::Snapshot;

/// A file that Python is to read, and the folder that it is started in.
pub(crate) struct OnDisk {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

pub(crate) fn answer(snapshot: &Snapshot, about: &About) -> Result<OnDisk> {
    on_disk(snapshot, &about.uri)
}

pub(super) fn on_disk(snapshot: &Snapshot, uri: &Url) -> Result<OnDisk> {
    if !snapshot.client.trusted {
        return Err(failed("the workspace is not trusted: nothing of it is run".to_owned()));
    }
    let spot =
        snapshot.at(uri).ok_or_else(|| Error::invalid_params(format!("{uri} is not of the project")))?;
    let path = spot.source.path.as_std_path().to_path_buf();
    let name = path.file_name().unwrap_or_default().display();
    if spot.source.is_notebook {
        return Err(failed(format!("`{name}` is a notebook: only files of Python are run")));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) if text == spot.source.text() => {}
        _ => {
            return Err(failed(format!(
                "`{name}` is not saved, and it is the file that is run: save it first"
            )));
        }
    }
    let within = snapshot.views.iter().map(|view| view.folder.as_std_path());
    let folder =
        within.filter(|folder| path.starts_with(folder)).max_by_key(|folder| folder.as_os_str().len());
    let folder = folder.or(path.parent()).unwrap_or(&path).to_path_buf();
    Ok(OnDisk { path, folder })
}
