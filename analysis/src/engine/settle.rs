//! Bringing an engine to rest after texts were set: roots, the fixpoint of assumptions, stages.
//!
//! Every run starts from nothing, so that what it finds never depends on the edits before. But it
//! remembers what the run before has asked and been told ([`Look`]): under equal assumptions a scope that
//! no edit has touched ([`difference`]) has the same types, and is not asked again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use ruff_db::source::{SourceText, source_text};
use rustc_hash::{FxHashMap, FxHashSet};
use salsa::{Durability, Setter};

use super::{Engine, imports};
use crate::db::Database;
use crate::project::{self, Document};
use crate::staging::difference::{self, Version};
use crate::staging::fixpoint::{Answers, Assumptions, Fixpoint, Scope};
use crate::staging::ghost::{self, Asked};
use crate::staging::index::{FileIndex, MODULE, file_index};
use crate::staging::visible::Visible;
use crate::staging::{stages, types};

/// What a run leaves to the next one.
#[derive(Default)]
pub(super) struct Memory {
    /// Each document with its text and index as they were.
    documents: Vec<(Document, SourceText, Arc<FileIndex>)>,
    /// The modules that were looked into ([`Engine::narrow`]).
    near: Vec<String>,
    looks: Vec<Look>,
}

/// What is seen under one set of assumptions.
#[derive(Default)]
struct Look {
    assumptions: Assumptions,
    /// The ghost views that were written, by document.
    views: BTreeMap<u32, SourceText>,
    answers: Answers,
}

/// What was edited since the run before.
#[derive(Default)]
struct Edited {
    documents: FxHashSet<u32>,
    scopes: FxHashSet<Scope>,
}

impl Engine {
    /// Indexes all files, finds the roots, and runs the fixpoint of assumptions.
    pub fn settle(&mut self, progress: &(dyn Fn(usize, usize) + Sync)) {
        let documents = self.documents();
        let total = documents.len();
        let done = AtomicUsize::new(0);
        self.warm(&documents, |db, document| {
            file_index(db, *document);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        });
        let memory = std::mem::take(&mut self.memory);
        let edited = self.edited(&memory, &documents);
        let settings = self.project.settings(&self.db).clone();
        let mut fixpoint = Fixpoint::new(&self.db, documents.clone(), settings);
        let near = self.narrow(&fixpoint);
        let (known, edited) = match edited {
            Some(edited) if near == memory.near => (memory.looks.as_slice(), edited),
            _ => (&[][..], Edited::default()),
        };
        let mut looks = Vec::new();
        loop {
            let last = looks.len() >= fixpoint.horizon.rounds;
            let look = self.look(&fixpoint, known, &edited, last);
            let rests = last || fixpoint.is_idle() || !fixpoint.absorb(&self.db, &look.answers);
            looks.push(look);
            if rests {
                break;
            }
        }
        if let Some(look) = looks.last_mut() {
            look.views.clear();
            self.show(&documents, look, &|_| true, None);
            self.publish(&fixpoint, &documents, &look.answers);
        }
        let remembered = documents.into_iter().map(|document| {
            (document, project::text(&self.db, document), Arc::clone(file_index(&self.db, document)))
        });
        self.memory = Arc::new(Memory { documents: remembered.collect(), near, looks });
    }

    /// `None` when everything may be different.
    fn edited(&self, memory: &Memory, documents: &[Document]) -> Option<Edited> {
        if memory.documents.len() != documents.len() {
            return None;
        }
        let mut edited = Edited::default();
        for (number, (document, (known, text, index))) in documents.iter().zip(&memory.documents).enumerate()
        {
            if document != known {
                return None;
            }
            let now = project::text(&self.db, *document);
            if is_same(&now, text) {
                continue;
            }
            let before = Version { text: text.as_str(), index };
            let after = Version { text: now.as_str(), index: file_index(&self.db, *document) };
            let number = number as u32;
            let functions = difference::between(before, after)?;
            edited
                .scopes
                .extend(functions.iter().map(|function| Scope { document: number, function: *function }));
            edited.documents.insert(number);
        }
        Some(edited)
    }

    /// Asks the types of the fixpoint's scopes under its present assumptions; the `last` time only of those
    /// that are reported on.
    fn look(&mut self, fixpoint: &Fixpoint, known: &[Look], edited: &Edited, last: bool) -> Look {
        let assumptions = fixpoint.assumptions(&self.db);
        let known = known.iter().find(|look| look.assumptions == assumptions);
        let mut look = Look { assumptions, ..Look::default() };
        let mut asked = Vec::new();
        for scope in fixpoint.scopes(&self.db) {
            let answer = known.and_then(|known| known.answers.get(&scope));
            match answer.filter(|_| !edited.scopes.contains(&scope)) {
                Some(answer) => {
                    look.answers.insert(scope, Arc::clone(answer));
                }
                None if last && !fixpoint.staged.contains_key(&scope) => {}
                None => asked.push(scope),
            }
        }
        if !asked.is_empty() {
            let stale = |number: &u32| {
                edited.documents.contains(number) || asked.iter().any(|scope| scope.document == *number)
            };
            if let Some(known) = known {
                let views = known.views.iter().filter(|(number, _)| !stale(number));
                look.views = views.map(|(number, view)| (*number, view.clone())).collect();
            }
            let visible = known.and_then(|_| self.visible(fixpoint, &look.assumptions, &asked));
            let is_asked = |scope| asked.binary_search(&scope).is_ok();
            self.show(fixpoint.documents(), &mut look, &is_asked, visible.as_ref());
            if let Some((document, _)) = visible {
                // It shows too little to those who are asked next time.
                look.views.remove(&document);
            }
            self.warm(&asked, |db, scope| {
                fixpoint.ask(db, *scope);
            });
            look.answers
                .extend(asked.iter().map(|scope| (*scope, Arc::clone(fixpoint.ask(&self.db, *scope)))));
        }
        look
    }

