//! The bundled models of library APIs, served from memory beside the real file system.
//!
//! Each folder of `analysis/types/stubs/` is a separate import root. So each model can be replaced by the installed
//! library, if the library has type information.

use std::io::Result;
use std::panic::RefUnwindSafe;

use include_dir::{Dir, include_dir};
use ruff_db::system::{
    CommandExecutor, DirectoryEntry, MemoryFileSystem, Metadata, System, SystemPath, SystemPathBuf,
    SystemVirtualPath, WhichResult, WritableSystem, walk_directory::WalkDirectoryBuilder,
};
use ruff_notebook::{Notebook, NotebookError};
use ruff_python_ast::PySourceType;

use crate::notebooks;

static STUBS: Dir = include_dir!("$CARGO_MANIFEST_DIR/stubs");

/// The table in `STUBS` of modules that only re-export names of other modules.
const PASSTHROUGH: &str = "passthrough.txt";

/// The prefix of the models' paths. No real path starts with it.
const ROOT: &str = "/ag-lsp-stubs";

/// The model whose `__builtins__.pyi` declares the names used in annotated source.
pub const ANNOTATIONS: &str = "annotations";

/// Returns the import root of a model: `tensorflow` -> `/ag-lsp-stubs/tensorflow`.
pub fn root_of(model: &str) -> SystemPathBuf {
    SystemPath::new(ROOT).join(model)
}

/// Returns the file that declares the names used in annotated source.
pub fn builtins() -> SystemPathBuf {
    root_of(ANNOTATIONS).join("__builtins__.pyi")
}

/// Returns whether a path belongs to the bundled models.
pub fn is_stub_path(path: &SystemPath) -> bool {
    path.starts_with(ROOT)
}

/// Returns every bundled stub: its path below the root of the models, and its text.
///
/// Panics on a malformed row of the table, which is embedded at compile time and checked by a test.
pub fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![&STUBS];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        let stubs = folder.files().filter(|file| file.path().extension().is_some_and(|name| name == "pyi"));
        files.extend(
            stubs.filter_map(|stub| Some((stub.path().to_str()?.into(), stub.contents_utf8()?.into()))),
        );
    }
    files.extend(passthrough_rows().map(passthrough_stub));
    files
}

fn passthrough_rows() -> impl Iterator<Item = &'static str> {
    let table = STUBS.get_file(PASSTHROUGH).and_then(|file| file.contents_utf8()).unwrap_or_default();
    table.lines().filter(|row| !row.is_empty() && !row.starts_with('#'))
}

/// Returns the path and the text of the stub that a row of the table describes.
fn passthrough_stub(row: &str) -> (String, String) {
    let columns: Vec<_> = row.split_whitespace().collect();
    let [model, module, source, kind] = columns[..] else {
        panic!("{PASSTHROUGH}: expected `model module source kind`, found `{row}`");
    };
    let mut text = String::new();
    if source != "-" {
        text += &format!("from {source} import *\n");
    }
    if let Some((package, class)) = kind.rsplit_once('.') {
        text += &format!("from {package} import {class}\ndef __getattr__(name: str) -> {class}: ...\n");
    }
    (format!("{model}/{}/__init__.pyi", module.replace('.', "/")), text)
}

/// Returns the names of the bundled models, sorted.
pub fn models() -> Vec<&'static str> {
    let mut names: Vec<_> = STUBS
        .dirs()
        .filter(|dir| has_files(dir))
        .filter_map(|dir| dir.path().file_name()?.to_str())
        .collect();
    names.sort_unstable();
    names
}

fn has_files(dir: &Dir) -> bool {
    dir.files().next().is_some() || dir.dirs().any(has_files)
}

/// A file system that also contains the bundled models.
#[derive(Debug)]
pub struct WithStubs<S> {
    inner: S,
    stubs: MemoryFileSystem,
}

impl<S: System> WithStubs<S> {
    pub fn new(inner: S) -> Self {
        let stubs = MemoryFileSystem::with_current_directory(ROOT);
        for (path, text) in files() {
            // Writing fails only if a folder with this path exists, which is never the case here.
            let _ = stubs.write_file_all(SystemPath::new(ROOT).join(path), text);
        }
        Self { inner, stubs }
    }
}

impl<S: System + Clone + Send + Sync + RefUnwindSafe + 'static> System for WithStubs<S> {
    fn path_metadata(&self, path: &SystemPath) -> Result<Metadata> {
        if is_stub_path(path) { self.stubs.metadata(path) } else { self.inner.path_metadata(path) }
    }

    fn canonicalize_path(&self, path: &SystemPath) -> Result<SystemPathBuf> {
        if is_stub_path(path) { self.stubs.canonicalize(path) } else { self.inner.canonicalize_path(path) }
    }

    fn is_same_file(&self, first: &SystemPath, second: &SystemPath) -> Result<bool> {
        if is_stub_path(first) || is_stub_path(second) {
            Ok(first == second)
        } else {
            self.inner.is_same_file(first, second)
        }
    }

    fn source_type(&self, path: &SystemPath) -> Option<PySourceType> {
        self.inner.source_type(path)
    }

    fn virtual_path_source_type(&self, path: &SystemVirtualPath) -> Option<PySourceType> {
        self.inner.virtual_path_source_type(path)
    }

    fn which(&self, binary_name: &str) -> WhichResult {
        self.inner.which(binary_name)
    }

    fn command_executor(&self) -> Option<&dyn CommandExecutor> {
        // Opening a file never runs anything.
        None
    }

    fn read_to_string(&self, path: &SystemPath) -> Result<String> {
        if is_stub_path(path) { self.stubs.read_to_string(path) } else { self.inner.read_to_string(path) }
    }

    fn read_to_notebook(&self, path: &SystemPath) -> std::result::Result<Notebook, NotebookError> {
        self.inner.read_to_notebook(path).or_else(|error| match self.inner.read_to_string(path) {
            Ok(text) => notebooks::read_leniently(&text, error),
            Err(_) => Err(error),
        })
    }

    fn read_virtual_path_to_string(&self, path: &SystemVirtualPath) -> Result<String> {
        self.inner.read_virtual_path_to_string(path)
    }

    fn read_virtual_path_to_notebook(
        &self,
        path: &SystemVirtualPath,
    ) -> std::result::Result<Notebook, NotebookError> {
        self.inner.read_virtual_path_to_notebook(path)
    }

    fn current_directory(&self) -> &SystemPath {
        self.inner.current_directory()
    }

    fn user_config_directory(&self) -> Option<SystemPathBuf> {
        self.inner.user_config_directory()
    }

    fn cache_dir(&self) -> Option<SystemPathBuf> {
        self.inner.cache_dir()
    }

    fn read_directory<'a>(
        &'a self,
        path: &SystemPath,
    ) -> Result<Box<dyn Iterator<Item = Result<DirectoryEntry>> + 'a>> {
        if is_stub_path(path) {
            Ok(Box::new(self.stubs.read_directory(path)?))
        } else {
            self.inner.read_directory(path)
        }
    }

    fn walk_directory(&self, path: &SystemPath) -> WalkDirectoryBuilder {
        if is_stub_path(path) { self.stubs.walk_directory(path) } else { self.inner.walk_directory(path) }
    }

    fn env_var(&self, name: &str) -> std::result::Result<String, std::env::VarError> {
        self.inner.env_var(name)
    }

    fn as_writable(&self) -> Option<&dyn WritableSystem> {
        None
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }

    fn dyn_clone(&self) -> Box<dyn System> {
        Box::new(Self { inner: self.inner.clone(), stubs: self.stubs.clone() })
    }
}
