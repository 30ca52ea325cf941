//! The inputs: a project, its documents, its settings.
//!
//! A [`Document`] is a Python file of the project. Its *real* text is what people see and what all
//! analyses but one work on; the inference engine reads the file itself, which shows the ghost
//! view ([`crate::staging::ghost`]) while one is set.

use std::sync::Arc;

use ruff_db::files::File;
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::SystemPathBuf;
use ruff_python_ast::PySourceType;
use rustc_hash::FxHashMap;
use salsa::Durability;

use crate::config::Settings;
use crate::db::Db;
use crate::staging::assumptions::Stage;
use crate::staging::types::ScopeTypes;
use crate::syntax::functions::FunctionPath;

/// A Python file, stub or notebook that is analysed.
#[salsa::input(debug)]
pub struct Document {
    #[returns(copy)]
    pub file: File,
    /// The real text while the file shows something else (a ghost view) or an editor has it open.
    #[returns(ref)]
    pub own_text: Option<SourceText>,
    /// An editor has it open: it will be edited, and much is asked of it.
    #[returns(copy)]
    pub open: bool,
    /// What is assumed of its staged functions.
    #[returns(ref)]
    pub stages: Arc<FxHashMap<FunctionPath, Stage>>,
    /// The types of its staged functions under these assumptions.
    #[returns(ref)]
    pub types: Arc<FxHashMap<FunctionPath, Arc<ScopeTypes>>>,
}

impl Document {
    /// As it is on disk, which seldom changes: what only depends on that is not looked at again when an editor's text
    /// or an assumption is set.
    pub fn of(db: &dyn Db, file: File) -> Self {
        Self::builder(file, None, false, Arc::default(), Arc::default()).durability(Durability::HIGH).new(db)
    }
}

/// The documents that are analysed together.
#[salsa::input(singleton, debug)]
pub struct Project {
    #[returns(ref)]
    pub root: SystemPathBuf,
    #[returns(ref)]
    pub settings: Arc<Settings>,
    #[returns(ref)]
    pub documents: Arc<FxHashMap<File, Document>>,
}

/// The real text of a document; for a notebook, its code cells joined.
pub fn text(db: &dyn Db, document: Document) -> SourceText {
    match document.own_text(db) {
        Some(text) => text.clone(),
        None => source_text(db, document.file(db)),
    }
}

/// Module, stub or notebook.
pub fn source_type(db: &dyn Db, document: Document) -> PySourceType {
    document.file(db).source_type(db)
}
