//! Updates locations in the state of a run, after an edit that changes nothing but locations.

use ag_index::oracle::Scope;

use crate::fixpoint::{Cause, Fixpoint};
use crate::moves::Moves;

impl Fixpoint {
    /// Returns every location to which the results refer.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        let staged = self.staged.values().map(|staged| &staged.cause);
        let contributions = self.contributions.values().chain(self.by_value.values()).flatten();
        staged.chain(contributions.map(|(_, _, contribution)| &contribution.cause))
    }

    /// Updates locations and lambdas. Returns the functions that have a reason whose location has changed.
    pub fn apply(&mut self, moves: &Moves) -> Vec<Scope> {
        let mut affected = Vec::new();
        for (scope, staged) in &mut self.staged {
            if moves.apply(&mut staged.cause) {
                affected.push(*scope);
            }
        }
        let contributions = self.contributions.values_mut().chain(self.by_value.values_mut());
        for (callee, _, contribution) in contributions.flatten() {
            if moves.apply(&mut contribution.cause) {
                affected.push(*callee);
            }
        }
        for site in self.parameters.values_mut().flatten().flat_map(|assumption| &mut assumption.sites) {
            moves.apply(&mut site.cause);
        }
        for (scope, lambdas) in &mut self.lambdas {
            lambdas.iter_mut().for_each(|lambda| lambda.id = moves.lambda(*scope, lambda.id));
        }
        for (scope, lambdas) in &mut self.passed_lambdas {
            lambdas.iter_mut().for_each(|(id, ..)| *id = moves.lambda(*scope, *id));
        }
        affected
    }
}
