//! The fixpoint of assumptions: what every staged function is called with, over the whole project.
//!
//! 1. Roots are staged, and so is what they call.
//! 2. Around them lies *evidence*: code that calls a staged function (or constructs its class), code
//!    that calls that code, a few steps far. It is never reported on, but its arguments speak.
//! 3. Each round asks the types of all these scopes, moves arguments into parameters and returns into
//!    results, and rewrites the ghost views. It stops when nothing changes.
//!
//! The result is a function of the project's texts and settings alone: every run starts from nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ruff_python_ast::name::Name;
use rustc_hash::FxHashMap;

use super::assumed::AssumedType;
use super::assumptions::{RootOptions, Source, Unconverted};
use super::dialect::{Dialect, RootKind};
use super::ghost::Assumption;
use super::hierarchy::{ClassId, Hierarchy};
use super::index::{
    DefaultValue, FileIndex, FunctionId, MODULE, ParameterKind, ParameterSyntax, file_index, function_ast,
};
use super::lambdas::{LambdaStage, LambdaTypes};
use super::place::Place;
use super::roots::{Reference, RootSite, RootTarget};
use super::types::{ArgumentPlace, CallSite, ScopeTypes, Target, function_types, module_types};
use crate::config::Settings;
use crate::db::Db;
use crate::project::Document;
use crate::syntax::unsupported;

/// How far from the roots is looked. Nearest first, so that a nearer horizon sees a part of what a
/// farther one sees; a project of many files would else be read as a whole for a few roots.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// Types travel one call a round.
    pub rounds: usize,
    /// How many calls deep from a root functions count as staged.
    reach: u8,
    /// How many calls away from staged code evidence is looked for.
    distance: u8,
    /// How many scopes of evidence are read.
    evidence: usize,
    /// A name called from more scopes than this says too little about each.
    callers: usize,
    /// Types are asked only of functions that decide on values ([`super::index::Signature::tests_values`]).
    pub selective: bool,
}

impl Horizon {
    fn of(files: usize, thorough: bool) -> Self {
        if thorough && files > 64 {
            let (evidence, callers) = (20_000, 64);
            return Self { rounds: 8, reach: 32, distance: 3, evidence, callers, selective: false };
        }
        match files {
            0..=64 => Self {
                rounds: 8,
                reach: 32,
                distance: 4,
                evidence: 1_500,
                callers: usize::MAX,
                selective: false,
            },
            65..=256 => {
                Self { rounds: 5, reach: 8, distance: 2, evidence: 300, callers: 32, selective: false }
            }
            _ => Self { rounds: 1, reach: 1, distance: 1, evidence: 16, callers: 4, selective: true },
        }
    }
}

/// A function of a document by its position in the file index, or the module's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// Position in the list of documents.
    pub document: u32,
    pub function: u32,
}

/// How a function comes to be staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Calls from the nearest root.
    pub depth: u8,
    pub dialect: Dialect,
    pub root: Option<RootKind>,
    /// The kind of the root that it is, or that reaches it.
    pub mode: RootKind,
    pub converts: bool,
    /// It is reached where a method of a base class is called on `self`.
    pub overriding: bool,
    /// Why it is not converted, where its dialect would.
    pub unconverted: Option<Unconverted>,
    /// Where the root is declared, or the call that reaches the function.
    pub cause: Cause,
    pub options: RootOptions,
}

/// A place inside a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub scope: Scope,
    pub place: Place,
}

/// The types of scopes, as they were told.
pub type Answers = BTreeMap<Scope, Arc<ScopeTypes>>;

/// What is assumed in each document: [`Fixpoint::assumptions`].
pub type Assumptions = BTreeMap<u32, BTreeMap<u32, Assumption>>;

/// What one call gives to one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    pub cause: Cause,
    /// Bound before the call (`partial(f, fast=False)`): stays as it is when the rest is traced.
    pub bound: bool,
    pub assumed: AssumedType,
}

/// Whether AutoGraph refuses a function for its text, without optional features.
#[salsa::tracked(returns(ref))]
fn is_unsupported<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> bool {
    let imports = &file_index(db, function.document(db)).imports;
    function_ast(db, function)
        .as_ref()
        .is_some_and(|ast| !unsupported::find(function.path(db), ast, imports, &[]).is_empty())
}

/// What is assumed of a parameter, and on whose word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterAssumption {
    pub source: Option<Source>,
    pub assumed: AssumedType,
    /// The call sites that spoke, in source order.
    pub sites: Vec<Contribution>,
}

