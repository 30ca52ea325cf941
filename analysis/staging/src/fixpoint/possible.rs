//! Functions that staged code possibly calls because they are values of variables, fields or containers. They are
//! staged too. Findings in them are info, or at most warnings if the calls can reach no other function. No certain
//! result depends on these functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ag_db::Db;
use ag_index::assumptions::{RootOptions, StaticParameters, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, DocumentIndex, RootIndex};
use ag_index::index::file_index;
use ag_index::oracle::Scope;
use ag_index::value_flow::{Owner, SiteIndex};

use crate::fixpoint::parameters::takes_receiver;
use crate::fixpoint::{Answers, Cause, Certainty, Fixpoint, Staged};
use crate::value_flow::{Callable, PossibleCalls, PossibleRoot, StagingFunction};

/// The maximum length of a chain of possible calls.
const MAX_DEPTH: u8 = 48;

impl Fixpoint {
    /// Stages the functions that are possibly reached, after all certain ones are known. Uses the possible calls in
    /// `known`, if any, and computes them otherwise. Returns whether any function was staged.
    pub(crate) fn add_possible_calls(
        &mut self,
        db: &dyn Db,
        known: Option<Arc<PossibleCalls>>,
        answers: &Answers,
    ) -> bool {
        if !self.limits.values || self.is_idle() {
            return false;
        }
        self.possible = known.unwrap_or_else(|| Arc::new(self.solved(db)));
        self.is_certain_complete = true;
        let changed = self.follow_possible_calls(db);
        self.contribute_by_value(db, answers);
        self.recompute(db);
        changed
    }

    pub(crate) fn solved(&self, db: &dyn Db) -> PossibleCalls {
        PossibleCalls::of(db, &self.documents, &self.hierarchy)
    }

    pub(crate) fn has_same_hierarchy(&self, other: &Self) -> bool {
        self.hierarchy == other.hierarchy
    }

    /// Returns whether the types of a scope are inferred only because it is possibly staged.
    pub(super) fn is_only_possible(&self, scope: Scope) -> bool {
        self.typed_as(scope).is_some_and(|staged| staged.possible)
    }

    /// Returns the stage under which types are inferred in a scope; `None` if the scope is only evidence. Possible
    /// calls may also stage a scope that is evidence. Such a scope counts as evidence here, unless these calls can
    /// reach no other function of the project, or only staged code calls the function.
    pub(super) fn typed_as(&self, scope: Scope) -> Option<&Staged> {
        self.staged.get(&scope).filter(|staged| {
            !staged.possible
                || staged.sole_callees
                || !self.evidence.contains_key(&scope)
                || self.is_called_by_staged_code_only(scope)
        })
    }

    /// Returns whether the types of a scope are inferred again although they are known. This is the case if possible
    /// calls that can reach no other function, or only possible calls in staged code, stage a scope that was evidence.
    /// The arguments that the scope passes do not change.
    pub(crate) fn is_inferred_again(&self, scope: Scope) -> bool {
        self.is_certain_complete && self.evidence.contains_key(&scope) && self.is_only_possible(scope)
    }

    /// Returns the location of a site.
    pub(crate) fn site_cause(&self, db: &dyn Db, document: DocumentIndex, site: SiteIndex) -> Option<Cause> {
        let (code, range) = self.possible.site(document, site)?;
        let location = file_index(db, self.documents[document]).location(code, range);
        Some(Cause { scope: Scope { document, code }, location })
    }

    /// Follows possible roots and calls. Returns whether this stages any function that was not staged before.
    pub(super) fn follow_possible_calls(&mut self, db: &dyn Db) -> bool {
        let possible = Arc::clone(&self.possible);
        let before = self.staged.len();
        // First follow the calls that can reach only one function each.
        self.follow_calls(db, &possible, true);
        self.follow_calls(db, &possible, false);
        self.only_staged = self.called_by_staged_code(&possible);
        self.staged.len() != before
    }

