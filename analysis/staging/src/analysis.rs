//! A run of the analysis: index all documents, find the roots, and iterate assumptions and types to a fixpoint.
//!
//! The result of a run is a function of texts and options alone. A run may reuse the answers of the previous
//! run ([`RunCache`]): under equal assumptions, a scope that no edit has changed ([`crate::difference`]) has
//! the same types.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ag_db::{Database, Document, text};
use ag_index::answers::ScopeTypes;
use ag_index::ids::{Code, DocumentIndex};
use ag_index::index::{FileIndex, FunctionId, file_index, function_ast, tree};
use ag_index::oracle::{Assumptions, Question, Scope, Source, TypeOracle};
use ag_index::place::Place;
use ag_syntax::expressions;
use rayon::prelude::*;
use ruff_db::source::SourceText;
use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::difference::{self, Version};
use crate::fixpoint::{Answers, Fixpoint};
use crate::import_cycles;
use crate::options::StagingOptions;
use crate::results::Results;
use crate::stages;

/// The state that the next run may reuse.
#[derive(Default)]
pub struct RunCache {
    /// Each document with its text and index in this run.
    documents: Vec<(Document, SourceText, Arc<FileIndex>)>,
    /// The documents that the oracle was restricted to.
    restricted: Option<Vec<DocumentIndex>>,
    rounds: Vec<Round>,
}

/// The answers under one set of assumptions.
#[derive(Default)]
struct Round {
    assumptions: Assumptions,
    answers: Answers,
}

