//! An update of the last run, after edits that affect only the functions that they change.
//!
//! A new run has the same assumptions in each round as the last run under two conditions: it starts from the same
//! state, and the edited functions have the same calls, arguments, results, roots and attributes in each round. Then
//! the results of all other functions remain valid, except for locations in the edited functions. So an update infers
//! only the types of the edited functions, once under the assumptions of each round. A quick run infers them only under
//! the assumptions of the last round. The complete run that follows a quick run infers them for the other rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ag_db::{Database, Document};
use ag_index::answers::ScopeTypes;
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::oracle::{Attributes, Scope, Source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Completeness, Run, RunCache, source};
use crate::difference::{self, Difference, Version};
use crate::fixpoint::{Cause, Fixpoint, is_unsupported};
use crate::moves::Moves;
use crate::value_flow::{EditedFlow, PossibleCalls};
use crate::{results, stages};

/// A document with its versions before and after the edits since the last run.
pub(crate) struct Edited {
    pub(crate) document: Document,
    pub(crate) position: DocumentIndex,
    pub(crate) before: Version,
    pub(crate) after: Version,
    difference: Difference,
}

/// The code that edits affect.
pub(crate) enum Effect {
    /// The results of the edited functions only.
    Confined(Box<Update>),
    /// The results of the edited functions and, through the assumptions about them, of other functions. Contains the
    /// possible calls after the edits, if they are known.
    Assumptions(Option<Arc<PossibleCalls>>),
    /// Possibly the results of all functions.
    Types,
}

/// The data that replaces parts of the last run's results.
#[derive(Default)]
pub struct Update {
    /// The positions of the edited documents.
    documents: BTreeSet<DocumentIndex>,
    edited: BTreeSet<Scope>,
    /// The new answers of each round.
    answers: Vec<Vec<(Scope, Arc<ScopeTypes>)>>,
    /// The answers that are no longer known: (round, scope).
    unknown: Vec<(usize, Scope)>,
    attributes: AttributesByRound,
    /// The possible calls, if they are known.
    possible: Option<Arc<PossibleCalls>>,
    moves: Moves,
}

/// For each method, the attributes that it sets in each round.
pub(crate) type AttributesByRound = FxHashMap<Scope, Vec<Option<Attributes>>>;

impl Edited {
    /// Returns the functions whose code has changed.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = Scope> + '_ {
        self.difference.functions.iter().map(|function| self.scope(*function))
    }

    fn methods(&self) -> impl Iterator<Item = Scope> + '_ {
        self.difference.methods.iter().map(|method| self.scope(*method))
    }

    fn flow(&self) -> EditedFlow<'_> {
        EditedFlow { document: self.position, before: &self.before, after: &self.after }
    }

    fn scope(&self, function: FunctionIndex) -> Scope {
        Scope { document: self.position, code: function.into() }
    }
}

impl Version {
    fn source(&self, db: &Database, document: Document) -> Source {
        source(db, document, Some(self.text.clone()), Arc::clone(&self.index))
    }
}

