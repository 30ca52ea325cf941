//! The fixpoint of assumptions over the whole project: the types with which every staged function is called.
//!
//! 1. Roots and the functions that they call are staged.
//! 2. *Evidence* is code near staged functions: callers of a staged function (or of its class), their callers, and so
//!    on, up to a few steps. Evidence gets no findings, but the arguments that it passes determine the types of
//!    parameters.
//! 3. Each round infers the types of all these scopes, propagates arguments to parameters and returned
//!    values to results, and updates the assumptions. The fixpoint is reached when nothing changes.
//!
//! The result is a function of the project's texts and settings alone: every run starts from scratch.

mod abstract_methods;
mod by_value;
mod calls;
mod eager_models;
mod evidence;
mod fields;
mod limits;
mod parameters;
mod possible;
mod relocation;
mod roots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::hierarchy::{ClassId, Hierarchy};
use ag_db::Db;
use ag_db::Document;
use ag_index::answers::{Construction, Rebound, ScopeTypes, Target};
use ag_index::assumed::AssumedType;
use ag_index::assumptions::{RootOptions, Source, StaticParameters, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, DocumentIndex, ParameterIndex, RootIndex};
use ag_index::index::{FileIndex, ParameterSyntax, file_index};
use ag_index::lambdas::LambdaTypes;
use ag_index::oracle::{Assumption, Assumptions, Scope};
use ag_index::scope_location::ScopeLocation;
use ag_syntax::expressions::ExprId;

pub use by_value::is_fed_back;
pub use limits::AnalysisLimits;
pub use roots::is_unsupported;

use crate::options::StagingOptions;
use crate::value_flow::{Callable, PossibleCalls};

/// How certain it is that a function is staged if a certain call reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    Certain,
    /// The function overrides a method that staged code of a base class calls on `self`, and its class inherits this
    /// code. So it is staged if there are objects of its class.
    Inherited,
    /// The function may never be staged. Either it overrides a method that is called on `self`, but its class may not
    /// inherit the calling code; or it is a method of a Keras model that the project calls in eager code only.
    Uncertain,
}

/// How a function is staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The length of the call chain from the root.
    pub depth: u8,
    pub dialect: Dialect,
    pub root: Option<RootKind>,
    /// The kind of the root that reaches the function: `root`, if the function is itself a root.
    pub mode: RootKind,
    pub converts: bool,
    pub certainty: Certainty,
    /// Whether only possible calls and roots reach it, and no certain ones: [`PossibleCalls`].
    pub possible: bool,
    /// If `possible`: whether each call and root on the way can reach only one function of the project
    /// ([`crate::value_flow::PossibleCall::is_sole_callee`]).
    pub sole_callees: bool,
    /// Why AutoGraph does not convert it, although its dialect converts functions.
    pub unconverted: Option<Unconverted>,
    /// The declaration of the root, or the call that reaches the function.
    pub cause: Cause,
    pub static_parameters: StaticParameters,
    pub options: RootOptions,
}

/// A location in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub scope: Scope,
    pub location: ScopeLocation,
}

/// The types of scopes, as reported by the oracle.
pub type Answers = BTreeMap<Scope, Arc<ScopeTypes>>;

/// An argument that one call passes for one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    pub cause: Cause,
    /// Whether the argument is bound before the call (`partial(f, fast=False)`). Unlike other arguments, it is not
    /// traced.
    pub bound: bool,
    /// Whether the call is in staged code.
    pub staged: bool,
    /// Whether the call is in code that is analyzed only because it is possibly staged.
    pub possible: bool,
    pub assumed: AssumedType,
}

/// The assumed type of a parameter, and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterAssumption {
    pub source: Option<Source>,
    pub assumed: AssumedType,
    /// The calls that pass an argument for this parameter, in source order.
    pub sites: Vec<Contribution>,
}