/// The state of a run.
pub struct Fixpoint {
    documents: Vec<Document>,
    numbers: FxHashMap<Document, u32>,
    settings: Arc<Settings>,
    pub horizon: Horizon,
    /// Empty where the horizon is selective.
    hierarchy: Hierarchy,
    /// Functions and classes by their last name: who may be meant by a call of that name.
    callers: FxHashMap<Name, Vec<Scope>>,
    pub staged: BTreeMap<Scope, Staged>,
    evidence: BTreeMap<Scope, u8>,
    contributions: BTreeMap<Scope, Vec<(Scope, u32, Contribution)>>,
    pub parameters: BTreeMap<Scope, Vec<ParameterAssumption>>,
    returns: BTreeMap<Scope, AssumedType>,
    lambdas: BTreeMap<Scope, Vec<LambdaTypes>>,
    /// Parameters that the body binds to something else; once seen, for good.
    rebound: BTreeSet<(Scope, Name)>,
}

impl Staged {
    fn at(site: &RootSite, cause: Cause) -> Self {
        let unconverted = match site.kind {
            _ if site.converts || matches!(site.dialect, Dialect::Torch | Dialect::Jax) => None,
            RootKind::KerasMethod => Some(Unconverted::Keras),
            RootKind::ControlFlowBody => Some(Unconverted::Body),
            _ => Some(Unconverted::Option),
        };
        Self {
            depth: 0,
            dialect: site.dialect,
            root: Some(site.kind),
            mode: site.kind,
            converts: site.converts,
            overriding: false,
            unconverted,
            cause,
            options: site.options.clone(),
        }
    }
}

impl Fixpoint {
    pub fn new(db: &dyn Db, documents: Vec<Document>, settings: Arc<Settings>) -> Self {
        let numbers =
            documents.iter().enumerate().map(|(number, document)| (*document, number as u32)).collect();
        let horizon = Horizon::of(documents.len(), settings.thorough);
        let hierarchy = if horizon.selective { Hierarchy::default() } else { Hierarchy::of(db, &documents) };
        let mut fixpoint = Self {
            hierarchy,
            documents,
            numbers,
            horizon,
            settings,
            callers: FxHashMap::default(),
            staged: BTreeMap::new(),
            evidence: BTreeMap::new(),
            contributions: BTreeMap::new(),
            parameters: BTreeMap::new(),
            returns: BTreeMap::new(),
            lambdas: BTreeMap::new(),
            rebound: BTreeSet::new(),
        };
        fixpoint.find_roots(db);
        if !fixpoint.is_idle() {
            fixpoint.index_callers(db);
            fixpoint.find_evidence(db);
            fixpoint.recompute(db);
        }
        fixpoint
    }

    /// Nothing is staged anywhere, and nothing needs types to tell.
    pub fn is_idle(&self) -> bool {
        self.staged.is_empty() && self.evidence.is_empty()
    }