impl Run<'_> {
    /// Returns the documents that were edited since the run of `cache`; `None` if their syntax shows that the edits may
    /// affect other code, except through attributes.
    pub(crate) fn edited_documents(&self, cache: &RunCache) -> Option<Vec<Edited>> {
        let fixpoint = cache.fixpoint(self.documents)?;
        let mut all = Vec::new();
        for (document, before) in self.edited {
            let position = fixpoint.position(*document)?;
            // The version of the file that was analyzed is no longer available.
            document.file(self.db).source_text_override(self.db).as_ref()?;
            let after = Version::current(self.db, *document);
            let difference = difference::between(before, &after)?;
            all.push(Edited { document: *document, position, before: before.clone(), after, difference });
        }
        all.sort_unstable_by_key(|edited| edited.position);
        Some(all)
    }

    /// Infers the types of the edited functions again, and compares everything that other functions depend on.
    pub(crate) fn effect(&mut self, cache: &RunCache, all: &[Edited]) -> Effect {
        let Some(fixpoint) = cache.fixpoint(self.documents) else { return Effect::Types };
        let mut update = Update::default();
        self.oracle.restrict(cache.restricted());
        let methods: Vec<Scope> = all.iter().flat_map(Edited::methods).collect();
        update.attributes = self.attributes_before(cache, all, &methods);
        for edited in all {
            self.oracle.set_source(edited.position, edited.after.source(self.db, edited.document));
            update.edited.extend(edited.scopes());
            update.documents.insert(edited.position);
            update.moves.add_definitions(edited);
        }
        let mut is_same = true;
        update.answers = vec![Vec::new(); cache.rounds.len()];
        // Attributes must be the same as before in every round, because other functions read them.
        let asks_all_rounds = self.completeness == Completeness::Complete || !methods.is_empty();
        let mut asked_later: BTreeSet<Scope> = BTreeSet::new();
        // From the last round to the first, because the oracle still holds the annotated source of the last round.
        let mut attributes = vec![Vec::new(); cache.rounds.len()];
        for (at, round) in cache.rounds.iter().enumerate().rev() {
            let known = update.edited.iter().copied().filter(|scope| round.answers.contains_key(scope));
            let (queried, unknown): (Vec<Scope>, Vec<Scope>) =
                known.partition(|scope| asks_all_rounds || asked_later.insert(*scope));
            update.unknown.extend(unknown.into_iter().map(|scope| (at, scope)));
            if queried.is_empty() && methods.is_empty() {
                continue;
            }
            let mut assumptions = round.assumptions.clone();
            is_same &= update.moves.add_lambdas(all, &mut assumptions);
            let answer = self.ask(&assumptions, &queried, &methods, true);
            for (scope, types) in queried.into_iter().zip(answer.types) {
                let known = round.answers.get(&scope);
                is_same &= known.is_some_and(|known| update.moves.add_types(scope, known, &types));
                update.answers[at].push((scope, types));
            }
            attributes[at] = answer.attributes;
        }
        let before =
            |method: &Scope| update.attributes.get(method).or_else(|| cache.attributes.get(method)).cloned();
        let has_same_attributes = |(method, now): (&Scope, &Vec<Option<Attributes>>)| {
            now.iter().all(Option::is_some) && before(method).as_ref() == Some(now)
        };
        if !by_method(&methods, &attributes).iter().all(has_same_attributes) {
            return Effect::Types;
        }
        self.add_module_code(cache, all, &mut update);
        update.possible = self.possible_calls_after(fixpoint, all);
        if let Some(possible) = &update.possible {
            let is_edited = |document| update.documents.contains(&document);
            is_same &= possible.is_same_but_for_sites(&fixpoint.possible, is_edited);
            let mut seen = BTreeSet::new();
            for (scope, types) in update.answers.iter().rev().flatten() {
                let is_last = seen.insert(*scope);
                is_same &= !is_last || fixpoint.passes_same_by_value(self.db, possible, *scope, types);
            }
            if is_same {
                for edited in all {
                    update.moves.add_possible_calls(edited, &fixpoint.possible, possible);
                }
            }
        }
        let starts_same = |edited: &Edited| {
            difference::same_start(&edited.before.index, &edited.after.index, &fixpoint.names)
                && edited.scopes().all(|scope| self.has_same_syntax(fixpoint, scope))
        };
        is_same &= self.completeness == Completeness::Quick || !cache.has_unknown;
        if !is_same || !all.iter().all(starts_same) || !update.has_all_locations(fixpoint) {
            return Effect::Assumptions(update.possible);
        }
        Effect::Confined(Box::new(update))
    }

    /// Returns the possible calls after the edits; `None` if the last run did not need any.
    fn possible_calls_after(&self, fixpoint: &Fixpoint, all: &[Edited]) -> Option<Arc<PossibleCalls>> {
        let known = &fixpoint.possible;
        if known.flows.is_empty() {
            return None;
        }
        let edits: Vec<EditedFlow<'_>> = all.iter().map(Edited::flow).collect();
        let is_exact = self.completeness == Completeness::Quick || !known.is_stale;
        let same = || known.with_same_constraints(self.db, self.documents(), &edits);
        let possible = is_exact.then(same).flatten().unwrap_or_else(|| match self.completeness {
            Completeness::Complete => fixpoint.solved(self.db),
            Completeness::Quick => known.carried_over(self.db, self.documents(), &edits),
        });
        Some(Arc::new(possible))
    }

    /// Returns the attributes that the edited methods set before the edits, unless the cache has them.
    fn attributes_before(
        &mut self,
        cache: &RunCache,
        all: &[Edited],
        methods: &[Scope],
    ) -> AttributesByRound {
        let mut methods = methods.to_vec();
        methods.retain(|method| !cache.attributes.contains_key(method));
        if methods.is_empty() {
            return AttributesByRound::default();
        }
        for edited in all {
            self.oracle.set_source(edited.position, edited.before.source(self.db, edited.document));
        }
        let rounds = cache.rounds.iter();
        let attributes: Vec<_> =
            rounds.map(|round| self.ask(&round.assumptions, &[], &methods, false).attributes).collect();
        by_method(&methods, &attributes)
    }

    /// Returns whether AutoGraph's support for the syntax of an edited function is the same as before.
    fn has_same_syntax(&self, fixpoint: &Fixpoint, scope: Scope) -> bool {
        fixpoint.checked_syntax.get(&scope).into_iter().flatten().all(|(features, before)| {
            is_unsupported(self.db, fixpoint.document(scope), scope.code, features) == *before
        })
    }

    /// Adds the code outside functions: its types remain valid, but its locations may have changed.
    fn add_module_code(&self, cache: &RunCache, all: &[Edited], update: &mut Update) {
        for edited in all {
            let scope = Scope { document: edited.position, code: Code::Module };
            for (round, answers) in cache.rounds.iter().zip(&mut update.answers) {
                let Some(known) = round.answers.get(&scope) else { continue };
                for types in self.located(&[scope], vec![Arc::clone(known)]) {
                    update.moves.add_types(scope, known, &types);
                    answers.push((scope, types));
                }
            }
        }
    }
}