/// The state of a run.
pub struct Fixpoint {
    documents: IndexVec<DocumentIndex, Document>,
    positions: FxHashMap<Document, DocumentIndex>,
    options: StagingOptions,
    pub limits: AnalysisLimits,
    /// Empty if functions are not followed as values.
    hierarchy: Hierarchy,
    /// Empty if functions are not followed as values.
    pub possible: Arc<PossibleCalls>,
    /// Whether all certain calls are known. If so, only possible calls are still added.
    is_certain_complete: bool,
    /// The functions that only staged code calls, directly or through other such functions.
    only_staged: BTreeSet<Callable>,
    has_keras2: bool,
    has_keras3: bool,
    /// Whether the project may trace Keras models otherwise than by a call in staged code.
    traces_models: bool,
    /// The names whose callers have been searched for. Calls of other names are not evidence.
    pub names: FxHashSet<Name>,
    /// The functions whose syntax was checked, each with the enabled features and whether AutoGraph supports the
    /// syntax.
    pub checked_syntax: FxHashMap<Scope, Vec<(Vec<Name>, bool)>>,
    pub staged: BTreeMap<Scope, Staged>,
    /// The roots that stage a body only if the enclosing function is staged:
    /// [`ag_index::roots::RootSite::in_staged_code`].
    bodies: Vec<(Scope, RootIndex)>,
    evidence: BTreeMap<Scope, u8>,
    /// The arguments that each scope passes: (callee, parameter, argument).
    contributions: BTreeMap<Scope, Vec<(Scope, ParameterIndex, Contribution)>>,
    /// The Tensors that each scope passes in calls through values ([`by_value`]), in the same form.
    by_value: BTreeMap<Scope, Vec<(Scope, ParameterIndex, Contribution)>>,
    pub parameters: BTreeMap<Scope, IndexVec<ParameterIndex, ParameterAssumption>>,
    returns: BTreeMap<Scope, AssumedType>,
    /// Recursive functions whose result would be unknown without the recursion, too.
    unknown_recursive: BTreeSet<Scope>,
    lambdas: BTreeMap<Scope, Vec<LambdaTypes>>,
    /// The types of defaults that are not literals: [`ScopeTypes::defaults`].
    defaults: BTreeMap<Scope, Vec<(ParameterIndex, AssumedType)>>,
    /// The arguments in calls of parameters, by the function that has the parameter: [`ScopeTypes::applied`].
    applied: BTreeMap<Scope, Vec<(ParameterIndex, Vec<AssumedType>)>>,
    /// The roots that are calls on Datasets, and whose functions are not resolved: [`ScopeTypes::on_datasets`].
    on_datasets: BTreeMap<Scope, Vec<RootIndex>>,
    /// The lambdas that each scope passes to functions: (lambda, callee, parameter).
    passed_lambdas: BTreeMap<Scope, Vec<(ExprId, Scope, ParameterIndex)>>,
    /// Functions that unconverted code calls, with the reason why that call does not convert them. No types depend on
    /// these entries.
    pub called_unconverted: BTreeMap<Scope, Unconverted>,
    /// The calls of generated constructors: [`ScopeTypes::constructions`].
    constructions: BTreeMap<Scope, Vec<Construction>>,
    /// The methods that classes call on `self` and derived classes define, by class. Monotone.
    overridden: BTreeSet<(ClassId, Name)>,
    /// For parameters that a body rebinds, the types of the new values. Monotone: a type is never removed.
    rebound: BTreeMap<(Scope, Name), Rebound>,
}

