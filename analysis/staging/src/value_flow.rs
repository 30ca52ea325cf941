//! Finds the functions that a call may reach where functions are values: in variables, fields, containers, arguments
//! and results.
//!
//! This solves the constraints of all files ([`ag_index::value_flow`]). It ignores types, contexts and the order of
//! execution, so the calls that it finds are possible, but not certain. Findings that depend on such a call are info,
//! unless no other function of the project reaches the call ([`PossibleCall::is_sole_callee`]), or staged code alone
//! calls the function.
//!
//! ```text
//! values       functions, objects and containers, and the cells that hold them
//! constraints  adds the constraints of a file
//! solve        propagates values until nothing changes
//! lookup       resolution of names: imports, variables of modules, attributes of classes
//! loads        attributes and elements of values
//! calls        calls of values
//! libraries    calls of functions outside the project
//! unresolved   decorators and objects about which nothing is known
//! carried      keeps the solution after edits
//! ```

mod calls;
mod carried;
mod constraints;
mod declared;
mod libraries;
mod loads;
mod lookup;
mod solve;
mod unresolved;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ag_db::{Db, Document};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, DocumentIndex, RootIndex};
use ag_index::oracle::Scope;
use ag_index::value_flow::{FileFlow, Owner, SiteIndex};
use ruff_index::{IndexSlice, IndexVec};
use ruff_text_size::TextRange;

use crate::hierarchy::Hierarchy;

pub(crate) use carried::EditedFlow;

/// A function or lambda of the project, or the code of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Callable {
    pub document: DocumentIndex,
    pub owner: Owner,
}

/// A call that may reach a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PossibleCall {
    pub callee: Callable,
    /// The expression of the call, in the caller's document.
    pub site: SiteIndex,
    /// Whether `callee` is the only function of the project that the call may reach.
    pub is_sole_callee: bool,
    /// The number of leading parameters that are bound before the call, as in `partial(f, 1)`; 0 unless
    /// `is_sole_callee`.
    pub bound: u8,
}

/// A root or library function that stages functions which flow to it as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StagingFunction {
    /// A root in the document's index. Its function is not known by name: `jax.jit(self.loss)`.
    Site(RootIndex),
    /// A library function that is itself a value: in `def run(jit, f): jit(f)`, called with `jax.jit`.
    Value(Dialect, RootKind),
}

/// A function that possibly flows to a call that stages it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PossibleRoot {
    pub document: DocumentIndex,
    pub site: SiteIndex,
    pub staged_by: StagingFunction,
    pub function: Callable,
    /// Whether `function` is the only function of the project that flows to `site`.
    pub is_sole_function: bool,
}

/// The calls and roots that are possible in a project.
#[derive(Clone, Debug, Default)]
pub struct PossibleCalls {
    pub calls: BTreeMap<Callable, Vec<PossibleCall>>,
    /// For each function with possible calls, the code that makes them: the function itself and its lambdas.
    callers: BTreeMap<Scope, Vec<Callable>>,
    pub roots: Vec<PossibleRoot>,
    /// The functions that code of a module or an object of a library may call.
    pub called_outside: BTreeSet<Callable>,
    /// The value flow of each document.
    pub flows: IndexVec<DocumentIndex, Arc<FileFlow>>,
    /// The number of steps that solving took: how often a use was applied to a value.
    pub steps: usize,
    /// Constraints have changed since they were solved, so calls may be missing.
    pub is_stale: bool,
}

impl PossibleCalls {
    pub fn of(db: &dyn Db, documents: &IndexSlice<DocumentIndex, Document>, hierarchy: &Hierarchy) -> Self {
        solve::solve(db, documents, hierarchy).with_callers()
    }

    /// Returns whether both have the same calls and roots, apart from the site ids of edited documents.
    pub fn is_same_but_for_sites(&self, other: &Self, is_edited: impl Fn(DocumentIndex) -> bool) -> bool {
        let site = |document, site| (!is_edited(document)).then_some(site);
        let call = |caller: &Callable, call: &PossibleCall| {
            (call.callee, site(caller.document, call.site), call.is_sole_callee, call.bound)
        };
        let root = |root: &PossibleRoot| {
            (
                root.document,
                site(root.document, root.site),
                root.staged_by,
                root.function,
                root.is_sole_function,
            )
        };
        self.calls.len() == other.calls.len()
            && self.calls.iter().zip(&other.calls).all(|((caller, calls), (other_caller, others))| {
                caller == other_caller
                    && calls.iter().map(|it| call(caller, it)).eq(others.iter().map(|it| call(caller, it)))
            })
            && self.roots.iter().map(root).eq(other.roots.iter().map(root))
            && self.called_outside == other.called_outside
    }

    /// Returns the sites of all possible calls and roots in a document, in order, each with its code and its
    /// expression.
    pub fn sites(&self, document: DocumentIndex) -> Vec<(Code, TextRange)> {
        let calls = self.calls.iter().filter(|(caller, _)| caller.document == document);
        let calls = calls.flat_map(|(_, calls)| calls.iter().map(|call| call.site));
        let roots = self.roots.iter().filter(|root| root.document == document).map(|root| root.site);
        calls.chain(roots).filter_map(|site| self.site(document, site)).collect()
    }

    /// Returns the code and the expression of a site.
    pub fn site(&self, document: DocumentIndex, site: SiteIndex) -> Option<(Code, TextRange)> {
        let flow = self.flows.get(document)?;
        Some((flow.code.code_around(*flow.code.owners.get(site)?), *flow.ranges.get(site)?))
    }

    /// Returns the calls in the code of a function, including its lambdas; `None` if there are none.
    pub fn calls_in(&self, scope: Scope) -> Option<impl Iterator<Item = &PossibleCall>> {
        let callers = self.callers.get(&scope)?;
        Some(callers.iter().filter_map(|caller| self.calls.get(caller)).flatten())
    }

    /// Fills in `callers`.
    pub(crate) fn with_callers(mut self) -> Self {
        let mut callers: BTreeMap<Scope, Vec<Callable>> = BTreeMap::new();
        for caller in self.calls.keys() {
            if let Some(code) = self.code_of(*caller) {
                callers.entry(Scope { document: caller.document, code }).or_default().push(*caller);
            }
        }
        self.callers = callers;
        self
    }

    /// Returns the code that contains a callable: the function itself, or the code around a lambda.
    pub fn code_of(&self, callable: Callable) -> Option<Code> {
        Some(self.flows.get(callable.document)?.code.code_around(callable.owner))
    }
}

impl Callable {
    pub fn function(self) -> Option<Code> {
        match self.owner {
            Owner::Code(code @ Code::Function(_)) => Some(code),
            _ => None,
        }
    }
}