/// A run over the documents of a database.
pub struct Run<'a> {
    pub db: &'a Database,
    pub oracle: &'a mut dyn TypeOracle,
    pub documents: &'a IndexSlice<DocumentIndex, Document>,
    pub options: StagingOptions,
    /// Called from any thread with the number of documents indexed so far.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Run<'_> {
    /// Runs to the fixpoint. Returns the results and the cache for the next run.
    pub fn analyze(mut self, cache: &RunCache) -> (Results, RunCache) {
        self.index();
        let edited = self.edited(cache);
        let mut fixpoint = Fixpoint::new(self.db, self.documents.to_owned(), self.options.clone());
        let restricted = self.restriction(&fixpoint);
        self.oracle.set_sources(self.sources());
        self.oracle.restrict(restricted.as_deref());
        let (known, edited) = match edited {
            Some(edited) if restricted == cache.restricted => (cache.rounds.as_slice(), edited),
            _ => (&[][..], FxHashSet::default()),
        };
        let mut rounds = Vec::new();
        let answers = loop {
            let last = rounds.len() >= fixpoint.limits.rounds;
            let round = self.round(&fixpoint, known, &edited, last);
            let is_stable = last || fixpoint.is_idle() || !fixpoint.absorb(self.db, &round.answers);
            rounds.push(round);
            if is_stable {
                break rounds.last().map(|round| round.answers.clone()).unwrap_or_default();
            }
        };
        let results =
            Results { stages: stages::of_documents(self.db, &fixpoint, self.documents, &answers), answers };
        let documents = self.documents.iter().map(|document| {
            (*document, text(self.db, *document), Arc::clone(file_index(self.db, *document)))
        });
        let cache = RunCache { documents: documents.collect(), restricted, rounds };
        (results, cache)
    }

    /// Indexes all documents, on all threads.
    fn index(&self) {
        let total = self.documents.len();
        let done = AtomicUsize::new(0);
        self.documents.raw.par_iter().for_each_with(self.db.clone(), |db, document| {
            file_index(db, *document);
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        });
    }

    fn sources(&self) -> IndexVec<DocumentIndex, Source> {
        let source = |document: &Document| {
            let file = document.file(self.db);
            Source {
                document: *document,
                path: file.path(self.db).clone(),
                text: text(self.db, *document),
                index: Arc::clone(file_index(self.db, *document)),
                edited: file.source_text_override(self.db).is_some(),
            }
        };
        self.documents.iter().map(source).collect()
    }

    /// The scopes that were edited since the run of `cache`; `None` if an edit may affect other scopes.
    fn edited(&self, cache: &RunCache) -> Option<FxHashSet<Scope>> {
        if cache.documents.len() != self.documents.len() {
            return None;
        }
        let mut edited = FxHashSet::default();
        for ((position, document), (known, before, index)) in
            self.documents.iter_enumerated().zip(&cache.documents)
        {
            if document != known {
                return None;
            }
            let now = text(self.db, *document);
            if std::ptr::eq(now.as_str(), before.as_str()) || now.as_str() == before.as_str() {
                continue;
            }
            let before = Version { text: before.as_str(), index };
            let after = Version { text: now.as_str(), index: file_index(self.db, *document) };
            let functions = difference::between(before, after)?;
            let scope = |function| Scope { document: position, code: Code::Function(function) };
            let scopes = functions.into_iter().map(scope);
            edited.extend(scopes);
        }
        Some(edited)
    }

    /// With selective limits, types are inferred only in the modules of the fixpoint's scopes. Otherwise a few
    /// roots would require the whole project through transitive imports.
    fn restriction(&self, fixpoint: &Fixpoint) -> Option<Vec<DocumentIndex>> {
        if !fixpoint.limits.selective {
            return None;
        }
        let mut documents: Vec<_> =
            fixpoint.scopes(self.db).into_iter().map(|scope| scope.document).collect();
        documents.dedup();
        (!documents.is_empty()).then_some(documents)
    }

    /// Infers the types of the fixpoint's scopes under the current assumptions; in the `last` round only of
    /// staged functions, the only ones that are reported on.
    fn round(
        &mut self,
        fixpoint: &Fixpoint,
        known: &[Round],
        edited: &FxHashSet<Scope>,
        last: bool,
    ) -> Round {
        let assumptions = fixpoint.assumptions(self.db);
        let known = known.iter().find(|round| round.assumptions == assumptions);
        let mut answers = Answers::new();
        let mut asked = Vec::new();
        for scope in fixpoint.scopes(self.db) {
            let answer = known.and_then(|known| known.answers.get(&scope));
            match answer.filter(|_| !edited.contains(&scope)) {
                Some(answer) => {
                    answers.insert(scope, Arc::clone(answer));
                }
                None if last && !fixpoint.staged.contains_key(&scope) => {}
                None => asked.push(scope),
            }
        }
        if !asked.is_empty() {
            let acyclic = known.is_some() && self.is_acyclic(&asked, &assumptions);
            let question = Question { assumptions: &assumptions, scopes: &asked, acyclic };
            let types = self.oracle.ask(&question);
            let located = self.located(&asked, types);
            answers.extend(asked.into_iter().zip(located));
        }
        Round { assumptions, answers }
    }

    /// Whether the scopes are functions of one document outside import cycles.
    fn is_acyclic(&self, scopes: &[Scope], assumptions: &Assumptions) -> bool {
        let Some(document) = scopes.first().map(|scope| scope.document) else { return false };
        let is_plain = |scope: &Scope| scope.document == document && scope.code != Code::Module;
        scopes.iter().all(is_plain)
            && assumptions.contains_key(&document)
            && file_index(self.db, self.documents[document]).syntax_errors.is_empty()
            && import_cycles::is_outside(self.db, self.documents, document, assumptions)
    }

    /// Sets the locations of calls in the user's text.
    fn located(&self, scopes: &[Scope], types: Vec<Arc<ScopeTypes>>) -> Vec<Arc<ScopeTypes>> {
        let mut scoped: Vec<_> = scopes.iter().copied().zip(types).collect();
        scoped.par_iter_mut().for_each_with(self.db.clone(), |db, (scope, types)| {
            if !types.calls.is_empty() {
                let places = places(db, self.documents[scope.document], scope.code);
                Arc::make_mut(types).locate(&places);
            }
        });
        scoped.into_iter().map(|(_, types)| types).collect()
    }
}

/// The locations of all expressions of a scope, by their ids.
fn places(db: &Database, document: Document, code: Code) -> Vec<Place> {
    fn all(expressions: &[&Expr], place: impl Fn(TextRange) -> Place) -> Vec<Place> {
        expressions.iter().map(|expression| place(expression.range())).collect()
    }
    let index = file_index(db, document);
    match index.function(code) {
        Some(entry) => {
            let ast = function_ast(db, FunctionId::new(db, document, entry.path.clone()));
            let ast = ast.as_ref();
            ast.map(|ast| all(&expressions::of_function(ast.def()), Place::in_function)).unwrap_or_default()
        }
        None => {
            let place = |range| index.place(Code::Module, range);
            tree(db, document).map(|tree| all(&expressions::of_body(tree.suite()), place)).unwrap_or_default()
        }
    }
}