impl Fixpoint {
    pub fn new(db: &dyn Db, documents: IndexVec<DocumentIndex, Document>, options: StagingOptions) -> Self {
        let positions =
            documents.iter_enumerated().map(|(position, document)| (*document, position)).collect();
        let functions =
            documents.iter().map(|document| file_index(db, *document).definitions.functions.len());
        let limits = AnalysisLimits::of(documents.len(), functions.sum(), &options);
        let hierarchy = if limits.values { Hierarchy::of(db, &documents) } else { Hierarchy::default() };
        let mut fixpoint = Self {
            hierarchy,
            possible: Arc::default(),
            is_certain_complete: false,
            only_staged: BTreeSet::new(),
            has_keras2: documents.iter().any(|document| file_index(db, *document).names_keras2),
            has_keras3: documents.iter().any(|document| file_index(db, *document).names_keras3),
            traces_models: false,
            documents,
            positions,
            limits,
            options,
            names: FxHashSet::default(),
            checked_syntax: FxHashMap::default(),
            staged: BTreeMap::new(),
            bodies: Vec::new(),
            evidence: BTreeMap::new(),
            contributions: BTreeMap::new(),
            by_value: BTreeMap::new(),
            parameters: BTreeMap::new(),
            returns: BTreeMap::new(),
            lambdas: BTreeMap::new(),
            unknown_recursive: BTreeSet::new(),
            defaults: BTreeMap::new(),
            applied: BTreeMap::new(),
            on_datasets: BTreeMap::new(),
            passed_lambdas: BTreeMap::new(),
            called_unconverted: BTreeMap::new(),
            constructions: BTreeMap::new(),
            overridden: BTreeSet::new(),
            rebound: BTreeMap::new(),
        };
        fixpoint.find_tracing_of_models(db);
        fixpoint.find_roots(db);
        if !fixpoint.is_idle() {
            fixpoint.find_evidence(db);
            fixpoint.recompute(db);
        }
        fixpoint
    }

    /// Returns whether no types need to be inferred: no function is staged, and there is no evidence.
    pub fn is_idle(&self) -> bool {
        self.staged.is_empty() && self.evidence.is_empty()
    }

