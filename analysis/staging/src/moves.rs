//! Maps the locations and lambdas of edited code before an edit to those after it.

use std::collections::BTreeSet;

use ag_index::answers::ScopeTypes;
use ag_index::ids::Code;
use ag_index::index::FileIndex;
use ag_index::oracle::{Assumptions, Scope};
use ag_index::scope_location::ScopeLocation;
use ag_syntax::expressions::ExprId;
use rustc_hash::FxHashMap;

use crate::fixpoint::Cause;
use crate::update::Edited;
use crate::value_flow::PossibleCalls;

/// Maps old to new: the locations of calls, roots and names, and the ids of lambdas.
#[derive(Default)]
pub struct Moves {
    locations: FxHashMap<(Scope, ScopeLocation), ScopeLocation>,
    lambdas: FxHashMap<(Scope, ExprId), ExprId>,
    /// Whether an old location or lambda has two different new ones.
    is_contradictory: bool,
}

impl Moves {
    fn add_location(&mut self, scope: Scope, before: ScopeLocation, after: ScopeLocation) {
        let known = *self.locations.entry((scope, before)).or_insert(after);
        self.is_contradictory |= known != after;
    }

    fn add_lambda(&mut self, scope: Scope, before: ExprId, after: ExprId) {
        let known = *self.lambdas.entry((scope, before)).or_insert(after);
        self.is_contradictory |= known != after;
    }

    /// Adds the locations of roots and of the names of functions.
    pub(crate) fn add_definitions(&mut self, edited: &Edited) {
        let (before, after) = (&edited.before.index, &edited.after.index);
        let mut add = |around: Code, old, new| {
            let scope = Scope { document: edited.position, code: around };
            self.add_location(scope, before.location(around, old), after.location(around, new));
        };
        for (old, new) in before.roots.iter().zip(&after.roots) {
            add(old.scope, old.range, new.range);
        }
        for (old, new) in before.definitions.functions.iter().zip(&after.definitions.functions) {
            add(old.parent.into(), old.name_range, new.name_range);
            if old.parent.is_some() {
                add(Code::Module, old.name_range, new.name_range);
            }
        }
    }

    /// Adds the locations of possible calls.
    pub(crate) fn add_possible_calls(
        &mut self,
        edited: &Edited,
        before: &PossibleCalls,
        after: &PossibleCalls,
    ) {
        let sites = before.sites(edited.position).into_iter().zip(after.sites(edited.position));
        for ((old_code, old), (new_code, new)) in sites {
            let scope = Scope { document: edited.position, code: old_code };
            let old = edited.before.index.location(old_code, old);
            self.add_location(scope, old, edited.after.index.location(new_code, new));
        }
    }

    /// Adds the lambdas of edited functions about which there are assumptions, and updates their ids in these
    /// assumptions. Returns whether each of these functions has as many lambdas as before.
    pub(crate) fn add_lambdas(&mut self, all: &[Edited], assumptions: &mut Assumptions) -> bool {
        let ids = |index: &FileIndex, code: Code| -> Vec<ExprId> {
            index.lambdas.iter().filter(|lambda| lambda.scope == code).map(|lambda| lambda.id).collect()
        };
        let mut has_all = true;
        let mut edited_scopes = BTreeSet::new();
        for edited in all {
            let Some(functions) = assumptions.get(&edited.position) else { continue };
            for scope in edited.scopes() {
                if functions.get(&scope.code).is_none_or(|assumption| assumption.lambdas.is_empty()) {
                    continue;
                }
                let before = ids(&edited.before.index, scope.code);
                let after = ids(&edited.after.index, scope.code);
                has_all &= before.len() == after.len();
                before.iter().zip(&after).for_each(|(before, after)| self.add_lambda(scope, *before, *after));
                edited_scopes.insert(scope);
            }
        }
        self.apply_to_assumptions(&edited_scopes, assumptions);
        has_all
    }

    /// Returns whether an edit has changed nothing in a scope on which other functions depend. If so, adds the
    /// locations of the scope's calls, and its lambdas.
    pub(crate) fn add_types(&mut self, scope: Scope, before: &ScopeTypes, after: &ScopeTypes) -> bool {
        let ScopeTypes {
            calls,
            returns,
            returns_value,
            rebound,
            constructions,
            defaults,
            applied,
            lambdas,
            roots,
            on_datasets,
            facts: _,
            parameters: _,
        } = before;
        let is_same = *returns == after.returns
            && *returns_value == after.returns_value
            && *rebound == after.rebound
            && *constructions == after.constructions
            && *defaults == after.defaults
            && *applied == after.applied
            && *roots == after.roots
            && *on_datasets == after.on_datasets
            && lambdas.len() == after.lambdas.len()
            && lambdas.iter().zip(&after.lambdas).all(|(old, new)| old.parameters == new.parameters)
            && calls.len() == after.calls.len()
            && calls.iter().zip(&after.calls).all(|(old, new)| old.is_same_but_for_positions(new));
        if is_same {
            for (old, new) in lambdas.iter().zip(&after.lambdas) {
                self.add_lambda(scope, old.id, new.id);
            }
            for (old, new) in calls.iter().zip(&after.calls) {
                self.add_location(scope, old.location, new.location);
                for ((_, old), (_, new)) in old.lambdas.iter().zip(&new.lambdas) {
                    self.add_lambda(scope, *old, *new);
                }
            }
        }
        is_same
    }

    pub(crate) fn is_consistent(&self) -> bool {
        !self.is_contradictory
    }

    /// Returns whether the new location of a cause in edited code is known. A cause at a default has no location, and
    /// counts as known.
    pub(crate) fn has_location(&self, cause: &Cause) -> bool {
        cause.location == ScopeLocation::default()
            || self.locations.contains_key(&(cause.scope, cause.location))
    }

    /// Updates a location. Returns whether it differs.
    pub(crate) fn apply(&self, cause: &mut Cause) -> bool {
        let now = self.locations.get(&(cause.scope, cause.location)).copied().unwrap_or(cause.location);
        let differs = now != cause.location;
        cause.location = now;
        differs
    }

    pub(crate) fn lambda(&self, scope: Scope, id: ExprId) -> ExprId {
        self.lambdas.get(&(scope, id)).copied().unwrap_or(id)
    }

    pub(crate) fn apply_to_assumptions(&self, edited: &BTreeSet<Scope>, assumptions: &mut Assumptions) {
        for scope in edited {
            let functions = assumptions.get_mut(&scope.document);
            let assumption = functions.and_then(|functions| functions.get_mut(&scope.code));
            for lambda in assumption.into_iter().flat_map(|assumption| &mut assumption.lambdas) {
                lambda.id = self.lambda(*scope, lambda.id);
            }
        }
    }
}
