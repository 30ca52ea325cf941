//! A run of the analysis: index all documents, find the roots, and iterate assumptions and types to a fixpoint.
//!
//! The result of a run is a function of texts and options alone. A run may reuse answers of the previous run
//! ([`RunCache`]): a scope that no edit has changed ([`crate::difference`]) has the same types under the same
//! assumptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ag_db::{Database, Document, text};
use ag_index::answers::ScopeTypes;
use ag_index::ids::{Code, DocumentIndex};
use ag_index::index::{FileIndex, FunctionId, file_index, function_ast, tree};
use ag_index::oracle::{Answer, Assumptions, Question, Scope, Source, TypeOracle};
use ag_index::scope_location::ScopeLocation;
use ag_syntax::expressions;
use rayon::prelude::*;
use ruff_db::source::SourceText;
use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::difference::Version;
use crate::fixpoint::{Answers, Fixpoint};
use crate::import_cycles;
use crate::options::StagingOptions;
use crate::results::Results;
use crate::stages;
use crate::update::{AttributesByRound, Edited, Effect, Update};
use crate::value_flow::{EditedFlow, PossibleCalls};

/// The data of a run that the next run may reuse.
#[derive(Default)]
pub struct RunCache {
    /// The documents of the run.
    documents: Arc<[Document]>,
    /// The documents in which types were inferred; `None` for all.
    restricted: Option<Vec<DocumentIndex>>,
    pub(crate) rounds: Vec<Round>,
    /// For each scope, the answer of the last round that queried it.
    pub(crate) answers: Answers,
    /// Whether answers of earlier rounds are missing.
    pub(crate) has_unknown: bool,
    /// The state after the last round; `None` before the first run.
    fixpoint: Option<Fixpoint>,
    /// The attributes that methods set, for each round. Contains the methods that were edited since the last run.
    pub(crate) attributes: AttributesByRound,
}

/// The answers under one set of assumptions.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) assumptions: Assumptions,
    pub(crate) answers: Answers,
}

impl RunCache {
    /// Returns the state after a run over the same documents.
    pub(crate) fn fixpoint(&self, documents: &Arc<[Document]>) -> Option<&Fixpoint> {
        self.fixpoint.as_ref().filter(|_| Arc::ptr_eq(&self.documents, documents))
    }

    pub(crate) fn restricted(&self) -> Option<&[DocumentIndex]> {
        self.restricted.as_deref()
    }

    /// Returns whether the results equal those of a run from scratch.
    pub fn is_complete(&self) -> bool {
        !self.has_unknown && self.fixpoint.as_ref().is_none_or(|fixpoint| !fixpoint.possible.is_stale)
    }

    /// Returns the number of steps in which the value flow was solved.
    pub fn value_flow_steps(&self) -> usize {
        self.fixpoint.as_ref().map_or(0, |fixpoint| fixpoint.possible.steps)
    }

    /// Returns the state and the last answer for each scope.
    pub(crate) fn last(&mut self) -> Option<(&mut Fixpoint, &Answers)> {
        Some((self.fixpoint.as_mut()?, &self.answers))
    }
}

/// How much of the analysis a run repeats after an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The run repeats everything: its results equal those of a first run.
    Complete,
    /// The run infers the types of edited functions only under the assumptions of the last round, and keeps the
    /// possible calls of the last run that still exist. Afterwards [`RunCache::is_complete`] may be false.
    Quick,
}

/// A run over the documents of a database.
pub struct Run<'a> {
    pub db: &'a Database,
    pub oracle: &'a mut dyn TypeOracle,
    pub documents: &'a Arc<[Document]>,
    /// The documents whose text has changed since the last run, with their previous versions.
    pub edited: &'a FxHashMap<Document, Version>,
    pub options: StagingOptions,
    pub completeness: Completeness,
    /// Called from any thread with the number of documents indexed so far, and their total number.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The outcome of a run.
pub enum Outcome {
    /// New results for all documents, and the cache for the next run.
    All(Box<(Results, RunCache)>),
    /// Results for the edited functions; the cache of the last run remains valid.
    Update(Box<Update>),
}

impl Outcome {
    /// Sets the results as inputs of the queries, and updates the cache for the next run.
    pub fn publish(self, db: &mut Database, cache: &mut RunCache) {
        match self {
            Self::All(all) => {
                let (results, next) = *all;
                *cache = next;
                results.publish(db);
            }
            Self::Update(update) => update.publish(db, cache),
        }
    }
}