    /// Returns the functions that only staged code calls, directly or through other such functions. A call may reach
    /// several of them, but each is staged whenever it is called.
    ///
    /// ```python
    /// transforms = [clip(1.0), momentum(0.9)]       # the functions `update` of two objects
    ///
    /// @jax.jit
    /// def step(grads):
    ///     for transform in transforms:
    ///         grads = transform.update(grads)       # calls both
    /// ```
    fn called_by_staged_code(&self, possible: &PossibleCalls) -> BTreeSet<Callable> {
        let mut callers: BTreeMap<Callable, Vec<Callable>> = BTreeMap::new();
        for (caller, calls) in &possible.calls {
            for call in calls {
                callers.entry(call.callee).or_default().push(*caller);
            }
        }
        let is_root = |scope: &Scope| {
            let staged = self.staged.get(scope);
            staged.is_some_and(|it| {
                it.root.is_some() && it.mode != RootKind::JaxGrad && it.certainty != Certainty::Uncertain
            })
        };
        let roots = self.staged.keys().filter(|scope| is_root(scope));
        let mut found: BTreeSet<Callable> = roots
            .map(|scope| Callable { document: scope.document, owner: Owner::Code(scope.code) })
            .collect();
        let known = found.clone();
        found.extend(callers.keys().filter(|callee| !possible.called_outside.contains(callee)));
        loop {
            let is_called_otherwise = |callee: &&Callable| {
                let callers = callers.get(*callee).into_iter().flatten();
                !known.contains(*callee) && callers.into_iter().any(|caller| !found.contains(caller))
            };
            let others: Vec<Callable> = found.iter().filter(is_called_otherwise).copied().collect();
            if others.is_empty() {
                return found;
            }
            for other in others {
                found.remove(&other);
            }
        }
    }

    /// Returns whether a function that is possibly staged is staged whenever it is called.
    pub(crate) fn is_staged_if_called(&self, scope: Scope, staged: &Staged) -> bool {
        staged.sole_callees && staged.certainty != Certainty::Uncertain
            || self.is_called_by_staged_code_only(scope)
    }

    fn is_called_by_staged_code_only(&self, scope: Scope) -> bool {
        self.only_staged.contains(&Callable { document: scope.document, owner: Owner::Code(scope.code) })
    }

    /// Follows possible roots and calls. If `only` is true, follows those to which a single function flows.
    fn follow_calls(&mut self, db: &dyn Db, possible: &PossibleCalls, only: bool) {
        let mut lambdas: BTreeMap<Callable, Staged> = BTreeMap::new();
        let mut queue: Vec<(Callable, Staged)> = Vec::new();
        for (scope, staged) in &self.staged {
            let is_left_out = only && staged.possible && !staged.sole_callees;
            if is_left_out || staged.mode == RootKind::JaxGrad {
                continue;
            }
            let owner = Owner::Code(scope.code);
            queue.push((Callable { document: scope.document, owner }, staged.clone()));
        }
        for root in possible.roots.iter().filter(|root| root.is_sole_function || !only) {
            let Some(staged) = self.possible_root(db, root) else { continue };
            if self.add_possible(db, root.function, &staged, &mut lambdas) {
                queue.push((root.function, staged));
            }
        }
        // The code of a lambda belongs to the enclosing function.
        let mut nested: BTreeMap<Scope, Vec<Callable>> = BTreeMap::new();
        for caller in possible.calls.keys().filter(|caller| matches!(caller.owner, Owner::Lambda(_))) {
            let Some(code) = possible.code_of(*caller) else { continue };
            nested.entry(Scope { document: caller.document, code }).or_default().push(*caller);
        }
        let mut at = 0;
        while let Some((caller, staged)) = queue.get(at).cloned() {
            at += 1;
            if staged.depth >= MAX_DEPTH {
                continue;
            }
            if let Some(code) = caller.function() {
                let scope = Scope { document: caller.document, code };
                for lambda in nested.get(&scope).into_iter().flatten() {
                    if lambdas.insert(*lambda, staged.clone()).is_none() {
                        queue.push((*lambda, staged.clone()));
                    }
                }
            }
            let is_only_caller = !staged.possible || staged.sole_callees;
            for call in possible.calls.get(&caller).into_iter().flatten() {
                if only && !call.is_sole_callee {
                    continue;
                }
                let caller_staged = Staged {
                    possible: true,
                    sole_callees: is_only_caller && call.is_sole_callee,
                    ..staged.clone()
                };
                if caller_staged.mode == RootKind::TorchScript
                    && !(self.is_method(db, caller) && self.is_forward(db, call.callee))
                {
                    continue;
                }
                let Some(cause) = self.site_cause(db, caller.document, call.site) else { continue };
                let reached = match call.callee.function() {
                    Some(code) if !self.is_staged(call.callee, only) => {
                        let callee = Scope { document: call.callee.document, code };
                        self.reached(db, &caller_staged, callee, cause, false)
                    }
                    Some(_) => None,
                    None => Some(Staged { depth: caller_staged.depth + 1, ..caller_staged.clone() }),
                };
                let Some(reached) = reached else { continue };
                if self.add_possible(db, call.callee, &reached, &mut lambdas) {
                    queue.push((call.callee, reached));
                }
            }
        }
    }