    /// What of their document a few scopes can see, where no other document matters to that.
    fn visible(
        &self,
        fixpoint: &Fixpoint,
        assumptions: &Assumptions,
        asked: &[Scope],
    ) -> Option<(u32, Visible)> {
        let document = asked.first()?.document;
        let real = project::text(&self.db, fixpoint.documents()[document as usize]);
        let index = file_index(&self.db, fixpoint.documents()[document as usize]);
        let is_plain = |scope: &Scope| scope.document == document && scope.function != MODULE;
        if !asked.iter().all(is_plain)
            || !index.syntax_errors.is_empty()
            || !self.is_secluded(fixpoint.documents(), document, assumptions)
        {
            return None;
        }
        let functions: Vec<u32> = asked.iter().map(|scope| scope.function).collect();
        let assumed = assumptions.get(&document)?;
        Some((document, Visible::to(&functions, real.as_str(), index, assumed)))
    }

    /// Lets the inference engine see every document as a look has it: of the functions that are not
    /// asked, and in one document of what is not visible to them, only what other types need.
    fn show(
        &mut self,
        documents: &[Document],
        look: &mut Look,
        asked: &dyn Fn(Scope) -> bool,
        visible: Option<&(u32, Visible)>,
    ) {
        for (number, document) in documents.iter().enumerate() {
            let number = number as u32;
            let index = file_index(&self.db, *document);
            let assumed = look.assumptions.get(&number);
            if assumed.is_none() && !index.too_deep && document.own_text(&self.db).is_none() {
                continue;
            }
            let real = project::text(&self.db, *document);
            // The cells of a notebook are at other places in the view.
            let base = if real.is_notebook() { self.blank().unwrap_or(real.clone()) } else { real.clone() };
            let view = look.views.entry(number).or_insert_with(|| match assumed {
                _ if index.too_deep => with_text(&base, String::new()),
                None => real.clone(),
                Some(assumed) => {
                    let module = types::module_key_of(&self.db, *document);
                    let asked = |function| asked(Scope { document: number, function });
                    let asked = match visible {
                        Some((document, visible)) if *document == number => Asked::Here(visible),
                        _ => Asked::Some(&asked),
                    };
                    with_text(&base, ghost::view(real.as_str(), index, &module, assumed, &asked))
                }
            });
            let view = view.clone();
            let file = document.file(&self.db);
            if is_same(&source_text(&self.db, file), &view) {
                continue;
            }
            if document.own_text(&self.db).is_none() {
                document.set_own_text(&mut self.db).to(Some(real));
            }
            file.set_source_text_override(&mut self.db).to(Some(view));
        }
    }

    /// Sets what the queries about functions start from, where it is new.
    fn publish(&mut self, fixpoint: &Fixpoint, documents: &[Document], answers: &Answers) {
        for (number, (document, stages)) in
            stages::of_documents(&self.db, fixpoint, documents, answers).into_iter().enumerate()
        {
            let functions = &file_index(&self.db, document).definitions.functions;
            let number = number as u32;
            let scopes =
                Scope { document: number, function: 0 }..Scope { document: number, function: MODULE };
            let types: FxHashMap<_, _> = answers
                .range(scopes)
                .filter_map(|(scope, types)| {
                    let path = &functions.get(scope.function as usize)?.path;
                    stages.contains_key(path).then(|| (path.clone(), Arc::clone(types)))
                })
                .collect();
            if **document.stages(&self.db) != stages {
                document.set_stages(&mut self.db).with_durability(Durability::LOW).to(Arc::new(stages));
            }
            if **document.types(&self.db) != types {
                document.set_types(&mut self.db).with_durability(Durability::LOW).to(Arc::new(types));
            }
        }
    }

    /// In a large project, lets the inference engine look into the modules of the fixpoint's scopes
    /// only; what they import from elsewhere in the project is `Any`. Else a few roots would pull the
    /// whole project in, import by import.
    fn narrow(&mut self, fixpoint: &Fixpoint) -> Vec<String> {
        let scopes = if fixpoint.horizon.selective { fixpoint.scopes(&self.db) } else { Vec::new() };
        let mut near: Vec<String> = scopes
            .iter()
            .filter_map(|scope| types::module_name_of(&self.db, fixpoint.document(*scope)))
            .map(|module| format!("!{module}"))
            .collect();
        near.sort_unstable();
        near.dedup();
        let far = if near.is_empty() { Vec::new() } else { imports::packages(self) };
        let patterns = far.into_iter().map(|package| format!("{package}.**"));
        self.db.replace_imports_with_any(patterns.chain(near.iter().cloned()));
        near
    }

    /// Executes a query for every item, on all threads, so that asking again is a look-up.
    fn warm<T: Sync>(&self, items: &[T], query: impl Fn(&Database, &T) + Sync + Send) {
        let snapshot = self.db.clone();
        items.par_iter().for_each_with(snapshot, |db, item| query(db, item));
    }
}

fn with_text(source: &SourceText, text: String) -> SourceText {
    source.with_text(text, &ruff_diagnostics::SourceMap::default())
}

/// Whether two texts read the same. Most are the same one, which is seen without reading it.
fn is_same(one: &SourceText, other: &SourceText) -> bool {
    let (one, other) = (one.as_str(), other.as_str());
    std::ptr::eq(one, other) || one == other
}
