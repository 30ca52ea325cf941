//! Finds the roots of all files, and marks functions as staged.

use std::borrow::Cow;

use crate::fixpoint::parameters::takes_receiver;
use crate::fixpoint::{Cause, Certainty, Fixpoint, Staged};
use crate::hierarchy::ClassId;
use crate::keras;
use ag_db::{Db, Document};
use ag_index::answers::ScopeTypes;
use ag_index::assumptions::{RootOptions, StaticParameters, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::{FileIndex, FunctionId, KerasVersion, Signature, file_index, function_ast};
use ag_index::modules::module_name;
use ag_index::oracle::Scope;
use ag_index::roots::{Reference, RootSite, RootTarget};
use ag_syntax::unsupported;
use ruff_python_ast::name::Name;

/// Returns whether a function contains syntax that AutoGraph does not support when no optional features are enabled.
#[salsa::tracked(returns(ref))]
fn has_unsupported_syntax<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> bool {
    let imports = &file_index(db, function.document(db)).imports;
    function_ast(db, function)
        .as_ref()
        .is_some_and(|ast| !unsupported::find(function.path(db), ast, imports, &[]).is_empty())
}

/// Returns the method that contains some code, or is this code, and the method's name.
fn method_around(index: &FileIndex, code: Code) -> Option<(FunctionIndex, &str)> {
    let mut function = code.function()?;
    loop {
        let entry = index.definitions.functions.get(function)?;
        if entry.class.is_some() {
            return Some((function, entry.path.name()));
        }
        function = entry.parent?;
    }
}

/// The maximum number of derived classes. If there are more, a call of a method of the base class is little evidence
/// for each of them.
pub(super) const MAX_DERIVED: usize = 64;

impl Staged {
    /// Returns how a root site stages a function. `bound` is the number of leading parameters that are bound before.
    pub(super) fn at(site: &RootSite, signature: Option<&Signature>, bound: usize, cause: Cause) -> Self {
        // `tf.function(do_not_convert(f))`
        let declines =
            signature.is_some_and(|own| own.decorators.last().is_some_and(|name| name == "do_not_convert"));
        let unconverted = match site.kind {
            _ if site.converts && declines => Some(Unconverted::DoNotConvert),
            _ if site.converts || matches!(site.dialect, Dialect::Torch | Dialect::Jax) => None,
            RootKind::KerasMethod | RootKind::KerasFunction => Some(Unconverted::Keras),
            RootKind::ControlFlowBody => Some(Unconverted::Body),
            _ => Some(Unconverted::Option),
        };
        Self {
            depth: 0,
            dialect: site.dialect,
            root: Some(site.kind),
            mode: site.kind,
            converts: site.converts && !declines,
            certainty: Certainty::Certain,
            possible: false,
            sole_callees: false,
            unconverted,
            cause,
            static_parameters: signature
                .map(|signature| site.static_arguments.parameters(signature, bound))
                .unwrap_or_default(),
            options: site.options.clone(),
        }
    }
}

impl Fixpoint {
    pub(super) fn find_roots(&mut self, db: &dyn Db) {
        for document in self.documents.indices() {
            let index = file_index(db, self.documents[document]);
            for (position, site) in index.roots.iter_enumerated() {
                let site = &self.with_library(db, document, site);
                if !self.is_selected(site.dialect) {
                    continue;
                }
                let is_compiled = |other: &RootSite| other.kind == RootKind::JaxJit;
                if site.options.when_jitted && !index.roots.iter().any(is_compiled) {
                    continue;
                }
                let declared = Scope { document, code: site.scope };
                if site.in_staged_code {
                    self.bodies.push((declared, position));
                    continue;
                }
                let function = match &site.target {
                    RootTarget::Own(function) => Some(*function),
                    RootTarget::Reference(reference) if site.receiver.is_none() => {
                        let lifted = || index.call_method(reference).filter(|_| site.options.lifts_classes);
                        index.lookup(reference, site.scope).or_else(lifted)
                    }
                    RootTarget::Reference(_) => None,
                };
                if self.limits.selective
                    && site.dialect == Dialect::Keras
                    && let Some(function) = function
                    && !index.signatures.get(function).is_some_and(|signature| signature.tests_values)
                {
                    continue;
                }
                match function {
                    Some(function) => {
                        self.stage_named(db, declared, site, function);
                    }
                    None if self.needs_inference(index, site) => {
                        self.evidence.insert(declared, 0);
                    }
                    None => {}
                }
            }
            let lambdas = index.lambdas.iter().filter(|lambda| lambda.stages && !self.limits.selective);
            for lambda in lambdas {
                self.evidence.insert(Scope { document, code: lambda.scope }, 0);
            }
            self.find_configured_roots(db, document, index);
        }
        for (document, site) in self.hierarchy.keras_roots(db, &self.documents) {
            let RootTarget::Own(function) = site.target else { continue };
            if self.is_selected(site.dialect) {
                let scope = Scope { document, code: function.into() };
                let declared = Scope { document, code: site.scope };
                let location = self.index(db, scope).location(site.scope, site.range);
                let site = self.with_library(db, scope.document, &site);
                self.stage_root(db, scope, &site, false, Cause { scope: declared, location });
            }
        }
        self.stage_bodies(db);
    }

    /// Stages the functions of roots that were resolved by the types of a scope. Returns whether anything changed.
    pub(super) fn absorb_roots(&mut self, db: &dyn Db, scope: Scope, types: &ScopeTypes) -> bool {
        let mut changed = false;
        let index = self.index(db, scope);
        for (position, target) in &types.roots {
            let Some(site) = index.roots.get(*position) else { continue };
            let Some(function) = self.scope_of(db, target) else { continue };
            if !self.is_selected(site.dialect) || site.in_staged_code && !self.staged.contains_key(&scope) {
                continue;
            }
            let cause = Cause { scope, location: index.location(site.scope, site.range) };
            if self.stage_root(db, function, site, target.bound, cause) {
                self.add_function_around(db, function);
                changed = true;
            }
        }
        changed
    }

    /// Adds the function that contains `nested` to the evidence, because this function may bind arguments, which the
    /// root does not replace by tracers.
    ///
    /// ```python
    /// def make_step(scale):
    ///     def step(x, *, scale): …
    ///     return partial(step, scale=scale)
    ///
    /// step = jax.jit(make_step(0.1))
    /// ```
    fn add_function_around(&mut self, db: &dyn Db, nested: Scope) {
        let entry = self.index(db, nested).function(nested.code);
        let Some(parent) = entry.and_then(|entry| entry.parent) else { return };
        let parent = Scope { document: nested.document, code: parent.into() };
        if !self.is_certain_complete && !self.limits.selective && !self.staged.contains_key(&parent) {
            self.evidence.entry(parent).or_insert(self.limits.evidence_distance);
        }
    }

    /// Stages the bodies that staged functions pass to TensorFlow's control flow: [`RootSite::in_staged_code`]. Returns
    /// whether any function was staged.
    pub(super) fn stage_bodies(&mut self, db: &dyn Db) -> bool {
        let mut changed = false;
        loop {
            let mut is_stable = true;
            for (declared, position) in self.bodies.clone() {
                let index = file_index(db, self.documents[declared.document]);
                if self.staged.contains_key(&declared)
                    && let Some(site) = index.roots.get(position)
                    && let RootTarget::Reference(reference) = &site.target
                    && let Some(function) = index.lookup(reference, site.scope)
                {
                    is_stable &= !self.stage_named(db, declared, site, function);
                }
            }
            if is_stable {
                return changed;
            }
            changed = true;
        }
    }

    /// Stages the function that a root in the scope `declared` names. Returns whether anything changed.
    fn stage_named(
        &mut self,
        db: &dyn Db,
        declared: Scope,
        site: &RootSite,
        function: FunctionIndex,
    ) -> bool {
        let location = self.index(db, declared).location(site.scope, site.range);
        let cause = Cause { scope: declared, location };
        let mut changed = false;
        let mut bound = false;
        // `tf.function(self.step)`
        if let RootTarget::Reference(Reference::SelfAttribute(name)) = &site.target {
            bound = true;
            for (_, method) in self.overriding(db, declared, name) {
                changed |= self.stage_root(db, method, site, bound, cause.clone());
            }
        }
        let scope = Scope { document: declared.document, code: function.into() };
        self.stage_root(db, scope, site, bound, cause) || changed
    }

    /// Returns whether the configuration enables a dialect.
    pub(super) fn is_selected(&self, dialect: Dialect) -> bool {
        self.options.dialects.is_empty() || self.options.dialects.contains(&dialect)
    }

    /// Adapts the root of a Keras method to the version of Keras with which its file runs: version 2 converts methods. If
    /// that version is unknown, the other files of the project decide.
    pub(super) fn with_library<'s>(
        &self,
        db: &dyn Db,
        document: DocumentIndex,
        site: &'s RootSite,
    ) -> Cow<'s, RootSite> {
        if site.dialect != Dialect::Keras {
            return Cow::Borrowed(site);
        }
        let version = keras::version(db, self.documents[document]);
        if !version.map_or(self.has_keras2 && !self.has_keras3, |version| version == KerasVersion::Two) {
            return Cow::Borrowed(site);
        }
        Cow::Owned(RootSite { dialect: Dialect::Tensorflow, converts: true, ..site.clone() })
    }

    /// Returns the methods that `self.method()` in `scope` may call because they override `method` in derived classes.
    /// Each is returned with its class.
    pub(super) fn overriding(&self, db: &dyn Db, scope: Scope, name: &str) -> Vec<(ClassId, Scope)> {
        let Some(class) = self.class_of(db, scope) else { return Vec::new() };
        let derived = self.hierarchy.derived(class, MAX_DERIVED);
        derived.into_iter().filter_map(|class| Some((class, self.method_of(db, class, name)?))).collect()
    }

    /// Returns the method that a class itself defines under a name.
    pub(super) fn method_of(&self, db: &dyn Db, class: ClassId, name: &str) -> Option<Scope> {
        let index = file_index(db, *self.documents.get(class.document)?);
        let methods = &index.definitions.classes.get(class.class)?.methods;
        let function = methods.iter().rev().copied().find(|method| index.short_name(*method) == name)?;
        Some(Scope { document: class.document, code: function.into() })
    }

    /// Returns whether a staged method is also staged for objects of a derived class. This is so if the class inherits
    /// the method and all methods on the way from the root to it.
    ///
    /// ```python
    /// class Trainer:
    ///     @tf.function
    ///     def train(self, batch):
    ///         return self.update(batch)
    ///
    ///     def update(self, batch):          # inherited by all classes that override neither `train` nor `update`
    ///         return self.loss(batch)
    /// ```
    pub(super) fn is_inherited(&self, db: &dyn Db, method: Scope, class: ClassId) -> bool {
        let order = self.hierarchy.lookup_order(class);
        let is_inherited = |method: Scope, name: &str| {
            order.iter().find_map(|class| self.method_of(db, *class, name)) == Some(method)
        };
        let mut scope = method;
        for _ in 0..MAX_DERIVED {
            let index = self.index(db, scope);
            let Some((function, name)) = method_around(index, scope.code) else { return false };
            let Some(staged) = self.staged.get(&scope) else { return false };
            if !is_inherited(Scope { code: function.into(), ..scope }, name) {
                return false;
            }
            let is_own = |site: &RootSite| matches!(site.target, RootTarget::Own(function) if scope.code == function.into());
            let is_declared = staged.root.is_some() && index.roots.iter().any(is_own);
            scope = staged.cause.scope;
            if is_declared || staged.root == Some(RootKind::KerasMethod) {
                return true;
            }
            if staged.root.is_some() {
                // `self.train = jax.jit(self.update)` in a method. A constructor calls the constructor of the base
                // class.
                let declared = method_around(self.index(db, scope), scope.code);
                return declared.is_some_and(|(function, name)| {
                    name == "__init__" || is_inherited(Scope { code: function.into(), ..scope }, name)
                });
            }
        }
        false
    }

    /// Returns whether type inference should resolve the function that a root names. With selective limits, it resolves
    /// only functions that test values.
    pub(super) fn needs_inference(&self, index: &FileIndex, site: &RootSite) -> bool {
        let RootTarget::Reference(reference) = &site.target else { return false };
        !self.limits.selective
            || index
                .lookup(reference, site.scope)
                .and_then(|function| index.signatures.get(function))
                .is_some_and(|signature| signature.tests_values)
    }

    /// Stages the roots that the configuration names and, with `--roots all`, every function.
    pub(super) fn find_configured_roots(&mut self, db: &dyn Db, document: DocumentIndex, index: &FileIndex) {
        if self.options.roots.is_empty() && !self.options.all_roots {
            return;
        }

        let module = module_name(db, self.documents[document]).as_deref();
        for (function, entry) in index.definitions.functions.iter_enumerated() {
            let named = self.options.roots.iter().any(|root| {
                module
                    .and_then(|module| root.strip_prefix(module)?.strip_prefix('.'))
                    .is_some_and(|qualname| qualname == entry.path.qualname)
            });
            let scope = Scope { document, code: function.into() };
            if !named && !self.options.all_roots {
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
                    certainty: Certainty::Certain,
                    possible: false,
                    sole_callees: false,
                    unconverted: (dialect == Dialect::Keras).then_some(Unconverted::Keras),
                    cause: Cause {
                        scope: Scope { document, code: Code::Module },
                        location: index.location(Code::Module, entry.name_range),
                    },
                    static_parameters: StaticParameters::default(),
                    options: RootOptions::default(),
                },
            );
        }
    }

    /// Returns the dialect of a file's configured roots. If the configuration has exactly one dialect, it is this
    /// dialect; otherwise it is the dialect of the framework that the file imports.
    pub(super) fn dialect_of(&self, index: &FileIndex) -> Dialect {
        if let [only] = self.options.dialects.as_slice() {
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

    /// Marks the function that a root site names as staged. `bound`: whether the site names a bound method.
    pub(super) fn stage_root(
        &mut self,
        db: &dyn Db,
        scope: Scope,
        site: &RootSite,
        bound: bool,
        cause: Cause,
    ) -> bool {
        let index = self.index(db, scope);
        // The positions of `static_argnums` count `self` in Flax.
        let counts_receiver = site.options.lifts_classes;
        let given = usize::from(bound && !counts_receiver && takes_receiver(index, scope));
        let around = self.staged.get(&cause.scope).filter(|around| site.in_staged_code && around.possible);
        let (possible, sole_callees) = (around.is_some(), around.is_some_and(|around| around.sole_callees));
        let staged = Staged::at(site, index.signature(scope.code), given, cause);
        let is_eager = site.kind == RootKind::KerasMethod
            && scope.code.function().is_some_and(|function| self.is_only_called_eagerly(db, index, function));
        let certainty = if is_eager { Certainty::Uncertain } else { Certainty::Certain };
        self.stage(db, scope, Staged { possible, sole_callees, certainty, ..staged })
    }

    /// Marks a scope as staged. If there are several causes, a certain one takes precedence over a possible one, then
    /// the first root over later roots, then any root over a call, then a converting cause over one that does not
    /// convert.
    pub(super) fn stage(&mut self, db: &dyn Db, scope: Scope, mut staged: Staged) -> bool {
        let signature = self.index(db, scope).signature(scope.code);
        if signature.is_some_and(|signature| signature.is_dead) {
            return false;
        }
        if staged.converts && self.has_unsupported_syntax(db, scope, &staged.options) {
            staged.converts = false;
            staged.unconverted = Some(Unconverted::Syntax);
        }
        match self.staged.get_mut(&scope) {
            None => {
                self.staged.insert(scope, staged);
                true
            }
            // `jax.grad(f)` alone keeps the values of its tracers.
            Some(known) if known.mode == RootKind::JaxGrad && staged.mode != RootKind::JaxGrad => {
                *known = staged;
                true
            }
            Some(known) if staged.mode == RootKind::JaxGrad && known.mode != RootKind::JaxGrad => false,
            Some(known) if known.possible && !staged.possible => {
                *known = staged;
                true
            }
            Some(known) if known.possible && !known.sole_callees && staged.sole_callees => {
                *known = staged;
                true
            }
            Some(_) if staged.possible => false,
            Some(known) if known.root.is_none() && staged.root.is_some() => {
                staged.certainty = staged.certainty.min(known.certainty);
                *known = staged;
                true
            }
            // `tf.function(layer.call)` converts a method that Keras does not convert.
            Some(known)
                if known.unconverted == Some(Unconverted::Keras)
                    && staged.converts
                    && staged.root.is_some() =>
            {
                *known = staged;
                true
            }
            Some(known) if known.certainty > staged.certainty => {
                known.certainty = staged.certainty;
                true
            }
            // `vmap(f, in_axes=(0, None))` and `vmap(f)`: the second traces both arguments.
            Some(known)
                if known.root.is_some()
                    && known.root == staged.root
                    && known.dialect == staged.dialect
                    && known.static_parameters.in_all(&staged.static_parameters)
                        != known.static_parameters =>
            {
                known.static_parameters = known.static_parameters.in_all(&staged.static_parameters);
                if known.static_parameters == staged.static_parameters {
                    known.cause = staged.cause;
                }
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

    fn has_unsupported_syntax(&mut self, db: &dyn Db, scope: Scope, options: &RootOptions) -> bool {
        let checked = self.checked_syntax.get(&scope).into_iter().flatten();
        if let Some((_, found)) = checked.into_iter().find(|(features, _)| *features == options.features) {
            return *found;
        }
        let found = is_unsupported(db, self.document(scope), scope.code, &options.features);
        self.checked_syntax.entry(scope).or_default().push((options.features.clone(), found));
        found
    }
}

/// Returns whether a function contains syntax that AutoGraph does not support with the given features.
pub fn is_unsupported(db: &dyn Db, document: Document, code: Code, features: &[Name]) -> bool {
    let index = file_index(db, document);
    let Some(entry) = index.function(code) else { return false };
    let function = FunctionId::new(db, document, entry.path.clone());
    if features.is_empty() {
        return *has_unsupported_syntax(db, function);
    }
    function_ast(db, function)
        .as_ref()
        .is_some_and(|ast| !unsupported::find(&entry.path, ast, &index.imports, features).is_empty())
}