    /// Returns whether a callable is the `forward` method of a module that TorchScript compiles. TorchScript selects
    /// called functions by static types, and has no functions as values. The only values that it calls are modules,
    /// which are attributes of modules: `self.layers[i](x)`.
    fn is_forward(&self, db: &dyn Db, callable: Callable) -> bool {
        let index = file_index(db, self.documents[callable.document]);
        callable.function().is_some_and(|code| {
            self.is_method(db, callable) && index.function(code).is_some_and(|it| it.path.name() == "forward")
        })
    }

    /// Returns whether a root such as `data.map(f)` is a call on a Dataset.
    fn is_on_dataset(&self, scope: Scope, site: RootIndex) -> bool {
        self.on_datasets.get(&scope).is_some_and(|sites| sites.contains(&site))
    }

    fn is_method(&self, db: &dyn Db, callable: Callable) -> bool {
        callable.function().is_some_and(|code| {
            let scope = Scope { document: callable.document, code };
            takes_receiver(self.index(db, scope), scope)
        })
    }

    /// Returns whether a function is already staged. With `only`, returns false for a function that is staged only by
    /// calls that may also reach other functions, because a call that can reach no other function makes the stage more
    /// certain.
    fn is_staged(&self, callable: Callable, only: bool) -> bool {
        callable.function().is_some_and(|code| {
            let staged = self.staged.get(&Scope { document: callable.document, code });
            staged.is_some_and(|staged| !only || !staged.possible || staged.sole_callees)
        })
    }

    /// Stages a function or lambda that is possibly reached. Returns whether it was not staged before.
    fn add_possible(
        &mut self,
        db: &dyn Db,
        callable: Callable,
        staged: &Staged,
        lambdas: &mut BTreeMap<Callable, Staged>,
    ) -> bool {
        match callable.owner {
            Owner::Lambda(_) => lambdas.insert(callable, staged.clone()).is_none(),
            Owner::Code(Code::Module) => false,
            Owner::Code(code) => {
                let scope = Scope { document: callable.document, code };
                !self.is_staged(callable, staged.sole_callees) && self.stage(db, scope, staged.clone())
            }
        }
    }

    fn possible_root(&self, db: &dyn Db, root: &PossibleRoot) -> Option<Staged> {
        let cause = self.site_cause(db, root.document, root.site)?;
        let staged = match root.staged_by {
            StagingFunction::Site(position) => {
                let site = file_index(db, self.documents[root.document]).roots.get(position)?;
                let function =
                    root.function.function().map(|code| Scope { document: root.function.document, code });
                let signature = function.and_then(|scope| self.index(db, scope).signature(scope.code));
                // A method that flows to a root is bound to its object.
                let bound = function.is_some_and(|scope| takes_receiver(self.index(db, scope), scope));
                let declared = Scope { document: root.document, code: site.scope };
                if site.in_staged_code && !self.staged.contains_key(&declared) {
                    return None;
                }
                if site.receiver.is_some() && !self.is_on_dataset(declared, position) {
                    return None;
                }
                let site = self.with_library(db, root.document, site);
                let around = site.in_staged_code.then(|| self.staged.get(&declared)).flatten();
                let sole_callees = root.is_sole_function
                    && around.is_none_or(|around| !around.possible || around.sole_callees);
                Staged {
                    possible: true,
                    sole_callees,
                    ..Staged::at(&site, signature, usize::from(bound), cause)
                }
            }
            StagingFunction::Value(dialect, kind) => Staged {
                depth: 0,
                dialect,
                root: Some(kind),
                mode: kind,
                converts: dialect.converts(),
                certainty: Certainty::Certain,
                possible: true,
                sole_callees: root.is_sole_function,
                unconverted: (dialect == Dialect::Keras).then_some(Unconverted::Keras),
                cause,
                static_parameters: StaticParameters { more: true, ..StaticParameters::default() },
                options: RootOptions::default(),
            },
        };
        if staged.mode == RootKind::TorchScript && !self.is_forward(db, root.function) {
            return None;
        }
        self.is_selected(staged.dialect).then_some(staged)
    }
}