    /// Returns all scopes whose types are inferred, in order.
    pub fn scopes(&self, db: &dyn Db) -> Vec<Scope> {
        let staged = self.staged.keys().filter(|scope| self.is_typed(db, **scope));
        let mut scopes: Vec<_> = staged.chain(self.evidence.keys()).copied().collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    fn index<'db>(&self, db: &'db dyn Db, scope: Scope) -> &'db FileIndex {
        file_index(db, self.documents[scope.document])
    }

    /// Returns all documents, in the order of their indices.
    pub fn documents(&self) -> &IndexSlice<DocumentIndex, Document> {
        &self.documents
    }

    /// Returns the position of a document in the list of documents.
    pub fn position(&self, document: Document) -> Option<DocumentIndex> {
        self.positions.get(&document).copied()
    }

    pub fn document(&self, scope: Scope) -> Document {
        self.documents[scope.document]
    }

    /// Returns whether the types of a staged function are inferred.
    pub fn is_typed(&self, db: &dyn Db, scope: Scope) -> bool {
        !self.limits.selective
            || self.index(db, scope).signature(scope.code).is_some_and(|signature| signature.tests_values)
    }

    /// Updates the assumptions from the answers of a round. Returns whether anything changed.
    pub fn absorb(&mut self, db: &dyn Db, answers: &Answers) -> bool {
        let mut changed = false;
        if !self.is_certain_complete {
            self.called_unconverted.clear();
        }
        for (scope, types) in answers {
            changed |= self.absorb_roots(db, *scope, types);
            changed |= self.absorb_calls(db, *scope, types);
            if self.is_inferred_again(*scope) {
                continue;
            }
            changed |= replace_answer(&mut self.lambdas, *scope, &types.lambdas);
            changed |= replace_answer(&mut self.on_datasets, *scope, &types.on_datasets);
            changed |= replace_answer(&mut self.constructions, *scope, &types.constructions);
            changed |= replace_answer(&mut self.applied, *scope, &types.applied);
            changed |= replace_answer(&mut self.defaults, *scope, &types.defaults);
            for (name, rebound) in &types.rebound {
                let known = self.rebound.entry((*scope, name.clone())).or_default();
                let before = known.clone();
                known.others.join(&rebound.others);
                known.tensors.join(&rebound.tensors);
                changed |= *known != before;
            }
            if scope.code != Code::Module {
                let mut returns = types.returns.clone();
                if returns.unknown && !returns.is_empty() && self.is_recursive(db, *scope, types) {
                    returns.unknown = self.is_unknown_without_recursion(*scope, &returns);
                }
                if returns.unknown {
                    changed |= self.add_nested_evidence(db, *scope);
                }
                if self.returns.get(scope) != Some(&returns) {
                    self.returns.insert(*scope, returns);
                    changed = true;
                }
            }
        }
        changed |= self.convert_nested(db);
        if self.is_certain_complete {
            changed |= self.contribute_by_value(db, answers);
            changed |= self.follow_possible_calls(db);
        }
        changed |= self.stage_bodies(db);
        self.recompute(db);
        changed
    }

    fn is_recursive(&self, db: &dyn Db, scope: Scope, types: &ScopeTypes) -> bool {
        let mut targets = types.calls.iter().flat_map(|call| &call.targets);
        targets.any(|target| self.scope_of(db, target) == Some(scope))
    }

    /// Adds the functions nested in `scope` to the evidence: `scope` may return one of them, or the result of one.
    /// Returns whether any was added.
    fn add_nested_evidence(&mut self, db: &dyn Db, scope: Scope) -> bool {
        if self.limits.selective
            || self.is_certain_complete
            || self.evidence.len() >= self.limits.evidence_scopes
        {
            return false;
        }
        let distance = self.evidence.get(&scope).copied().unwrap_or_default();
        let functions = &file_index(db, self.documents[scope.document]).definitions.functions;
        let mut changed = false;
        for (function, entry) in functions.iter_enumerated() {
            let nested = Scope { document: scope.document, code: Code::Function(function) };
            if entry.parent == scope.code.function()
                && entry.class.is_none()
                && !self.staged.contains_key(&nested)
                && !self.evidence.contains_key(&nested)
            {
                self.evidence.insert(nested, distance);
                changed = true;
            }
        }
        changed
    }

    /// Returns whether the result of a recursive function would be unknown without the recursion, too. In the first
    /// round it is unknown because of the recursion, and is assumed to be the union of the other returned values. If
    /// part of it is still unknown in the next round, the recursion is not the reason.
    fn is_unknown_without_recursion(&mut self, scope: Scope, returns: &AssumedType) -> bool {
        let tried = self
            .returns
            .get(&scope)
            .is_some_and(|known| !known.unknown && known.alternatives().eq(returns.alternatives()));
        if tried {
            self.unknown_recursive.insert(scope);
        }
        self.unknown_recursive.contains(&scope)
    }

    /// Marks functions nested in converted functions as converted: AutoGraph converts them together, whoever calls
    /// them. Returns whether any was added.
    fn convert_nested(&mut self, db: &dyn Db) -> bool {
        let nested: Vec<Scope> = self
            .staged
            .iter()
            .filter(|(_, staged)| staged.unconverted.is_some_and(|reason| reason != Unconverted::Syntax))
            .filter(|(scope, _)| {
                let entry =
                    self.index(db, **scope).function(scope.code).filter(|entry| entry.class.is_none());
                let parent = entry.and_then(|entry| entry.parent);
                parent.is_some_and(|function| {
                    let parent = self.staged.get(&Scope { document: scope.document, code: function.into() });
                    parent.is_some_and(|parent| parent.converts)
                })
            })
            .map(|(scope, _)| *scope)
            .collect();
        for scope in &nested {
            if let Some(staged) = self.staged.get_mut(scope) {
                staged.converts = true;
                staged.unconverted = None;
            }
        }
        !nested.is_empty()
    }

    fn scope_of(&self, db: &dyn Db, target: &Target) -> Option<Scope> {
        let document = *self.positions.get(&target.document)?;
        let (function, entry) = file_index(db, target.document).definitions.find(&target.path)?;
        // The type engine takes the type of a name from its `def`, even if an assignment replaces the function.
        (!entry.replaced).then_some(Scope { document, code: Code::Function(function) })
    }

    /// Returns the current assumptions, by document and function.
    pub fn assumptions(&self, db: &dyn Db) -> Assumptions {
        let mut assumptions = Assumptions::new();
        for (scope, parameters) in &self.parameters {
            let Some(signature) = self.index(db, *scope).signature(scope.code) else {
                continue;
            };
            let assumed = |(parameter, syntax): (&ParameterAssumption, &ParameterSyntax)| {
                let mut assumed = parameter.assumed.clone();
                // TorchScript does not allow a name to change its annotated type.
                let is_fixed = syntax.annotated
                    && self.typed_as(*scope).is_some_and(|staged| staged.mode == RootKind::TorchScript);
                if let Some(rebound) = self.rebound.get(&(*scope, syntax.name.clone()))
                    && !is_fixed
                {
                    assumed.join(&rebound.others);
                    if assumed.has_placeholder() {
                        assumed.join(&rebound.tensors);
                    }
                }
                (!assumed.is_empty() || assumed.unknown && syntax.annotated).then_some(assumed)
            };
            let assumption = Assumption {
                lambdas: Vec::new(),
                parameters: parameters.iter().zip(&signature.parameters).map(assumed).collect(),
                replaced: parameters
                    .iter_enumerated()
                    .zip(&signature.parameters)
                    .filter(|((_, parameter), syntax)| {
                        let one_type = syntax
                            .annotation
                            .is_some_and(|annotation| annotation.number || annotation.tensor);
                        one_type && parameter.source.is_some_and(|source| source != Source::Annotation)
                    })
                    .map(|((position, _), _)| position)
                    .collect(),
                initial: parameters
                    .iter_enumerated()
                    .zip(&signature.parameters)
                    .filter(|((_, parameter), syntax)| {
                        let rebound = self.rebound.get(&(*scope, syntax.name.clone()));
                        let changes = |it: &Rebound| {
                            it.others.unknown || parameter.assumed.has_placeholder() && !it.tensors.is_empty()
                        };
                        rebound.is_some_and(changes) && is_one_type(&parameter.assumed)
                    })
                    .map(|((position, parameter), _)| (position, parameter.assumed.clone()))
                    .collect(),
                returns: self.returns.get(scope).filter(|returns| !returns.is_empty()).cloned(),
                converts: self.typed_as(*scope).is_some_and(|staged| staged.converts),
                ..Assumption::default()
            };
            assumptions.entry(scope.document).or_default().insert(scope.code, assumption);
        }
        self.add_overriding_results(db, &mut assumptions);
        self.add_fields(db, &mut assumptions);
        for (scope, lambdas) in &self.lambdas {
            let functions = assumptions.entry(scope.document).or_default();
            functions.entry(scope.code).or_default().lambdas.clone_from(lambdas);
        }
        for (scope, lambdas) in &self.passed_lambdas {
            let functions = assumptions.entry(scope.document).or_default();
            let known = &mut functions.entry(scope.code).or_default().lambdas;
            for (id, callee, parameter) in lambdas {
                let parameters = self.applied_to(*callee, *parameter);
                if !known.iter().any(|types| types.id == *id) && !parameters.is_empty() {
                    known.push(LambdaTypes { id: *id, parameters: IndexVec::from_raw(parameters) });
                }
            }
        }
        assumptions
    }
}

/// Returns whether a type has exactly one alternative, which is not `None`. If it were `None`, the type engine would
/// treat code after tests such as `x is None` as unreachable.
fn is_one_type(assumed: &AssumedType) -> bool {
    match assumed.alternatives() {
        [one] => !assumed.unknown && !one.is_none(),
        _ => false,
    }
}

/// Replaces the previous answer of a scope. Returns whether the new one differs.
fn replace_answer<T: Clone + PartialEq>(
    known: &mut BTreeMap<Scope, Vec<T>>,
    scope: Scope,
    answer: &[T],
) -> bool {
    let differs = known.get(&scope).map_or(&[][..], Vec::as_slice) != answer;
    if differs {
        known.insert(scope, answer.to_vec());
    }
    differs
}
