//! The engine of a project: computes findings and stages from files.
//!
//! An [`Engine`] owns the database. After files have been added, [`Engine::analyze`] runs the analysis, and queries
//! then use its results. A clone is a snapshot for another thread. It must be dropped before the next edit.

use std::panic::RefUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ag_db::finding::Finding;
use ag_db::{Database, Document, Project, QueryListener, text};
use ag_index::index::{file_index, while_keeping_tree};
use ag_rules::findings::{self, FileRules};
use ag_staging::analysis::{Completeness, Outcome, Run, RunCache};
use ag_staging::difference::Version;
use ag_staging::results::{self, stages_of};
use ag_staging::staged::{self, StagedFunction};
use ag_types::stubs::{self, WithStubs};
use ag_types::{Cancellation, Environment, Oracle};
use ruff_db::Db as _;
use ruff_db::files::{File, system_path_to_file};
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::{System, SystemPath, SystemPathBuf};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::config::Settings;
use crate::import_roots;

/// An error while opening an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the import search paths cannot be used: {0}")]
    SearchPaths(String),
}

#[derive(Clone)]
pub struct Engine {
    pub(crate) db: Database,
    pub(crate) project: Project,
    settings: Arc<Settings>,
    /// The project's documents, ordered by path.
    documents: Arc<[Document]>,
    environment: Environment,
    /// The documents whose text has changed since the last run, with their previous versions.
    pub(crate) edited: FxHashMap<Document, Version>,
    /// The state of runs, shared by all clones.
    pub(crate) state: Arc<Mutex<RunState>>,
    /// Cancels the run that was prepared last.
    cancellation: Cancellation,
}

/// State that is used only by runs of the analysis.
pub(crate) struct RunState {
    pub(crate) oracle: Oracle,
    pub(crate) cache: RunCache,
}

impl Engine {
    /// Returns an engine without files. Relative settings and module names are relative to `root`.
    pub fn open(
        system: impl System + Clone + RefUnwindSafe + 'static,
        root: &SystemPath,
        settings: Settings,
        environment: Environment,
    ) -> Result<Self, EngineError> {
        Self::open_with_listener(system, root, settings, environment, None)
    }

    /// Returns an engine without files. The listener is called for every query that is executed.
    pub fn open_with_listener(
        system: impl System + Clone + RefUnwindSafe + 'static,
        root: &SystemPath,
        settings: Settings,
        environment: Environment,
        listener: Option<QueryListener>,
    ) -> Result<Self, EngineError> {
        let db = Database::new(Arc::new(WithStubs::new(system)), listener);
        let project = Project::builder(root.to_path_buf(), Arc::default(), Arc::default());
        let project = project.durability(Durability::HIGH).new(&db);
        results::create(&db);
        let state = RunState { oracle: Oracle::new(db.shared_system()), cache: RunCache::default() };
        let mut engine = Self {
            db,
            project,
            settings: Arc::new(settings),
            documents: Arc::default(),
            environment,
            edited: FxHashMap::default(),
            state: Arc::new(Mutex::new(state)),
            cancellation: Cancellation::default(),
        };
        if engine.settings.isolated {
            engine.lock().oracle.isolate();
        }
        engine.set_import_roots(&[])?;
        Ok(engine)
    }

    /// Runs the analysis after texts have been set. `progress` is called from any thread, with the number of files
    /// indexed so far and the number of all files.
    pub fn analyze(&mut self, progress: &(dyn Fn(usize, usize) + Sync)) {
        let outcome = self.prepare_run().run(Completeness::Complete, progress);
        self.publish(outcome);
    }

    /// Returns a snapshot for [`Self::run`] on another thread. The next edit of this engine cancels the run, and waits
    /// until the snapshot is dropped.
    pub fn prepare_run(&mut self) -> Self {
        self.cancellation = Cancellation::default();
        self.clone()
    }

    /// Runs the analysis without publishing its outcome. Unwinds with [`ag_db::Cancelled`] if it is cancelled.
    pub fn run(self, completeness: Completeness, progress: &(dyn Fn(usize, usize) + Sync)) -> Outcome {
        let mut state = self.lock();
        let RunState { oracle, cache } = &mut *state;
        oracle.set_cancellation(self.cancellation.clone());
        let run = Run {
            db: &self.db,
            oracle,
            documents: &self.documents,
            edited: &self.edited,
            options: self.settings.staging(),
            completeness,
            progress,
        };
        run.analyze(cache)
    }

    /// Publishes the outcome of a run on the current texts, so that later queries use it. Cancels computations on
    /// snapshots.
    pub fn publish(&mut self, outcome: Outcome) {
        let state = Arc::clone(&self.state);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.publish(&mut self.db, &mut state.cache);
        self.edited.clear();
    }

    /// Returns whether the results equal those of a run from scratch. After a quick run, they may differ.
    pub fn is_complete(&self) -> bool {
        self.lock().cache.is_complete()
    }

    /// Returns the number of steps in which the value flow was solved.
    pub fn value_flow_steps(&self) -> usize {
        self.lock().cache.value_flow_steps()
    }