    /// All scopes whose types matter, in order.
    pub fn scopes(&self, db: &dyn Db) -> Vec<Scope> {
        let staged = self.staged.keys().filter(|scope| self.is_typed(db, **scope));
        let mut scopes: Vec<_> = staged.chain(self.evidence.keys()).copied().collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    fn index<'db>(&self, db: &'db dyn Db, scope: Scope) -> &'db FileIndex {
        file_index(db, self.documents[scope.document as usize])
    }

    /// All documents, by number.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    pub fn document(&self, scope: Scope) -> Document {
        self.documents[scope.document as usize]
    }

    fn find_roots(&mut self, db: &dyn Db) {
        for number in 0..self.documents.len() as u32 {
            let index = file_index(db, self.documents[number as usize]);
            for site in &index.roots {
                if !self.settings.dialects.is_empty() && !self.settings.dialects.contains(&site.dialect) {
                    continue;
                }
                let function = match &site.target {
                    RootTarget::Own(function) => Some(*function),
                    RootTarget::Reference(reference) if site.receiver.is_none() => {
                        index.lookup(reference, site.scope)
                    }
                    RootTarget::Reference(_) => None,
                };
                let declared = Scope { document: number, function: site.scope };
                if self.horizon.selective
                    && site.dialect == Dialect::Keras
                    && let Some(function) = function
                    && !index
                        .signatures
                        .get(function as usize)
                        .is_some_and(|signature| signature.tests_values)
                {
                    continue;
                }
                match function {
                    Some(function) => {
                        let cause = Cause { scope: declared, place: index.place(site.scope, site.range) };
                        let staged = Staged::at(site, cause);
                        // `tf.function(self.step)`
                        if let RootTarget::Reference(Reference::SelfAttribute(name)) = &site.target {
                            for method in self.overriding(db, declared, name) {
                                self.stage(db, method, staged.clone());
                            }
                        }
                        self.stage(db, Scope { document: number, function }, staged);
                    }
                    None if self.is_worth_asking(index, site) => {
                        self.evidence.insert(declared, 0);
                    }
                    None => {}
                }
            }
            let lambdas = index.lambdas.iter().filter(|lambda| lambda.stages && !self.horizon.selective);
            for lambda in lambdas {
                self.evidence.insert(Scope { document: number, function: lambda.scope }, 0);
            }
            self.find_configured_roots(db, number, index);
        }
        for (document, site) in self.hierarchy.keras_roots(db, &self.documents) {
            let RootTarget::Own(function) = site.target else { continue };
            if self.settings.dialects.is_empty() || self.settings.dialects.contains(&site.dialect) {
                let scope = Scope { document, function };
                let declared = Scope { document, function: site.scope };
                let place = self.index(db, scope).place(site.scope, site.range);
                self.stage(db, scope, Staged::at(&site, Cause { scope: declared, place }));
            }
        }
    }

    /// The methods that may run instead of the one that `self.method()` in `scope` names.
    fn overriding(&self, db: &dyn Db, scope: Scope, name: &str) -> Vec<Scope> {
        let Some(class) = self.index(db, scope).class_around(scope.function) else { return Vec::new() };
        let derived = self.hierarchy.derived(ClassId { document: scope.document, class });
        let methods = derived.into_iter().filter_map(|derived| {
            let index = file_index(db, *self.documents.get(derived.document as usize)?);
            let methods = &index.definitions.classes.get(derived.class as usize)?.methods;
            let function = methods.iter().rev().copied().find(|method| index.short_name(*method) == name)?;
            Some(Scope { document: derived.document, function })
        });
        methods.collect()
    }

    /// A root whose function the types must tell. In a large project only where a name leads to a
    /// function that decides on values.
    fn is_worth_asking(&self, index: &FileIndex, site: &RootSite) -> bool {
        let RootTarget::Reference(reference) = &site.target else { return false };
        !self.horizon.selective
            || index
                .lookup(reference, site.scope)
                .and_then(|function| index.signatures.get(function as usize))
                .is_some_and(|signature| signature.tests_values)
    }

    /// Whether the types of a staged function are asked for.
    pub fn is_typed(&self, db: &dyn Db, scope: Scope) -> bool {
        !self.horizon.selective
            || self
                .index(db, scope)
                .signatures
                .get(scope.function as usize)
                .is_some_and(|signature| signature.tests_values)
    }

    /// Roots named in the configuration, and `--roots all`.
    fn find_configured_roots(&mut self, db: &dyn Db, number: u32, index: &FileIndex) {
        if self.settings.roots.is_empty() && !self.settings.all_roots {
            return;
        }
        let document = self.documents[number as usize];
        let module = super::types::module_name_of(db, document).unwrap_or_default();
        for (function, entry) in index.definitions.functions.iter().enumerate() {
            let named = self.settings.roots.iter().any(|root| {
                root.strip_prefix(module.as_str())
                    .and_then(|rest| rest.strip_prefix('.'))
                    .is_some_and(|qualname| qualname == entry.path.qualname)
            });
            let scope = Scope { document: number, function: function as u32 };
            if !named && !self.settings.all_roots {
                continue;
            }
            let dialect = self.dialect_of(index);
            self.stage(
                db,
                scope,
                Staged {
                    depth: 0,
                    dialect,
                    root: Some(RootKind::Configured),
                    mode: RootKind::Configured,
                    converts: dialect.converts(),
                    overriding: false,
                    unconverted: (dialect == Dialect::Keras).then_some(Unconverted::Keras),
                    cause: Cause {
                        scope: Scope { document: number, function: MODULE },
                        place: index.place(MODULE, entry.name_range),
                    },
                    options: RootOptions::default(),
                },
            );
        }
    }

    /// The dialect of a file that does not say: the configured one, else what it imports.
    fn dialect_of(&self, index: &FileIndex) -> Dialect {
        if let [only] = self.settings.dialects.as_slice() {
            return *only;
        }
        let imported = [
            ("tensorflow", Dialect::Tensorflow),
            ("tf_keras", Dialect::Tensorflow),
            ("autograph", Dialect::Autograph),
            ("torch", Dialect::Torch),
            ("jax", Dialect::Jax),
            ("keras", Dialect::Keras),
            ("pennylane", Dialect::Pennylane),
        ];
        imported
            .iter()
            .find(|(package, _)| index.imports.uses(package))
            .map_or(Dialect::Tensorflow, |(_, dialect)| *dialect)
    }

    /// Marks a scope staged; the first root wins, a root wins over being reached, being converted
    /// over not being.
    fn stage(&mut self, db: &dyn Db, scope: Scope, mut staged: Staged) -> bool {
        if staged.converts && self.is_unsupported(db, scope, &staged.options) {
            staged.converts = false;
            staged.unconverted = Some(Unconverted::Syntax);
        }
        match self.staged.get_mut(&scope) {
            None => {
                self.staged.insert(scope, staged);
                true
            }
            Some(known) if known.root.is_none() && staged.root.is_some() => {
                *known = staged;
                true
            }
            // `tf.function(layer.call)` converts what Keras alone would not.
            Some(known)
                if known.unconverted == Some(Unconverted::Keras)
                    && staged.converts
                    && staged.root.is_some() =>
            {
                *known = staged;
                true
            }
            Some(known) if known.overriding && !staged.overriding => {
                known.overriding = false;
                true
            }
            Some(known)
                if !known.converts
                    && staged.converts
                    && (known.root.is_none() || known.unconverted == Some(Unconverted::Body)) =>
            {
                known.converts = true;
                known.unconverted = None;
                true
            }
            Some(known)
                if known.unconverted == Some(Unconverted::Caller)
                    && staged.unconverted == Some(Unconverted::Syntax) =>
            {
                known.unconverted = staged.unconverted;
                true
            }
            Some(_) => false,
        }
    }

    fn index_callers(&mut self, db: &dyn Db) {
        for number in 0..self.documents.len() as u32 {
            for (function, name) in &file_index(db, self.documents[number as usize]).calls {
                let scope = Scope { document: number, function: *function };
                self.callers.entry(name.clone()).or_default().push(scope);
            }
        }
        for scopes in self.callers.values_mut() {
            scopes.sort_unstable();
        }
    }

    /// Breadth first from the staged functions along "is called by", "constructs" and "sets attributes".
    fn find_evidence(&mut self, db: &dyn Db) {
        let staged = self.staged.keys().filter(|scope| self.is_typed(db, **scope));
        let mut frontier: Vec<(Scope, u8)> = staged.map(|scope| (*scope, 0)).collect();
        frontier.extend(self.evidence.iter().map(|(scope, distance)| (*scope, *distance)));
        let mut at = 0;
        while let Some((scope, distance)) = frontier.get(at).copied() {
            at += 1;
            if distance >= self.horizon.distance {
                continue;
            }
            for neighbour in self.neighbours(db, scope) {
                if self.staged.contains_key(&neighbour) || self.evidence.contains_key(&neighbour) {
                    continue;
                }
                if self.evidence.len() >= self.horizon.evidence {
                    return;
                }
                self.evidence.insert(neighbour, distance + 1);
                frontier.push((neighbour, distance + 1));
            }
        }
    }

    fn neighbours(&self, db: &dyn Db, scope: Scope) -> Vec<Scope> {
        if scope.function == MODULE {
            return Vec::new();
        }
        let index = self.index(db, scope);
        let mut neighbours = Vec::new();
        let mut called = |name: &str| {
            if let Some(callers) = self.callers.get(name)
                && callers.len() <= self.horizon.callers
            {
                neighbours.extend(callers.iter().copied());
            }
        };
        let name = index.short_name(scope.function);
        // `x.call(…)` and `x.forward(…)` are rarely spelled, and mean any of a hundred classes.
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

    /// The types of a scope: the question that a round asks, from any thread.
    pub fn ask<'db>(&self, db: &'db dyn Db, scope: Scope) -> &'db Arc<ScopeTypes> {
        let document = self.document(scope);
        if scope.function == MODULE {
            return module_types(db, document);
        }
        let path = self.index(db, scope).definitions.functions[scope.function as usize].path.clone();
        function_types(db, FunctionId::new(db, document, path))
    }

    /// Takes the answers of a round in. Returns whether they change what is assumed.
    pub fn absorb(&mut self, db: &dyn Db, answers: &Answers) -> bool {
        let mut changed = false;
        for (scope, types) in answers {
            changed |= self.absorb_roots(db, *scope, types);
            changed |= self.absorb_calls(db, *scope, types);
            if self.lambdas.get(scope).map_or(&[][..], Vec::as_slice) != types.lambdas {
                self.lambdas.insert(*scope, types.lambdas.clone());
                changed = true;
            }
            for name in &types.rebound {
                changed |= self.rebound.insert((*scope, name.clone()));
            }
            if scope.function != MODULE {
                let returns = types.returns.clone();
                if self.returns.get(scope) != Some(&returns) {
                    self.returns.insert(*scope, returns);
                    changed = true;
                }
            }
        }
        changed |= self.convert_nested(db);
        self.recompute(db);
        changed
    }

    /// AutoGraph converts a function together with the functions nested in it, whoever calls them.
    fn convert_nested(&mut self, db: &dyn Db) -> bool {
        let nested: Vec<Scope> = self
            .staged
            .iter()
            .filter(|(_, staged)| staged.unconverted.is_some_and(|reason| reason != Unconverted::Syntax))
            .filter(|(scope, _)| {
                let functions = &self.index(db, **scope).definitions.functions;
                let entry = functions.get(scope.function as usize).filter(|entry| entry.class.is_none());
                let parent = entry.and_then(|entry| entry.parent);
                parent.is_some_and(|function| {
                    let parent = self.staged.get(&Scope { document: scope.document, function });
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
        let document = *self.numbers.get(&target.document)?;
        let (function, _) = file_index(db, target.document).definitions.find(&target.path)?;
        Some(Scope { document, function })
    }

    fn absorb_roots(&mut self, db: &dyn Db, scope: Scope, types: &ScopeTypes) -> bool {
        let mut changed = false;
        let index = self.index(db, scope);
        for (position, target) in &types.roots {
            let Some(site) = index.roots.get(*position as usize) else { continue };
            let Some(function) = self.scope_of(db, target) else { continue };
            if !self.settings.dialects.is_empty() && !self.settings.dialects.contains(&site.dialect) {
                continue;
            }
            let cause = Cause { scope, place: index.place(site.scope, site.range) };
            changed |= self.stage(db, function, Staged::at(site, cause));
        }
        changed
    }

    fn absorb_calls(&mut self, db: &dyn Db, scope: Scope, types: &ScopeTypes) -> bool {
        let mut changed = false;
        let mut contributions = Vec::new();
        let staged = self.staged.get(&scope).cloned();
        let distance = self.evidence.get(&scope).copied();
        for call in &types.calls {
            let caller = match (&staged, call.lambda) {
                (Some(staged), None) => Some(staged.clone()),
                (Some(staged), Some(lambda)) => Some(Staged {
                    // In converted code TensorFlow maps a lambda as it is.
                    converts: staged.converts && lambda.kind != RootKind::DatasetCallback,
                    ..staged.clone()
                }),
                (None, Some(lambda)) => self.staged_by(lambda, Cause { scope, place: call.place }),
                (None, None) => None,
            };
            for target in &call.targets {
                let Some(callee) = self.scope_of(db, target) else { continue };
                let overriding = match call.on_self {
                    true => self.overriding(db, scope, self.index(db, callee).short_name(callee.function)),
                    false => Vec::new(),
                };
                for method in overriding {
                    if let Some(caller) = &caller {
                        let caller = Staged { overriding: true, ..caller.clone() };
                        changed |= self.reach(db, scope, &caller, method, call);
                    }
                    self.contribute(db, scope, call, target, method, &mut contributions);
                }
                if let Some(caller) = &caller
                    && !is_chosen_at_run_time(&call.targets)
                {
                    changed |= self.reach(db, scope, caller, callee, call);
                } else if let Some(distance) = distance
                    && distance < self.horizon.distance
                    && self.evidence.len() < self.horizon.evidence
                    && !self.staged.contains_key(&callee)
                    && !self.evidence.contains_key(&callee)
                {
                    self.evidence.insert(callee, distance + 1);
                    changed = true;
                }
                self.contribute(db, scope, call, target, callee, &mut contributions);
            }
        }
        if self.contributions.get(&scope) != Some(&contributions) {
            self.contributions.insert(scope, contributions);
            changed = true;
        }
        changed
    }

    /// The library that calls a lambda, as a caller of what the lambda calls.
    fn staged_by(&self, lambda: LambdaStage, cause: Cause) -> Option<Staged> {
        let dialects = &self.settings.dialects;
        (dialects.is_empty() || dialects.contains(&lambda.dialect)).then(|| Staged {
            depth: 0,
            dialect: lambda.dialect,
            root: None,
            mode: lambda.kind,
            converts: lambda.converts,
            overriding: false,
            unconverted: None,
            cause,
            options: RootOptions::default(),
        })
    }

    /// A call from staged code stages its callee.
    fn reach(&mut self, db: &dyn Db, scope: Scope, caller: &Staged, callee: Scope, call: &CallSite) -> bool {
        let index = self.index(db, callee);
        let Some(signature) = index.signatures.get(callee.function as usize) else { return false };
        let left_out = signature.decorators.iter().any(|name| {
            matches!(name.as_str(), "disable" | "ignore" | "unused" | "allow_in_graph" | "custom_op")
        });
        if caller.dialect == Dialect::Torch && left_out {
            return false;
        }
        if caller.depth >= self.horizon.reach || is_foreign(index, caller.dialect) {
            return false;
        }
        let decorated =
            |names: &[&str]| signature.decorators.iter().any(|decorator| names.contains(&decorator.as_str()));
        if decorated(&["py_function", "numpy_function"]) {
            return false;
        }
        let unconverted = match caller {
            Staged { dialect: Dialect::Torch | Dialect::Jax, .. } => None,
            Staged { converts: false, .. } => Some(Unconverted::Caller),
            _ if call.implicit => Some(Unconverted::Protocol),
            _ if index.short_name(callee.function) == "__init__" => Some(Unconverted::Constructor),
            _ if decorated(&["do_not_convert"]) => Some(Unconverted::DoNotConvert),
            _ if decorated(&["lru_cache", "cache"]) => Some(Unconverted::Cached),
            _ => None,
        };
        let staged = Staged {
            depth: caller.depth + 1,
            dialect: caller.dialect,
            root: None,
            mode: caller.mode,
            converts: caller.converts && unconverted.is_none(),
            overriding: caller.overriding,
            unconverted,
            cause: Cause { scope, place: call.place },
            options: RootOptions { full_graph: caller.options.full_graph, ..RootOptions::default() },
        };
        self.stage(db, callee, staged)
    }

    /// Whether AutoGraph refuses the function for its text.
    fn is_unsupported(&self, db: &dyn Db, scope: Scope, options: &RootOptions) -> bool {
        let index = self.index(db, scope);
        let Some(entry) = index.definitions.functions.get(scope.function as usize) else { return false };
        let function = FunctionId::new(db, self.document(scope), entry.path.clone());
        if options.features.is_empty() {
            return *is_unsupported(db, function);
        }
        function_ast(db, function).as_ref().is_some_and(|ast| {
            !unsupported::find(&entry.path, ast, &index.imports, &options.features).is_empty()
        })
    }

    fn contribute(
        &self,
        db: &dyn Db,
        scope: Scope,
        call: &CallSite,
        target: &Target,
        callee: Scope,
        contributions: &mut Vec<(Scope, u32, Contribution)>,
    ) {
        let index = self.index(db, callee);
        let Some(signature) = index.signatures.get(callee.function as usize) else { return };
        let is_method = index
            .definitions
            .functions
            .get(callee.function as usize)
            .is_some_and(|entry| entry.class.is_some());
        let skip = usize::from(target.bound && is_method && !signature.is_static);
        let mut given = vec![false; signature.parameters.len()];
        let of_kind = |kind| signature.parameters.iter().position(|parameter| parameter.kind == kind);
        for (place, assumed) in &call.arguments {
            let position = match place {
                ArgumentPlace::Position(position) => {
                    let position = *position as usize + skip;
                    match signature.parameters.get(position).map(|parameter| parameter.kind) {
                        Some(ParameterKind::PositionalOnly | ParameterKind::Positional) => position,
                        // The rest goes to `*args`.
                        _ => match of_kind(ParameterKind::VarArgs) {
                            Some(position) => position,
                            None => continue,
                        },
                    }
                }
                ArgumentPlace::Keyword(name) => {
                    let named = signature.parameters.iter().position(|parameter| parameter.name == *name);
                    match named.or_else(|| of_kind(ParameterKind::VarKeywords)) {
                        Some(position) => position,
                        None => continue,
                    }
                }
            };
            given[position] = true;
            contributions.push((
                callee,
                position as u32,
                Contribution {
                    cause: Cause { scope, place: call.place },
                    bound: call.partial,
                    assumed: assumed.clone(),
                },
            ));
        }
        if call.open {
            return;
        }
        for (position, parameter) in signature.parameters.iter().enumerate().skip(skip) {
            if !given[position]
                && let Some(default) = parameter.default.annotation()
            {
                contributions.push((
                    callee,
                    position as u32,
                    Contribution {
                        cause: Cause { scope, place: Place::default() },
                        bound: true,
                        assumed: AssumedType::of(default),
                    },
                ));
            }
        }
    }

    /// Derives the parameters' types from all that is known now.
    fn recompute(&mut self, db: &dyn Db) {
        let mut sites: BTreeMap<(Scope, u32), Vec<Contribution>> = BTreeMap::new();
        for contributions in self.contributions.values() {
            for (callee, position, contribution) in contributions {
                sites.entry((*callee, *position)).or_default().push(contribution.clone());
            }
        }
        let mut parameters = BTreeMap::new();
        for scope in self.scopes(db) {
            if scope.function == MODULE {
                continue;
            }
            let index = self.index(db, scope);
            let Some(signature) = index.signatures.get(scope.function as usize) else { continue };
            let is_method = index.definitions.functions[scope.function as usize].class.is_some();
            let staged = self.staged.get(&scope);
            let assumptions = signature
                .parameters
                .iter()
                .enumerate()
                .map(|(position, parameter)| {
                    if position == 0 && is_method && !signature.is_static {
                        return ParameterAssumption { source: Some(Source::Receiver), ..Default::default() };
                    }
                    if parameter.annotated {
                        return ParameterAssumption {
                            source: Some(Source::Annotation),
                            ..Default::default()
                        };
                    }
                    let spoken = sites.get(&(scope, position as u32)).cloned().unwrap_or_default();
                    let static_parameter = staged.is_some_and(|staged| {
                        staged
                            .options
                            .static_parameters
                            .iter()
                            .any(|name| *name == parameter.name || name.parse() == Ok(position))
                    });
                    let assumable = !static_parameter
                        // Whatever it is used for, `jax.jit` traces what is not static.
                        && (!parameter.used_as_python
                            || staged.is_some_and(|staged| staged.root == Some(RootKind::JaxJit)))
                        && !matches!(parameter.kind, ParameterKind::VarArgs | ParameterKind::VarKeywords)
                        && index.short_name(scope.function) != "__init__";
                    assume(&parameter.default, &parameter.name, spoken, staged, static_parameter, assumable)
                })
                .collect();
            parameters.insert(scope, assumptions);
        }
        self.parameters = parameters;
    }

    /// What the ghost views should say, by document and function.
    pub fn assumptions(&self, db: &dyn Db) -> Assumptions {
        let mut assumptions = Assumptions::new();
        for (scope, parameters) in &self.parameters {
            let Some(signature) = self.index(db, *scope).signatures.get(scope.function as usize) else {
                continue;
            };
            let assumed = |(parameter, syntax): (&ParameterAssumption, &ParameterSyntax)| {
                let mut assumed = parameter.assumed.clone();
                assumed.unknown |= self.rebound.contains(&(*scope, syntax.name.clone()));
                (!assumed.is_empty()).then_some(assumed)
            };
            let assumption = Assumption {
                lambdas: Vec::new(),
                parameters: parameters.iter().zip(&signature.parameters).map(assumed).collect(),
                returns: self.returns.get(scope).filter(|returns| !returns.is_empty()).cloned(),
                converts: self.staged.get(scope).is_some_and(|staged| staged.converts),
            };
            assumptions.entry(scope.document).or_default().insert(scope.function, assumption);
        }
        for (scope, lambdas) in &self.lambdas {
            let functions = assumptions.entry(scope.document).or_default();
            functions.entry(scope.function).or_default().lambdas.clone_from(lambdas);
        }
        assumptions
    }
}

/// What every library calls an argument that is no Tensor.
const NAMES_OF_PYTHON_VALUES: [&str; 6] = ["axis", "axes", "dtype", "name", "data_format", "padding"];

/// Precedence: call sites > literal default > assumption.
fn assume(
    default: &DefaultValue,
    name: &str,
    spoken: Vec<Contribution>,
    staged: Option<&Staged>,
    is_static: bool,
    assumable: bool,
) -> ParameterAssumption {
    let mut assumed = AssumedType::default();
    for contribution in &spoken {
        for alternative in contribution.assumed.alternatives() {
            assumed.insert(alternative);
        }
    }
    let root = staged.filter(|staged| staged.root.is_some());
    if !assumed.is_empty() {
        // `jax.jit` turns every number that is not static into a tracer.
        if let Some(staged) = root
            && staged.dialect == Dialect::Jax
            && staged.root == Some(RootKind::JaxJit)
            && !is_static
        {
            assumed = traced(&spoken);
        }
        // A parameter that is only ever None where we look is not None everywhere.
        if assumed.alternatives().all(|alternative| alternative == "None") {
            assumed.unknown = true;
        }
        return ParameterAssumption { source: Some(Source::CallSites), assumed, sites: spoken };
    }
    if let Some(text) = default.annotation() {
        let mut assumed = AssumedType::of(text);
        assumed.unknown = *default == DefaultValue::None;
        if *default == DefaultValue::None
            && name == "training"
            && root.is_some_and(|staged| staged.root == Some(RootKind::KerasMethod))
        {
            assumed = AssumedType::of("bool");
        }
        return ParameterAssumption { source: Some(Source::Default), assumed, sites: Vec::new() };
    }
    if *default == DefaultValue::Absent
        && let Some(staged) = root
        && assumable
        && (staged.root == Some(RootKind::JaxJit) || !NAMES_OF_PYTHON_VALUES.contains(&name))
    {
        if name == "training" && staged.root == Some(RootKind::KerasMethod) {
            return ParameterAssumption {
                source: Some(Source::Default),
                assumed: AssumedType::of("bool"),
                sites: Vec::new(),
            };
        }
        let structured = matches!(
            staged.root,
            Some(RootKind::KerasMethod | RootKind::ControlFlowBody | RootKind::DatasetCallback)
        );
        let assumed = match staged.dialect {
            Dialect::Tensorflow | Dialect::Keras if structured => AssumedType::of("ag_tensor_"),
            Dialect::Tensorflow => AssumedType::of("ag_argument_"),
            Dialect::Jax if structured => AssumedType::of("ag_array_"),
            dialect => {
                let (module, class) = dialect.tensor_class();
                AssumedType::class(module, class)
            }
        };
        return ParameterAssumption { source: Some(Source::Assumption), assumed, sites: Vec::new() };
    }
    ParameterAssumption { source: Some(Source::Unknown), ..Default::default() }
}

/// The arguments of a jitted call as they arrive: numbers, alone or in containers, are tracers.
fn traced(spoken: &[Contribution]) -> AssumedType {
    const NUMBERS: [&str; 4] = ["int", "float", "bool", "complex"];
    let mut assumed = AssumedType::default();
    for contribution in spoken {
        // An omitted argument keeps its default, a Python value.
        let omitted = contribution.bound;
        for alternative in contribution.assumed.alternatives() {
            if omitted {
                assumed.insert(alternative);
                continue;
            }
            let mut text = String::with_capacity(alternative.len());
            let mut word = String::new();
            let mut braces = 0usize;
            for c in alternative.chars().chain(['\0']) {
                if c.is_alphanumeric() || c == '_' {
                    word.push(c);
                    continue;
                }
                if braces == 0 && NUMBERS.contains(&word.as_str()) {
                    text.push_str("{jax:Array}");
                } else {
                    text.push_str(&word);
                }
                word.clear();
                match c {
                    '{' => braces += 1,
                    '}' => braces = braces.saturating_sub(1),
                    _ => {}
                }
                if c != '\0' {
                    text.push(c);
                }
            }
            assumed.insert(text.replace("{numpy:ndarray}", "{jax:Array}"));
        }
    }
    assumed
}

/// `backend.add` with a module for each backend: the functions of one name in several files are
/// implementations, of which a run uses one.
fn is_chosen_at_run_time(targets: &[Target]) -> bool {
    let [first, rest @ ..] = targets else { return false };
    let name = |target: &Target| target.path.qualname.rsplit('.').next().unwrap_or_default().to_owned();
    rest.iter().any(|target| target.document != first.document && name(target) == name(first))
}

/// The file works with another framework and not with that of the dialect: a call that seems to lead
/// there is of a module that was chosen at run time.
fn is_foreign(index: &FileIndex, dialect: Dialect) -> bool {
    let uses = |packages: &[&str]| packages.iter().any(|package| index.imports.uses(package));
    const TENSORFLOW: &[&str] = &["tensorflow", "tf_keras", "keras"];
    let (own, other): (&[&str], [&[&str]; 2]) = match dialect {
        Dialect::Tensorflow | Dialect::Keras => (TENSORFLOW, [&["torch"], &["jax"]]),
        Dialect::Torch => (&["torch"], [TENSORFLOW, &["jax"]]),
        Dialect::Jax => (&["jax"], [&["torch"], &["tensorflow"]]),
        Dialect::Autograph | Dialect::Pennylane => return false,
    };
    !uses(own) && other.iter().any(|packages| uses(packages))
}
