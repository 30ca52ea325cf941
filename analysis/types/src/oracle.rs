//! The type oracle: annotates documents with assumed types, and infers the types of their functions.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ag_db::{Document, SharedSystem};
use ag_index::answers::ScopeTypes;
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::oracle::{Assumption, Question, Scope, Source, TypeOracle};
use rayon::prelude::*;
use ruff_db::files::{File, FilePath, system_path_to_file, vendored_path_to_file};
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::SystemPathBuf;
use ruff_index::IndexVec;
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};
use std::collections::BTreeMap;

use crate::annotate::{self, Asked};
use crate::database::Database;
use crate::dependency_slice::DependencySlice;
use crate::environment::Environment;
use crate::{imports, inference};

/// The number of annotated texts cached per document. Its assumptions differ between the rounds of a run.
const MAX_CACHED: usize = 12;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SearchPathsError(#[from] ty_module_resolver::SearchPathSettingsError);

/// ty, with the documents of a project.
pub struct Oracle {
    db: Database,
    workspace: Arc<Workspace>,
    import_roots: Vec<SystemPathBuf>,
    cached: FxHashMap<Document, Vec<AnnotatedSource>>,
}

/// The documents, and their files in ty's database.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) sources: IndexVec<DocumentIndex, Source>,
    /// The files of `sources`; `None` for a document that is neither on disk nor in an editor.
    files: IndexVec<DocumentIndex, Option<File>>,
    positions: FxHashMap<File, DocumentIndex>,
}

/// Annotated source, and the inputs that it was generated from.
struct AnnotatedSource {
    source: Source,
    assumed: BTreeMap<Code, Assumption>,
    /// The code whose body it contains, sorted.
    asked: Vec<Code>,
    text: SourceText,
}

impl Workspace {
    pub(crate) fn source(&self, document: DocumentIndex) -> Option<&Source> {
        self.sources.get(document)
    }

    pub(crate) fn file(&self, document: DocumentIndex) -> Option<File> {
        self.files.get(document).copied().flatten()
    }

    /// The document of a file; `None` for the file of a library.
    pub(crate) fn document_of(&self, file: File) -> Option<DocumentIndex> {
        self.positions.get(&file).copied()
    }
}

impl Oracle {
    /// An oracle without documents. The file system must contain the models of libraries ([`crate::stubs`]).
    pub fn new(system: SharedSystem) -> Self {
        Self {
            db: Database::new(system),
            workspace: Arc::default(),
            import_roots: Vec::new(),
            cached: FxHashMap::default(),
        }
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
        Ok(())
    }

    /// The text that types are inferred from, for debugging an assumption.
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

    /// Sets the text of every document in ty's database to its annotated source under the question's assumptions.
    /// It contains the bodies of the queried functions, and the other code that their types may depend on.
    fn annotate(&mut self, question: &Question<'_>) {
        let workspace = Arc::clone(&self.workspace);
        let slice = if question.acyclic { dependency_slice(&workspace, question) } else { None };
        let mut scopes = question.scopes;
        for (position, source) in workspace.sources.iter_enumerated() {
            let here = scopes.iter().take_while(|scope| scope.document == position).count();
            let (asked, rest) = scopes.split_at(here);
            scopes = rest;
            let Some(file) = workspace.file(position) else { continue };
            let assumed = question.assumptions.get(&position);
            let is_plain = assumed.is_none() && !source.index.too_deep && !source.edited;
            if is_plain && file.source_text_override(&self.db).is_none() {
                continue;
            }
            let annotated = match assumed {
                _ if source.index.too_deep => with_text(&self.base(source), String::new()),
                None => source.text.clone(),
                Some(assumed) => match &slice {
                    Some((document, slice)) if *document == position => {
                        self.annotated_source(source, file, assumed, &Asked::Slice(slice))
                    }
                    _ => self.cached_source(source, file, assumed, asked),
                },
            };
            let shown = source_text(&self.db, file);
            if !std::ptr::eq(shown.as_str(), annotated.as_str()) && shown.as_str() != annotated.as_str() {
                let durability = if source.edited { Durability::LOW } else { Durability::MEDIUM };
                file.set_source_text_override(&mut self.db).with_durability(durability).to(Some(annotated));
            }
        }
    }

