//! The engine: a project's files in, findings and stages out.
//!
//! An [`Engine`] owns the database. Files are added, [`Engine::settle`] finds roots and moves
//! assumptions until nothing changes, then every question is a query. A clone is a snapshot for
//! another thread; drop it before the next edit.

mod edits;
pub mod environment;
mod imports;
mod seclusion;
mod settle;

use std::panic::RefUnwindSafe;
use std::sync::Arc;

use ruff_db::Db as _;
use ruff_db::files::{File, system_path_to_file, vendored_path_to_file};
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::{System, SystemPath, SystemPathBuf};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::check::{self, Finding, StagedFunction};
use crate::config::Settings;
use crate::db::{Database, QueryListener};
use crate::project::{self, Document, Project};
use crate::staging::index::file_index;
use crate::staging::stubs::WithStubs;

pub use environment::{Environment, EnvironmentError};

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the import search paths cannot be used: {0}")]
    SearchPaths(String),
}

#[derive(Clone)]
pub struct Engine {
    db: Database,
    project: Project,
    /// The project's documents, ordered by path.
    documents: Arc<[Document]>,
    environment: Environment,
    /// Import roots are derived from the files, so the search paths are set when they are known.
    import_roots: Vec<SystemPathBuf>,
    memory: Arc<settle::Memory>,
}

impl Engine {
    /// An engine without files. `root` is what relative settings and module names count from.
    pub fn open(
        system: impl System + Clone + RefUnwindSafe + 'static,
        root: &SystemPath,
        settings: Settings,
        environment: Environment,
    ) -> Result<Self, EngineError> {
        Self::open_with_listener(system, root, settings, environment, None)
    }

    /// [`Self::open`], and be told of every query that is executed.
    pub fn open_with_listener(
        system: impl System + Clone + RefUnwindSafe + 'static,
        root: &SystemPath,
        settings: Settings,
        environment: Environment,
        listener: Option<QueryListener>,
    ) -> Result<Self, EngineError> {
        let db = Database::new(Arc::new(WithStubs::new(system)), listener);
        let project = Project::builder(root.to_path_buf(), Arc::new(settings), Arc::default());
        let project = project.durability(Durability::HIGH).new(&db);
        let mut engine = Self {
            db,
            project,
            documents: Arc::default(),
            environment,
            import_roots: Vec::new(),
            memory: Arc::default(),
        };
        engine.set_import_roots(&[])?;
        Ok(engine)
    }

    /// Adds files to be analysed. Unreadable ones become findings, not errors.
    pub fn add_files(&mut self, paths: impl IntoIterator<Item = SystemPathBuf>) -> Result<(), EngineError> {
        let paths: Vec<_> = paths.into_iter().collect();
        self.set_import_roots(&paths)?;
        let mut documents = FxHashMap::clone(self.project.documents(&self.db));
        for path in paths {
            let absolute = SystemPath::absolute(&path, self.db.system().current_directory());
            let Ok(file) = system_path_to_file(&self.db, &absolute) else { continue };
            documents.entry(file).or_insert_with(|| Document::of(&self.db, file));
        }
        self.set_documents(documents);
        Ok(())
    }

    fn set_documents(&mut self, documents: FxHashMap<File, Document>) {
        let mut ordered: Vec<_> = documents.values().copied().collect();
        ordered.sort_by_cached_key(|document| self.path(document.file(&self.db)));
        self.documents = ordered.into();
        self.project.set_documents(&mut self.db).to(Arc::new(documents));
    }

    /// Replaces the text of a file, as an editor or standard input has it.
    pub fn set_text(&mut self, path: &SystemPath, text: String) {
        let absolute = SystemPath::absolute(path, self.db.system().current_directory());
        let document = self.document(&absolute).unwrap_or_else(|| self.add_virtual(&absolute));
        let before = project::text(&self.db, document);
        let before = if before.read_error().is_some() { self.blank().unwrap_or(before) } else { before };
        self.set_source(document, before.with_text(text, &ruff_diagnostics::SourceMap::default()));
    }

