//! The type oracle: annotates documents with assumed types, and infers the types of their functions.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ag_db::{Document, SharedSystem};
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::FileIndex;
use ag_index::oracle::{Answer, Assumption, Question, Scope, Source, TypeOracle};
use rayon::prelude::*;
use ruff_db::files::{File, FilePath, system_path_to_file, vendored_path_to_file};
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::SystemPathBuf;
use ruff_index::IndexVec;
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};
use std::collections::{BTreeMap, BTreeSet};

use crate::annotate::{self, Queried};
use crate::cancellation::{Cancellable, Cancellation};
use crate::database::Database;
use crate::dependency_slice::DependencySlice;
use crate::environment::Environment;
use crate::{imports, inference};

/// The maximum number of annotated texts cached for each document. Each round of a run has other assumptions.
const MAX_CACHED: usize = 12;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SearchPathsError(#[from] ty_module_resolver::SearchPathSettingsError);

/// ty, with the documents of a project.
pub struct Oracle {
    db: Database,
    workspace: Arc<Workspace>,
    import_roots: Vec<SystemPathBuf>,
    restriction: Restriction,
    /// Whether imports from other files of the project have unknown types, even if these files are not documents.
    is_isolated: bool,
    cancellation: Cancellation,
    cached: FxHashMap<Document, Vec<AnnotatedSource>>,
    /// The documents whose text in ty's database may differ from that on disk.
    replaced: BTreeSet<DocumentIndex>,
}

/// The documents to which inference is limited.
enum Restriction {
    /// The restriction must be set again: the documents or the search paths have changed.
    Outdated,
    Everything,
    Documents(Vec<DocumentIndex>),
}

/// The documents, and their files in ty's database.
#[derive(Clone, Default)]
pub(crate) struct Workspace {
    pub(crate) sources: IndexVec<DocumentIndex, Source>,
    /// The files of `sources`; `None` for a document that is neither on disk nor in an editor.
    files: IndexVec<DocumentIndex, Option<File>>,
    positions: FxHashMap<File, DocumentIndex>,
}

/// Annotated source, and the inputs that it was generated from.
struct AnnotatedSource {
    index: Arc<FileIndex>,
    assumed: BTreeMap<Code, Assumption>,
    /// The functions (or module code) whose bodies `text` contains, sorted.
    queried: Vec<Code>,
    text: SourceText,
}

impl Workspace {
    pub(crate) fn source(&self, document: DocumentIndex) -> Option<&Source> {
        self.sources.get(document)
    }

    pub(crate) fn file(&self, document: DocumentIndex) -> Option<File> {
        self.files.get(document).copied().flatten()
    }

    /// Returns the files of all documents.
    pub(crate) fn files(&self) -> impl Iterator<Item = File> {
        self.files.iter().filter_map(|file| *file)
    }

    /// Returns a document by its identity; `near` is a likely position.
    pub(crate) fn find(&self, document: Document, near: DocumentIndex) -> Option<(DocumentIndex, &Source)> {
        let is_it = |source: &Source| source.document == document;
        match self.sources.get(near).filter(|source| is_it(source)) {
            Some(source) => Some((near, source)),
            None => self.sources.iter_enumerated().find(|(_, source)| is_it(source)),
        }
    }

    /// Returns the document of a file; `None` for the file of a library.
    pub(crate) fn document_of(&self, file: File) -> Option<DocumentIndex> {
        self.positions.get(&file).copied()
    }
}

impl Oracle {
    /// Returns an oracle without documents. The file system must contain the models of libraries ([`crate::stubs`]).
    pub fn new(system: SharedSystem) -> Self {
        Self {
            db: Database::new(system),
            workspace: Arc::default(),
            import_roots: Vec::new(),
            restriction: Restriction::Outdated,
            is_isolated: false,
            cancellation: Cancellation::default(),
            cached: FxHashMap::default(),
            replaced: BTreeSet::new(),
        }
    }

    /// Treats all files of the project that are not documents as unknown, also in [`TypeOracle::restrict`].
    pub fn isolate(&mut self) {
        self.is_isolated = true;
    }

    /// Sets the cancellation of all later questions.
    pub fn set_cancellation(&mut self, cancellation: Cancellation) {
        self.cancellation = cancellation;
    }

    /// Sets the search paths of imports: the project's own roots, models of libraries, installed packages.
    pub fn set_search_paths(
        &mut self,
        roots: &[SystemPathBuf],
        environment: &Environment,
    ) -> Result<(), SearchPathsError> {
        let program = imports::program(&self.db, roots, environment)?;
        self.db.set_program(program);
        self.import_roots = roots.to_vec();
        self.restriction = Restriction::Outdated;
        Ok(())
    }

    /// Returns the text from which types are inferred, for debugging an assumption.
    pub fn annotated(&self, document: Document) -> Option<SourceText> {
        let position = self.workspace.sources.iter().position(|source| source.document == document)?;
        Some(source_text(&self.db, self.workspace.file(position.into())?))
    }

    fn file_of(&self, path: &FilePath) -> Option<File> {
        match path {
            FilePath::System(path) => system_path_to_file(&self.db, path).ok(),
            FilePath::SystemVirtual(path) => {
                use ruff_db::Db as _;
                Some(self.db.files().virtual_file(&self.db, path).file())
            }
            FilePath::Vendored(_) => None,
        }
    }

    /// Replaces the text of every document in ty's database by its annotated source under the question's assumptions.
    /// Annotated source contains the bodies of the queried functions, and the other code on which their types may
    /// depend.
    fn annotate(&mut self, question: &Question<'_>) {
        let workspace = Arc::clone(&self.workspace);
        let slice = if question.acyclic { dependency_slice(&workspace, question) } else { None };
        self.replaced.extend(question.assumptions.keys());
        for position in self.replaced.iter().copied().collect::<Vec<_>>() {
            let (Some(source), Some(file)) = (workspace.source(position), workspace.file(position)) else {
                continue;
            };
            let wanted = self.wanted_text(question, slice.as_ref(), position, source, file);
            let shown = file.source_text_override(&self.db);
            let is_same = match (shown, &wanted) {
                (Some(shown), Some(wanted)) => shown.as_str() == wanted.as_str(),
                (None, Some(wanted)) => source_text(&self.db, file).as_str() == wanted.as_str(),
                (shown, None) => shown.is_none(),
            };
            if !is_same {
                let durability = if source.edited.is_some() { Durability::LOW } else { Durability::MEDIUM };
                file.set_source_text_override(&mut self.db).with_durability(durability).to(wanted);
            }
        }
    }

    /// Returns the text that a document should have in ty's database; `None` for the text on disk.
    fn wanted_text(
        &mut self,
        question: &Question<'_>,
        slice: Option<&(DocumentIndex, DependencySlice)>,
        position: DocumentIndex,
        source: &Source,
        file: File,
    ) -> Option<SourceText> {
        if source.index.too_deep {
            return Some(with_text(&self.bundled()?, String::new()));
        }
        let methods = in_document(question.methods, position);
        let user = source.edited.as_ref().or_else(|| question.texts.get(&position))?;
        let none = BTreeMap::new();
        let assumed = match question.assumptions.get(&position) {
            None if methods.is_empty() => return Some(user.clone()),
            assumed => assumed.unwrap_or(&none),
        };
        if let Some((_, slice)) = slice.filter(|(document, _)| *document == position) {
            return Some(self.annotated_source(source, user, file, assumed, &Queried::Slice(slice), methods));
        }
        let queried: Vec<Code> =
            in_document(question.scopes, position).iter().map(|scope| scope.code).collect();
        if methods.is_empty() {
            return Some(self.cached_source(source, user, file, assumed, queried));
        }
        let is_queried = |function| queried.binary_search(&Code::Function(function)).is_ok();
        Some(self.annotated_source(source, user, file, assumed, &Queried::Functions(&is_queried), methods))
    }

    fn cached_source(
        &mut self,
        source: &Source,
        user: &SourceText,
        file: File,
        assumed: &BTreeMap<Code, Assumption>,
        queried: Vec<Code>,
    ) -> SourceText {
        let cached = self.cached.entry(source.document).or_default();
        cached.retain(|annotated| Arc::ptr_eq(&annotated.index, &source.index));
        let has = |annotated: &AnnotatedSource| {
            queried.iter().all(|code| annotated.queried.binary_search(code).is_ok())
                && annotated.assumed == *assumed
        };
        if let Some(at) = cached.iter().position(has) {
            let annotated = cached.remove(at);
            let text = annotated.text.clone();
            cached.push(annotated);
            return text;
        }
        let is_queried = |function| queried.binary_search(&Code::Function(function)).is_ok();
        let text = self.annotated_source(source, user, file, assumed, &Queried::Functions(&is_queried), &[]);
        let cached = self.cached.entry(source.document).or_default();
        if cached.len() >= MAX_CACHED {
            cached.remove(0);
        }
        cached.push(AnnotatedSource {
            index: Arc::clone(&source.index),
            assumed: assumed.clone(),
            queried,
            text: text.clone(),
        });
        text
    }

    fn annotated_source(
        &self,
        source: &Source,
        user: &SourceText,
        file: File,
        assumed: &BTreeMap<Code, Assumption>,
        queried: &Queried<'_>,
        methods: &[Scope],
    ) -> SourceText {
        let module = inference::module_key(&self.db, file);
        let methods: Vec<FunctionIndex> =
            methods.iter().filter_map(|method| method.code.function()).collect();
        let text =
            annotate::annotated_source(user.as_str(), &source.index, &module, assumed, queried, &methods);
        with_text(&self.base(user), text)
    }

    /// Returns `text` without notebook cells and read errors, as the basis of annotated source. Its offsets differ from
    /// those in the notebook's cells.
    fn base(&self, text: &SourceText) -> SourceText {
        let is_plain = !text.is_notebook() && text.read_error().is_none();
        let bundled = if is_plain { None } else { self.bundled() };
        bundled.unwrap_or_else(|| text.clone())
    }

    /// Returns a source that is neither a notebook nor unreadable. It is a file of typeshed, whose text the caller
    /// replaces.
    fn bundled(&self) -> Option<SourceText> {
        let file = vendored_path_to_file(&self.db, "stdlib/types.pyi").ok()?;
        Some(source_text(&self.db, file))
    }

    /// Returns the top-level packages and modules of the project's own files, sorted. Names that typeshed also has,
    /// such as `typing_extensions`, are not included, because the builtins of typeshed import them.
    fn packages(&self) -> Vec<String> {
        let first = |source: &Source| {
            let path = source.path.as_system_path()?;
            let relative = self.import_roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
            let first = relative.components().next()?;
            Some(first.as_str().trim_end_matches(".py").to_owned())
        };
        let mut packages: Vec<String> = self.workspace.sources.iter().filter_map(first).collect();
        if self.is_isolated {
            use ruff_db::Db as _;
            let entries =
                self.import_roots.iter().filter_map(|root| self.db.system().read_directory(root).ok());
            let names =
                entries.flatten().flatten().filter_map(|entry| Some(entry.path().file_name()?.to_owned()));
            packages.extend(names.map(|name| name.trim_end_matches(".py").to_owned()));
        }
        packages.retain(|package| package.chars().all(|c| c.is_alphanumeric() || c == '_'));
        packages.sort_unstable();
        packages.dedup();
        packages.retain(|package| {
            let is_bundled = |path: String| vendored_path_to_file(&self.db, path.as_str()).is_ok();
            !is_bundled(format!("stdlib/{package}.pyi"))
                && !is_bundled(format!("stdlib/{package}/__init__.pyi"))
        });
        packages
    }
}

impl TypeOracle for Oracle {
    fn set_sources(&mut self, sources: IndexVec<DocumentIndex, Source>) {
        let before: FxHashMap<Document, Option<File>> = self
            .workspace
            .sources
            .iter()
            .map(|source| source.document)
            .zip(self.workspace.files.iter().copied())
            .collect();
        let files: IndexVec<DocumentIndex, Option<File>> = sources
            .iter()
            .map(|source| {
                before.get(&source.document).copied().flatten().or_else(|| self.file_of(&source.path))
            })
            .collect();
        let positions =
            files.iter_enumerated().filter_map(|(position, file)| Some(((*file)?, position))).collect();
        if sources.len() < before.len() {
            let kept: rustc_hash::FxHashSet<Document> =
                sources.iter().map(|source| source.document).collect();
            self.cached.retain(|document, _| kept.contains(document));
        }
        let order = |source: &Source| source.document;
        if !sources.iter().map(order).eq(self.workspace.sources.iter().map(order)) {
            self.restriction = Restriction::Outdated;
        }
        let is_replaced = |(source, file): (&Source, &Option<File>)| {
            source.edited.is_some()
                || source.index.too_deep
                || file.is_some_and(|file| file.source_text_override(&self.db).is_some())
        };
        let flags = sources.iter().zip(&files).map(is_replaced);
        self.replaced =
            sources.indices().zip(flags).filter_map(|(position, is)| is.then_some(position)).collect();
        self.workspace = Arc::new(Workspace { sources, files, positions });
    }

    fn set_source(&mut self, document: DocumentIndex, source: Source) {
        if source.edited.is_some() || source.index.too_deep {
            self.replaced.insert(document);
        }
        if let Some(known) = Arc::make_mut(&mut self.workspace).sources.get_mut(document) {
            *known = source;
        }
    }

    fn restrict(&mut self, documents: Option<&[DocumentIndex]>) {
        let is_same = match (&self.restriction, documents) {
            (Restriction::Outdated, _) => false,
            (Restriction::Everything, wanted) => wanted.is_none(),
            (Restriction::Documents(known), wanted) => wanted == Some(known),
        };
        if is_same {
            return;
        }
        self.restriction = match documents {
            Some(documents) => Restriction::Documents(documents.to_vec()),
            None => Restriction::Everything,
        };
        let documents = documents.unwrap_or_default().iter();
        let files = documents.filter_map(|position| self.workspace.file(*position));
        let mut near: Vec<String> = files
            .filter_map(|file| inference::module_name(&self.db, file))
            .map(|module| format!("!{module}"))
            .collect();
        near.sort_unstable();
        near.dedup();
        let far = if near.is_empty() { Vec::new() } else { self.packages() };
        let patterns = far.into_iter().map(|package| format!("{package}.**"));
        self.db.replace_imports_with_any(patterns.chain(near));
    }

    fn ask(&mut self, question: &Question<'_>) -> Answer {
        self.annotate(question);
        let workspace = &*self.workspace;
        let clone = || Cancellable::new(&self.db, &self.cancellation);
        let types = |clone: &mut Cancellable, scope: &Scope| {
            Arc::new(or_none(|| inference::types(&clone.db, workspace, *scope)))
        };
        let types = question.scopes.par_iter().map_with(clone(), types).collect();
        let attributes = |clone: &mut Cancellable, method: &Scope| {
            or_none(|| inference::attributes(&clone.db, workspace, *method))
        };
        let attributes = question.methods.par_iter().map_with(clone(), attributes).collect();
        Answer { types, attributes }
    }

    fn sync(&mut self, path: &FilePath) {
        if let Some(path) = path.as_system_path() {
            File::sync_path(&mut self.db, path);
        }
        if let FilePath::SystemVirtual(path) = path {
            use ruff_db::Db as _;
            if let Some(file) = self.db.files().try_virtual_file(path) {
                file.close(&mut self.db);
            }
        }
    }
}

/// Returns the document that contains the question's scopes, and their dependency slice.
fn dependency_slice(
    workspace: &Workspace,
    question: &Question<'_>,
) -> Option<(DocumentIndex, DependencySlice)> {
    let queried = || question.scopes.iter().chain(question.methods);
    let document = queried().next()?.document;
    let source = workspace.source(document)?;
    debug_assert!(queried().all(|scope| scope.document == document && scope.code != Code::Module));
    let functions: Vec<FunctionIndex> = queried().filter_map(|scope| scope.code.function()).collect();
    let text = source.edited.as_ref().or_else(|| question.texts.get(&document))?;
    let none = BTreeMap::new();
    let assumed = question.assumptions.get(&document).unwrap_or(&none);
    Some((document, DependencySlice::of(&functions, text.as_str(), &source.index, assumed)))
}

fn with_text(source: &SourceText, text: String) -> SourceText {
    source.with_text(text, &ruff_diagnostics::SourceMap::default())
}

/// Returns the scopes in one document.
fn in_document(scopes: &[Scope], document: DocumentIndex) -> &[Scope] {
    let start = scopes.partition_point(|scope| scope.document < document);
    let end = scopes.partition_point(|scope| scope.document <= document);
    scopes.get(start..end).unwrap_or_default()
}

/// Returns the result of `infer`; empty if ty panics, so that a bug in ty affects the types of only one function. The
/// panic hook has then reported the message.
fn or_none<T: Default>(infer: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(AssertUnwindSafe(infer)).unwrap_or_else(|payload| {
        match payload.downcast_ref::<salsa::Cancelled>() {
            // Another thread panicked in a query that this one waited for.
            None | Some(salsa::Cancelled::PropagatedPanic) => T::default(),
            Some(_) => std::panic::resume_unwind(payload),
        }
    })
}
