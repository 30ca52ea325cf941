//! Evidence: code near staged functions that calls them, and so determines the types of their parameters.

use crate::fixpoint::Fixpoint;
use ag_db::{Db, Document};
use ag_index::index::{MODULE, file_index};
use ag_index::oracle::Scope;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashMap;

/// The scopes that call a function or class of a given last name.
struct Callers<'db>(FxHashMap<&'db str, Vec<Scope>>);

impl<'db> Callers<'db> {
    fn of(db: &'db dyn Db, documents: &[Document]) -> Self {
        let mut callers: FxHashMap<&str, Vec<Scope>> = FxHashMap::default();
        for (document, id) in (0u32..).zip(documents) {
            for (function, name) in &file_index(db, *id).calls {
                callers.entry(name.as_str()).or_default().push(Scope { document, function: *function });
            }
        }
        for scopes in callers.values_mut() {
            scopes.sort_unstable();
        }
        Self(callers)
    }
}

impl Fixpoint {
    /// Breadth first from the staged functions along "is called by", "constructs" and "sets attributes".
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
        if scope.function == MODULE {
            return Vec::new();
        }
        let index = file_index(db, self.documents[scope.document as usize]);
        let mut neighbours = Vec::new();
        let mut called = |name: &str| {
            self.names.insert(Name::new(name));
            if let Some(callers) = callers.0.get(name)
                && callers.len() <= self.limits.callers
            {
                neighbours.extend(callers.iter().copied());
            }
        };
        let name = index.short_name(scope.function);
        // `x.call(…)` and `x.forward(…)` are rarely written out, and match many classes.
        if !matches!(name, "call" | "forward" | "__call__" | "__init__") {
            called(name);
        }
        if let Some(class) = index.class_around(scope.function)
            && let Some(class) = index.definitions.classes.get(class as usize)
        {
            called(class.qualname.rsplit('.').next().unwrap_or_default());
            neighbours.extend(class.methods.iter().filter_map(|method| {
                let sets = index.signatures.get(*method as usize)?.sets_attributes;
                sets.then_some(Scope { document: scope.document, function: *method })
            }));
        }
        if let Some(parent) = index.definitions.functions.get(scope.function as usize).and_then(|f| f.parent)
        {
            neighbours.push(Scope { document: scope.document, function: parent });
        }
        neighbours
    }
}