/// Groups attributes by method. `rounds` has, for each round, the attributes in the order of `methods`.
fn by_method(methods: &[Scope], rounds: &[Vec<Option<Attributes>>]) -> AttributesByRound {
    let of = |at: usize| rounds.iter().map(|round| round.get(at).cloned().flatten()).collect();
    methods.iter().enumerate().map(|(at, method)| (*method, of(at))).collect()
}

impl Update {
    /// Returns whether the new locations of all calls and roots in edited code to which other functions refer are
    /// known.
    fn has_all_locations(&self, fixpoint: &Fixpoint) -> bool {
        let is_edited = |scope: Scope| {
            self.edited.contains(&scope)
                || scope.code == Code::Module && self.documents.contains(&scope.document)
        };
        let is_known = |cause: &Cause| !is_edited(cause.scope) || self.moves.has_location(cause);
        self.moves.is_consistent() && fixpoint.causes().all(is_known)
    }

    /// Applies the update to the state of the last run, and publishes the results that differ.
    pub fn publish(self, db: &mut Database, cache: &mut RunCache) {
        let Self { documents, edited, answers, unknown, attributes, possible, moves } = self;
        cache.attributes.extend(attributes);
        for (round, answers) in cache.rounds.iter_mut().zip(answers) {
            cache.answers.extend(answers.iter().map(|(scope, types)| (*scope, Arc::clone(types))));
            round.answers.extend(answers);
            moves.apply_to_assumptions(&edited, &mut round.assumptions);
        }
        for (round, scope) in unknown {
            cache.rounds[round].answers.remove(&scope);
            cache.has_unknown = true;
        }
        let Some((fixpoint, answers)) = cache.last() else { return };
        if let Some(possible) = possible {
            fixpoint.possible = possible;
        }
        let mut affected: FxHashSet<Scope> = edited.into_iter().collect();
        affected.extend(fixpoint.apply(&moves));
        let mut by_document: BTreeMap<DocumentIndex, Vec<_>> =
            documents.into_iter().map(|position| (position, Vec::new())).collect();
        for scope in affected {
            let stage = stages::of_scope(db, fixpoint, scope, answers);
            by_document.entry(scope.document).or_default().extend(stage);
        }
        for (position, stages) in by_document {
            let document = fixpoint.documents()[position];
            results::update(db, document, position, stages, answers);
        }
    }
}