    /// A text that was read without error, to make others of: an error would go on to them.
    fn blank(&self) -> Option<SourceText> {
        let bundled = vendored_path_to_file(&self.db, "stdlib/types.pyi").ok()?;
        Some(source_text(&self.db, bundled))
    }

    /// Replaces the text of a document by one made from [`Self::text`], so that a notebook keeps its cells.
    pub fn set_source(&mut self, document: Document, source: SourceText) {
        let file = document.file(&self.db);
        document.set_own_text(&mut self.db).with_durability(Durability::LOW).to(Some(source.clone()));
        file.set_source_text_override(&mut self.db).with_durability(Durability::LOW).to(Some(source));
    }

    /// A document that is not on disk.
    fn add_virtual(&mut self, path: &SystemPath) -> Document {
        let virtual_path = ruff_db::system::SystemVirtualPath::new(path.as_str());
        let file = self.db.files().virtual_file(&self.db, virtual_path).file();
        let mut documents = FxHashMap::clone(self.project.documents(&self.db));
        let document = *documents.entry(file).or_insert_with(|| Document::of(&self.db, file));
        self.set_documents(documents);
        document
    }

    fn set_import_roots(&mut self, files: &[SystemPathBuf]) -> Result<(), EngineError> {
        let settings = self.project.settings(&self.db).clone();
        let root = self.project.root(&self.db).clone();
        let roots = imports::roots(self.db.system(), &root, &settings, files, &self.import_roots);
        if roots == self.import_roots && !roots.is_empty() {
            return Ok(());
        }
        let program = imports::program(&self.db, &roots, &self.environment)
            .map_err(|error| EngineError::SearchPaths(error.to_string()))?;
        self.db.set_program(program);
        self.import_roots = roots;
        Ok(())
    }

    /// The documents, ordered by path.
    pub fn documents(&self) -> Vec<Document> {
        self.documents.to_vec()
    }

    pub fn document(&self, path: &SystemPath) -> Option<Document> {
        let absolute = SystemPath::absolute(path, self.db.system().current_directory());
        let file = system_path_to_file(&self.db, &absolute).ok();
        let file = file.or_else(|| {
            let path = ruff_db::system::SystemVirtualPath::new(absolute.as_str());
            self.db.files().try_virtual_file(path).map(|file| file.file())
        })?;
        self.project.documents(&self.db).get(&file).copied()
    }

    pub fn file(&self, document: Document) -> File {
        document.file(&self.db)
    }

    /// The path of a file, for people; that of a bundled model for library code.
    pub fn path(&self, file: File) -> SystemPathBuf {
        SystemPathBuf::from(file.path(&self.db).as_str())
    }

    /// The real text of a file.
    pub fn text(&self, file: File) -> SourceText {
        match self.project.documents(&self.db).get(&file) {
            Some(document) => project::text(&self.db, *document),
            None => source_text(&self.db, file),
        }
    }

    /// The file's part of the view that types are inferred from: for people who debug an assumption.
    pub fn ghost_view(&self, document: Document) -> SourceText {
        source_text(&self.db, document.file(&self.db))
    }

    /// All findings of a document by the settings, in source order.
    pub fn findings(&self, document: Document) -> Vec<Finding> {
        check::findings(&self.db, self.project.settings(&self.db), self.project.root(&self.db), document)
    }

    /// The staged functions of a document with all decisions.
    pub fn stages(&self, document: Document) -> Vec<StagedFunction> {
        check::stages(&self.db, document)
    }

    /// How many functions of the project are roots.
    pub fn root_count(&self) -> usize {
        self.documents()
            .iter()
            .flat_map(|document| document.stages(&self.db).values())
            .filter(|stage| stage.root.is_some())
            .count()
    }

    pub fn settings(&self) -> &Settings {
        self.project.settings(&self.db)
    }

    /// The database, for queries that this facade does not offer.
    pub fn db(&self) -> &Database {
        &self.db
    }

    /// How many scopes of all kinds the files have; for progress and statistics.
    pub fn function_count(&self) -> usize {
        self.documents()
            .iter()
            .map(|document| file_index(&self.db, *document).definitions.functions.len())
            .sum()
    }
}
