//! Edits from editors and file watchers: texts are replaced, files are changed, added and removed.

use ag_index::oracle::TypeOracle;
use ruff_db::Db as _;
use ruff_db::files::{File, FilePath, system_path_to_file};
use ruff_db::system::{SystemPath, SystemPathBuf, SystemVirtualPath};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::engine::{Engine, EngineError};
use ag_db::Document;
use ag_staging::analysis::RunCache;

impl Engine {
    /// Replaces the whole text of a file by text from an editor. For a notebook, this is the text of all code cells,
    /// joined.
    pub fn set_editor_text(&mut self, path: &SystemPath, text: String) {
        let Some(plain) = self.blank() else { return };
        let plain = plain.with_text(text, &ruff_diagnostics::SourceMap::default());
        if self.document(path).is_none() && self.add_files([path.to_path_buf()]).is_err() {
            return;
        }
        let document = self.document(path).unwrap_or_else(|| self.add_virtual(path));
        self.set_source(document, plain);
        self.set_open(document, true);
    }

    /// Reloads files from disk, and discards texts from editors. Adds those new files for which `wanted` is true, and
    /// removes files that no longer exist.
    pub fn reload(
        &mut self,
        paths: &[SystemPathBuf],
        wanted: impl Fn(&SystemPath) -> bool,
    ) -> Result<(), EngineError> {
        self.cancel_run();
        let mut added = Vec::new();
        for path in paths {
            match self.document(path) {
                Some(document) if document.file(&self.db).source_text_override(&self.db).is_some() => {
                    self.keep_version(document);
                }
                Some(_) => self.lock().cache = RunCache::default(),
                None => {}
            }
            let existed = self.exists(path);
            File::sync_path(&mut self.db, path);
            self.sync_oracle(&FilePath::from(path.as_path()));
            if existed != self.exists(path) {
                // The imports of this file now resolve differently, also in documents whose text has not changed.
                self.lock().cache = RunCache::default();
            }
            let known = self.document(path);
            if let Some(document) = known {
                self.set_open(document, false);
                let file = document.file(&self.db);
                if file.source_text_override(&self.db).is_some() {
                    file.set_source_text_override(&mut self.db).to(None);
                }
            }
            let on_disk = system_path_to_file(&self.db, path);
            match (known, on_disk) {
                (None, Ok(_)) if wanted(path) => added.push(path.clone()),
                (Some(document), Ok(file)) if document.file(&self.db) == file && wanted(path) => {}
                (Some(_), Ok(_)) if wanted(path) => {
                    self.remove(path);
                    added.push(path.clone());
                }
                (Some(_), _) => self.remove(path),
                (None, _) => {}
            }
        }
        if added.is_empty() { Ok(()) } else { self.add_files(added) }
    }

    fn set_open(&mut self, document: Document, open: bool) {
        if document.open(&self.db) != open {
            document.set_open(&mut self.db).with_durability(Durability::LOW).to(open);
        }
    }

    fn remove(&mut self, path: &SystemPath) {
        let documents = FxHashMap::clone(self.project.documents(&self.db));
        let kept = documents.into_iter().filter(|(file, _)| file.path(&self.db).as_str() != path.as_str());
        let kept = kept.collect();
        self.set_documents(kept);
        if let Some(file) = self.db.files().try_virtual_file(SystemVirtualPath::new(path.as_str())) {
            file.close(&mut self.db);
            self.sync_oracle(&FilePath::from(SystemVirtualPath::new(path.as_str())));
        }
    }

    /// Returns whether a file is known to exist, without access to the disk.
    fn exists(&self, path: &SystemPath) -> bool {
        self.db.files().try_system(&self.db, path).is_some_and(|file| file.exists(&self.db))
    }

    fn sync_oracle(&self, path: &FilePath) {
        self.lock().oracle.sync(path);
    }
}
