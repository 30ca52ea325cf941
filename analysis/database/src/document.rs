//! The inputs: a project and its documents.

use std::sync::Arc;

use ruff_db::files::File;
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::SystemPathBuf;
use ruff_python_ast::PySourceType;
use rustc_hash::FxHashMap;
use salsa::Durability;

use crate::Db;

/// A Python file, stub or notebook that is analyzed. Its text comes from the editor in which it is open
/// ([`File::source_text_override`]), otherwise from disk.
#[salsa::input(debug)]
pub struct Document {
    #[returns(copy)]
    pub file: File,
    /// Whether it is open in an editor, so that edits and requests are expected.
    #[returns(copy)]
    pub open: bool,
}

impl Document {
    /// Returns a document that is not open in an editor. Its durability is high: queries that depend only on files on
    /// disk are not validated again after an edit.
    pub fn of(db: &dyn Db, file: File) -> Self {
        Self::builder(file, false).durability(Durability::HIGH).new(db)
    }
}

/// The documents that are analyzed together.
#[salsa::input(singleton, debug)]
pub struct Project {
    #[returns(ref)]
    pub root: SystemPathBuf,
    /// The folders to which module names are relative. The first folder that contains a file determines its module
    /// name.
    #[returns(ref)]
    pub import_roots: Arc<[SystemPathBuf]>,
    #[returns(ref)]
    pub documents: Arc<FxHashMap<File, Document>>,
}

/// Returns the text of a document. For a notebook, this is the text of all code cells, joined.
pub fn text(db: &dyn Db, document: Document) -> SourceText {
    source_text(db, document.file(db))
}

/// Applies a function to the text of a document. Unlike [`text`], it does not keep the text of a file that is not open,
/// because most files of a large project are read only once.
pub fn with_text<T>(db: &dyn Db, document: Document, apply: impl FnOnce(&str) -> T) -> T {
    let file = document.file(db);
    let is_plain = !document.open(db)
        && file.source_text_override(db).is_none()
        && source_type(db, document) != PySourceType::Ipynb;
    match is_plain {
        // The text of an unreadable file is empty. `text` reports the error.
        true => apply(&file.read_to_string(db).unwrap_or_default()),
        false => apply(text(db, document).as_str()),
    }
}

/// Returns the kind of a document: module, stub or notebook.
pub fn source_type(db: &dyn Db, document: Document) -> PySourceType {
    document.file(db).source_type(db)
}
