//! Evidence: code near staged functions that calls them, and so determines the types of their parameters.

use std::collections::BTreeSet;

use crate::fixpoint::Fixpoint;
use ag_db::{Db, Document};
use ag_index::ids::{Code, DocumentIndex};
use ag_index::index::file_index;
use ag_index::oracle::Scope;
use ruff_index::IndexSlice;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashMap;

struct Callers<'db> {
    /// The scopes that call a function or class, by the last part of its name.
    scopes: FxHashMap<&'db str, Vec<Scope>>,
    /// The names under which a function is called besides its own: `step` after `step = jax.jit(train)`.
    other_names: FxHashMap<&'db str, BTreeSet<&'db str>>,
}

impl<'db> Callers<'db> {
    fn of(db: &'db dyn Db, documents: &IndexSlice<DocumentIndex, Document>) -> Self {
        let mut callers: FxHashMap<&str, Vec<Scope>> = FxHashMap::default();
        let mut other_names: FxHashMap<&str, BTreeSet<&str>> = FxHashMap::default();
        for (document, id) in documents.iter_enumerated() {
            for (name, codes) in &file_index(db, *id).calls {
                let scopes = codes.iter().map(|code| Scope { document, code: *code });
                callers.entry(name.as_str()).or_default().extend(scopes);
            }
            for (name, others) in &file_index(db, *id).other_names {
                other_names.entry(name.as_str()).or_default().extend(others.iter().map(Name::as_str));
            }
        }
        for scopes in callers.values_mut() {
            scopes.sort_unstable();
        }
        Self { scopes: callers, other_names }
    }

    /// Returns all names under which a function of this name is called, its own name first.
    fn names<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n str> {
        std::iter::once(name).chain(self.other_names.get(name).into_iter().flatten().copied())
    }
}

impl Fixpoint {
    /// Searches breadth-first, beginning with the staged functions, for their callers, for callers of their classes,
    /// and for methods of these classes that set attributes.
    pub(super) fn find_evidence(&mut self, db: &dyn Db) {
        let callers = Callers::of(db, &self.documents);
        let staged = self.staged.keys().filter(|scope| self.is_typed(db, **scope));
        let mut frontier: Vec<(Scope, u8)> = staged.map(|scope| (*scope, 0)).collect();
        frontier.extend(self.evidence.iter().map(|(scope, distance)| (*scope, *distance)));
        let mut at = 0;
        while let Some((scope, distance)) = frontier.get(at).copied() {
            at += 1;
            if distance >= self.limits.evidence_distance {
                continue;
            }
            for neighbour in self.neighbours(db, &callers, scope) {
                if self.staged.contains_key(&neighbour) || self.evidence.contains_key(&neighbour) {
                    continue;
                }
                if self.evidence.len() >= self.limits.evidence_scopes {
                    return;
                }
                self.evidence.insert(neighbour, distance + 1);
                frontier.push((neighbour, distance + 1));
            }
        }
    }

    fn neighbours(&mut self, db: &dyn Db, callers: &Callers, scope: Scope) -> Vec<Scope> {
        let Code::Function(function) = scope.code else { return Vec::new() };
        let index = file_index(db, self.documents[scope.document]);
        let mut neighbours = Vec::new();
        let mut called: Vec<&str> = Vec::new();
        let name = index.short_name(function);
        // Explicit calls of `x.call(…)` and `x.forward(…)` are rare, and the names match many classes.
        if !matches!(name, "call" | "forward" | "__call__" | "__init__") {
            called.extend(callers.names(name));
        }
        if let Some(class) = index.class_around(scope.code)
            && let Some(class) = index.definitions.classes.get(class)
        {
            called.extend(callers.names(class.qualname.rsplit('.').next().unwrap_or_default()));
            neighbours.extend(class.methods.iter().filter_map(|method| {
                let sets = index.signatures.get(*method)?.sets_attributes;
                sets.then_some(Scope { document: scope.document, code: Code::Function(*method) })
            }));
        }
        if let Some(parent) = index.function(scope.code).and_then(|f| f.parent) {
            // `step = make_step(0.1)`
            called.extend(callers.names(index.short_name(parent)).skip(1));
            neighbours.push(Scope { document: scope.document, code: Code::Function(parent) });
        }
        for name in called {
            self.names.insert(Name::new(name));
            if let Some(callers) = callers.scopes.get(name)
                && callers.len() <= self.limits.callers
            {
                neighbours.extend(callers.iter().copied());
            }
        }
        neighbours
    }
}