impl Run<'_> {
    /// Runs to the fixpoint, or updates the run of `cache`.
    pub fn analyze(mut self, cache: &RunCache) -> Outcome {
        let edited = self.edited_documents(cache);
        let effect = edited.as_ref().map_or(Effect::Types, |edited| self.effect(cache, edited));
        let (known, possible) = match effect {
            Effect::Confined(update) => return Outcome::Update(update),
            Effect::Assumptions(possible) => (edited, possible),
            Effect::Types => (None, None),
        };
        self.index();
        let mut fixpoint = Fixpoint::new(self.db, self.documents().to_owned(), self.options.clone());
        let before = cache.fixpoint(self.documents);
        let possible = possible.filter(|_| before.is_some_and(|before| fixpoint.has_same_hierarchy(before)));
        let possible = possible.or_else(|| self.carried_over(before?));
        let restricted = self.restriction(&fixpoint);
        self.oracle.set_sources(self.sources());
        self.oracle.restrict(restricted.as_deref());
        let (known, edited): (_, FxHashSet<Scope>) = match known {
            Some(edited) if restricted == cache.restricted => {
                (cache.rounds.as_slice(), edited.iter().flat_map(Edited::scopes).collect())
            }
            _ => (&[][..], FxHashSet::default()),
        };
        let mut rounds = Vec::new();
        let mut answers = loop {
            let last = rounds.len() >= fixpoint.limits.rounds;
            let round = self.round(&fixpoint, known, &edited, last);
            let is_stable = last || fixpoint.is_idle() || !fixpoint.absorb(self.db, &round.answers);
            rounds.push(round);
            if is_stable {
                break rounds.last().map(|round| round.answers.clone()).unwrap_or_default();
            }
        };
        if fixpoint.add_possible_calls(self.db, possible, &answers) {
            let certain = answers.clone();
            for _ in 0..fixpoint.limits.possible_rounds {
                let round = self.possible_round(&fixpoint, known, &edited, &certain);
                let is_stable = !fixpoint.absorb(self.db, &round.answers);
                answers.extend(round.answers.iter().map(|(scope, types)| (*scope, Arc::clone(types))));
                rounds.push(round);
                if is_stable {
                    break;
                }
            }
        }
        let results = Results {
            stages: stages::of_documents(self.db, &fixpoint, self.documents(), &answers),
            answers: answers.clone(),
        };
        let cache = RunCache {
            documents: Arc::clone(self.documents),
            restricted,
            rounds,
            answers,
            has_unknown: false,
            fixpoint: Some(fixpoint),
            attributes: AttributesByRound::default(),
        };
        Outcome::All(Box::new((results, cache)))
    }

    /// Returns the possible calls of the last run that still exist; `None` if the constraints must be solved again.
    fn carried_over(&self, before: &Fixpoint) -> Option<Arc<PossibleCalls>> {
        if self.completeness == Completeness::Complete || before.possible.flows.is_empty() {
            return None;
        }
        let after = |document: &Document| Version::current(self.db, *document);
        let versions = self
            .edited
            .iter()
            .map(|(document, version)| Some((before.position(*document)?, version, after(document))));
        let versions: Option<Vec<_>> = versions.collect();
        let edits: Vec<_> = versions
            .as_ref()?
            .iter()
            .map(|(document, before, after)| EditedFlow { document: *document, before, after })
            .collect();
        Some(Arc::new(before.possible.carried_over(self.db, self.documents(), &edits)))
    }

    pub(crate) fn documents(&self) -> &IndexSlice<DocumentIndex, Document> {
        IndexSlice::from_raw(self.documents)
    }

    /// Indexes all documents, on all threads.
    fn index(&self) {
        let total = self.documents.len();
        let done = AtomicUsize::new(0);
        self.documents.par_iter().for_each_with(self.db.clone(), |db, document| {
            file_index(db, *document);
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        });
    }

    fn sources(&self) -> IndexVec<DocumentIndex, Source> {
        let current = |document: &Document| {
            let is_edited = document.file(self.db).source_text_override(self.db).is_some();
            let text = is_edited.then(|| text(self.db, *document));
            source(self.db, *document, text, Arc::clone(file_index(self.db, *document)))
        };
        self.documents.iter().map(current).collect()
    }

    /// Returns the documents in which types are inferred; `None` for no restriction. With selective limits, these are
    /// the modules of the fixpoint's scopes. Otherwise a few roots would require the whole project through transitive
    /// imports.
    fn restriction(&self, fixpoint: &Fixpoint) -> Option<Vec<DocumentIndex>> {
        if self.options.isolated {
            return Some(self.documents().indices().collect());
        }
        if !fixpoint.limits.selective || fixpoint.limits.values {
            return None;
        }
        let mut documents: Vec<_> =
            fixpoint.scopes(self.db).into_iter().map(|scope| scope.document).collect();
        documents.dedup();
        (!documents.is_empty()).then_some(documents)
    }

    /// Infers the types of the fixpoint's scopes under the current assumptions. In the `last` round, infers only the
    /// types of staged functions, because findings and stages are reported only for them.
    fn round(
        &mut self,
        fixpoint: &Fixpoint,
        known: &[Round],
        edited: &FxHashSet<Scope>,
        last: bool,
    ) -> Round {
        let is_queried = |scope: &Scope| !last || fixpoint.staged.contains_key(scope);
        self.round_of(fixpoint, known, edited, &is_queried)
    }

    /// Infers the types of functions that are possibly staged. The answers for all other functions remain valid.
    fn possible_round(
        &mut self,
        fixpoint: &Fixpoint,
        known: &[Round],
        edited: &FxHashSet<Scope>,
        certain: &Answers,
    ) -> Round {
        let is_new = |scope: &Scope| {
            fixpoint.staged.contains_key(scope)
                && (!certain.contains_key(scope) || fixpoint.is_inferred_again(*scope))
        };
        let mut round = self.round_of(fixpoint, known, edited, &is_new);
        round.answers.retain(|scope, _| is_new(scope));
        round
    }

    fn round_of(
        &mut self,
        fixpoint: &Fixpoint,
        known: &[Round],
        edited: &FxHashSet<Scope>,
        is_queried: &dyn Fn(&Scope) -> bool,
    ) -> Round {
        let assumptions = fixpoint.assumptions(self.db);
        let known = known.iter().find(|round| round.assumptions == assumptions);
        let mut answers = Answers::new();
        let mut queried = Vec::new();
        for scope in fixpoint.scopes(self.db) {
            let answer = known.and_then(|known| known.answers.get(&scope));
            match answer.filter(|_| !edited.contains(&scope)) {
                Some(answer) => {
                    answers.insert(scope, Arc::clone(answer));
                }
                None if !is_queried(&scope) => {}
                None => queried.push(scope),
            }
        }
        if !queried.is_empty() {
            let types = self.ask(&assumptions, &queried, &[], known.is_some()).types;
            answers.extend(queried.into_iter().zip(types));
        }
        Round { assumptions, answers }
    }

    /// Asks the oracle. If only a `few` scopes are queried, the oracle may omit code on which their types do not
    /// depend.
    pub(crate) fn ask(
        &mut self,
        assumptions: &Assumptions,
        scopes: &[Scope],
        methods: &[Scope],
        few: bool,
    ) -> Answer {
        let acyclic = few && self.is_acyclic(scopes.iter().chain(methods), assumptions);
        let documents = assumptions.keys().copied().chain(methods.iter().map(|method| method.document));
        let text_of = |document| (document, text(self.db, self.documents()[document]));
        let texts = documents.map(text_of).collect();
        let answer = self.oracle.ask(&Question { assumptions, texts: &texts, scopes, methods, acyclic });
        Answer { types: self.located(scopes, answer.types), ..answer }
    }

    /// Returns whether all scopes are functions of one document that has no syntax errors and is outside import cycles.
    fn is_acyclic<'s>(
        &self,
        mut scopes: impl Iterator<Item = &'s Scope> + Clone,
        assumptions: &Assumptions,
    ) -> bool {
        let Some(document) = scopes.clone().next().map(|scope| scope.document) else { return false };
        scopes.all(|scope| scope.document == document && scope.code != Code::Module)
            && file_index(self.db, self.documents()[document]).syntax_errors.is_empty()
            && import_cycles::is_outside(self.db, self.documents(), document, assumptions)
    }

    /// Replaces the locations of calls, which refer to annotated source, by those in the user's text.
    pub(crate) fn located(&self, scopes: &[Scope], types: Vec<Arc<ScopeTypes>>) -> Vec<Arc<ScopeTypes>> {
        let documents = self.documents();
        let mut scoped: Vec<_> = scopes.iter().copied().zip(types).collect();
        scoped.par_iter_mut().for_each_with(self.db.clone(), |db, (scope, types)| {
            if !types.calls.is_empty() {
                let locations = locations(db, documents[scope.document], scope.code);
                Arc::make_mut(types).locate(&locations);
            }
        });
        scoped.into_iter().map(|(_, types)| types).collect()
    }
}

/// Returns a document for the oracle. `edited` is its new text if the document was edited.
pub(crate) fn source(
    db: &Database,
    document: Document,
    edited: Option<SourceText>,
    index: Arc<FileIndex>,
) -> Source {
    Source { document, path: document.file(db).path(db).clone(), index, edited }
}

/// Returns the locations of all expressions of a scope, by their ids.
fn locations(db: &Database, document: Document, code: Code) -> Vec<ScopeLocation> {
    fn all(expressions: &[&Expr], location: impl Fn(TextRange) -> ScopeLocation) -> Vec<ScopeLocation> {
        expressions.iter().map(|expression| location(expression.range())).collect()
    }
    let index = file_index(db, document);
    match index.function(code) {
        Some(entry) => {
            let ast = function_ast(db, FunctionId::new(db, document, entry.path.clone()));
            let ast = ast.as_ref();
            ast.map(|ast| all(&expressions::of_function(ast.def()), ScopeLocation::in_function))
                .unwrap_or_default()
        }
        None => {
            let location = |range| index.location(Code::Module, range);
            tree(db, document)
                .map(|tree| all(&expressions::of_body(tree.suite()), location))
                .unwrap_or_default()
        }
    }
}