    fn cached_source(
        &mut self,
        source: &Source,
        file: File,
        assumed: &BTreeMap<Code, Assumption>,
        asked: &[Scope],
    ) -> SourceText {
        let cached = self.cached.entry(source.document).or_default();
        cached.retain(|annotated| Arc::ptr_eq(&annotated.source.index, &source.index));
        let has = |annotated: &AnnotatedSource| {
            asked.iter().all(|scope| annotated.asked.binary_search(&scope.code).is_ok())
                && annotated.assumed == *assumed
        };
        if let Some(at) = cached.iter().position(has) {
            let annotated = cached.remove(at);
            let text = annotated.text.clone();
            cached.push(annotated);
            return text;
        }
        let asked: Vec<Code> = asked.iter().map(|scope| scope.code).collect();
        let text = self.annotated_source(
            source,
            file,
            assumed,
            &Asked::Functions(&|function| asked.binary_search(&Code::Function(function)).is_ok()),
        );
        let cached = self.cached.entry(source.document).or_default();
        if cached.len() >= MAX_CACHED {
            cached.remove(0);
        }
        cached.push(AnnotatedSource {
            source: source.clone(),
            assumed: assumed.clone(),
            asked,
            text: text.clone(),
        });
        text
    }

    fn annotated_source(
        &self,
        source: &Source,
        file: File,
        assumed: &BTreeMap<Code, Assumption>,
        asked: &Asked<'_>,
    ) -> SourceText {
        let module = inference::module_key(&self.db, file);
        let text = annotate::annotated_source(source.text.as_str(), &source.index, &module, assumed, asked);
        with_text(&self.base(source), text)
    }

    /// A source without notebook cells or read error, from which annotated source is derived. Its offsets differ
    /// from those of the notebook's cells.
    fn base(&self, source: &Source) -> SourceText {
        if !source.text.is_notebook() && source.text.read_error().is_none() {
            return source.text.clone();
        }
        match vendored_path_to_file(&self.db, "stdlib/types.pyi") {
            Ok(bundled) => source_text(&self.db, bundled),
            Err(_) => source.text.clone(),
        }
    }

    /// The top-level packages and modules of the project's own files, sorted.
    fn packages(&self) -> Vec<String> {
        let first = |source: &Source| {
            let path = source.path.as_system_path()?;
            let relative = self.import_roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
            let first = relative.components().next()?;
            Some(first.as_str().trim_end_matches(".py").to_owned())
        };
        let mut packages: Vec<String> = self.workspace.sources.iter().filter_map(first).collect();
        packages.retain(|package| package.chars().all(|c| c.is_alphanumeric() || c == '_'));
        packages.sort_unstable();
        packages.dedup();
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
        self.workspace = Arc::new(Workspace { sources, files, positions });
    }

    fn restrict(&mut self, documents: Option<&[DocumentIndex]>) {
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

    fn ask(&mut self, question: &Question<'_>) -> Vec<Arc<ScopeTypes>> {
        self.annotate(question);
        let workspace = &*self.workspace;
        let types = |db: &mut Database, scope: &Scope| Arc::new(types_or_none(db, workspace, *scope));
        question.scopes.par_iter().map_with(self.db.clone(), types).collect()
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

/// The document of a question's scopes, and their dependency slice.
fn dependency_slice(
    workspace: &Workspace,
    question: &Question<'_>,
) -> Option<(DocumentIndex, DependencySlice)> {
    let document = question.scopes.first()?.document;
    let source = workspace.source(document)?;
    let functions: Vec<FunctionIndex> =
        question.scopes.iter().filter_map(|scope| scope.code.function()).collect();
    debug_assert!(
        question.scopes.iter().all(|scope| scope.document == document && scope.code != Code::Module)
    );
    let assumed = question.assumptions.get(&document)?;
    Some((document, DependencySlice::of(&functions, source.text.as_str(), &source.index, assumed)))
}

fn with_text(source: &SourceText, text: String) -> SourceText {
    source.with_text(text, &ruff_diagnostics::SourceMap::default())
}

/// The types of a scope. Without types where ty panics, so that a bug of ty costs one function its types and not
/// the project its findings. The panic hook has reported the message.
fn types_or_none(db: &Database, workspace: &Workspace, scope: Scope) -> ScopeTypes {
    let types = || inference::types(db, workspace, scope);
    std::panic::catch_unwind(AssertUnwindSafe(types)).unwrap_or_else(|payload| {
        match payload.downcast_ref::<salsa::Cancelled>() {
            // Another thread panicked in a query that this one waited for.
            None | Some(salsa::Cancelled::PropagatedPanic) => ScopeTypes::default(),
            Some(_) => std::panic::resume_unwind(payload),
        }
    })
}