    /// Locks the state of runs. If a run panicked, the state is unchanged, because a run replaces it only at its end.
    pub(crate) fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds files to be analyzed. An unreadable file is reported as a finding, and not as an error.
    pub fn add_files(&mut self, paths: impl IntoIterator<Item = SystemPathBuf>) -> Result<(), EngineError> {
        self.cancel_run();
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

    pub(crate) fn set_documents(&mut self, documents: FxHashMap<File, Document>) {
        self.cancel_run();
        let mut ordered: Vec<_> = documents.values().copied().collect();
        ordered.sort_by_cached_key(|document| path_order(&self.path(document.file(&self.db))));
        self.documents = ordered.into();
        self.project.set_documents(&mut self.db).to(Arc::new(documents));
    }

    /// Replaces the text of a file by text from an editor or from standard input.
    pub fn set_text(&mut self, path: &SystemPath, text: String) {
        let absolute = SystemPath::absolute(path, self.db.system().current_directory());
        let document = self.document(&absolute).unwrap_or_else(|| self.add_virtual(&absolute));
        let before = ag_db::text(&self.db, document);
        let before = if before.read_error().is_some() { self.blank().unwrap_or(before) } else { before };
        self.set_source(document, before.with_text(text, &ruff_diagnostics::SourceMap::default()));
    }

    /// Returns a source without a read error; the caller replaces its text. A source that is derived from one with a
    /// read error would keep the error.
    pub(crate) fn blank(&self) -> Option<SourceText> {
        let model = system_path_to_file(&self.db, stubs::builtins()).ok()?;
        Some(source_text(&self.db, model))
    }

    /// Replaces the source of a document by one derived from [`Self::text`], so that a notebook keeps its cells.
    pub fn set_source(&mut self, document: Document, source: SourceText) {
        self.cancel_run();
        self.keep_version(document);
        let file = document.file(&self.db);
        file.set_source_text_override(&mut self.db).with_durability(Durability::LOW).to(Some(source));
    }

    /// Cancels a run on a snapshot, and all computations on snapshots. Must be called before an edit, because the edit
    /// waits until the snapshots are dropped.
    pub fn cancel_run(&mut self) {
        self.cancellation.cancel();
        salsa::Database::trigger_cancellation(&mut self.db);
    }

    /// Keeps the version of a document that the last run analyzed. Must be called before the text changes.
    pub(crate) fn keep_version(&mut self, document: Document) {
        let db = &self.db;
        self.edited.entry(document).or_insert_with(|| Version::current(db, document));
    }

    /// Returns a document that is not on disk.
    pub(crate) fn add_virtual(&mut self, path: &SystemPath) -> Document {
        let virtual_path = ruff_db::system::SystemVirtualPath::new(path.as_str());
        let file = self.db.files().virtual_file(&self.db, virtual_path).file();
        let mut documents = FxHashMap::clone(self.project.documents(&self.db));
        let document = *documents.entry(file).or_insert_with(|| Document::of(&self.db, file));
        self.set_documents(documents);
        document
    }

    fn set_import_roots(&mut self, files: &[SystemPathBuf]) -> Result<(), EngineError> {
        let known = self.project.import_roots(&self.db);
        let root = self.project.root(&self.db);
        let roots = import_roots::of(self.db.system(), root, &self.settings, files, known);
        if roots == **known && !roots.is_empty() {
            return Ok(());
        }
        self.lock()
            .oracle
            .set_search_paths(&roots, &self.environment)
            .map_err(|error| EngineError::SearchPaths(error.to_string()))?;
        self.project.set_import_roots(&mut self.db).with_durability(Durability::HIGH).to(roots.into());
        Ok(())
    }

    /// Returns the documents, ordered by path.
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

    /// Returns the path of a file for display. For a library that has a bundled model, this is the path of the model.
    pub fn path(&self, file: File) -> SystemPathBuf {
        SystemPathBuf::from(file.path(&self.db).as_str())
    }

    /// Returns the text of a file.
    pub fn text(&self, file: File) -> SourceText {
        source_text(&self.db, file)
    }

    /// Returns the annotated source of a document, for debugging assumptions.
    pub fn annotated(&self, document: Document) -> SourceText {
        self.lock().oracle.annotated(document).unwrap_or_else(|| text(&self.db, document))
    }

    /// Returns the findings of a document under the settings, in source order.
    pub fn findings(&self, document: Document) -> Vec<Finding> {
        let file = self.path(document.file(&self.db));
        let path = file.strip_prefix(self.project.root(&self.db)).unwrap_or(&file);
        let rules = FileRules { project: &self.settings.rules, file: &self.settings.rules_for(path) };
        findings::findings(&self.db, &rules, document)
    }

    /// Indexes a document, and computes the findings about it as a whole. The document is parsed only once for both.
    pub fn check_whole(&self, document: Document) {
        while_keeping_tree(|| {
            file_index(&self.db, document);
            ag_rules::run::file_diagnostics(&self.db, document);
        });
    }

    /// Returns the staged functions of a document with their decisions.
    pub fn stages(&self, document: Document) -> Vec<StagedFunction> {
        staged::stages(&self.db, document)
    }

    /// Returns the number of roots in the project.
    pub fn root_count(&self) -> usize {
        self.documents()
            .iter()
            .flat_map(|document| stages_of(&self.db, *document).values())
            .filter(|stage| stage.root.is_some())
            .count()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the database, for queries that this facade does not offer.
    pub fn db(&self) -> &Database {
        &self.db
    }

    /// Returns the number of functions in all files, for progress and statistics.
    pub fn function_count(&self) -> usize {
        self.documents()
            .iter()
            .map(|document| file_index(&self.db, *document).definitions.functions.len())
            .sum()
    }
}

/// Returns a sort key for paths. Comparing keys gives the same order as comparing paths part by part, in a tenth of the
/// time.
pub fn path_order(path: &SystemPath) -> String {
    path.as_str().replace(std::path::is_separator, "\0")
}
