//! The calls of staged functions, and how they stage the functions that they call.

use crate::fixpoint::{Cause, Certainty, Fixpoint, Staged};
use crate::hierarchy::{ClassId, ModuleFramework};
use ag_db::{Db, Document};
use ag_index::answers::{CallSite, ScopeTypes, Target};
use ag_index::assumptions::{RootOptions, StaticParameters, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::index::FileIndex;
use ag_index::lambdas::LambdaStage;
use ag_index::modules::module_name;
use ag_index::oracle::Scope;
use ruff_python_ast::name::Name;

impl Fixpoint {
    pub(super) fn absorb_calls(&mut self, db: &dyn Db, scope: Scope, types: &ScopeTypes) -> bool {
        let mut changed = false;
        let mut contributions = Vec::new();
        let mut passed_lambdas = Vec::new();
        let staged = self.staged.get(&scope).cloned();
        let distance = self.evidence.get(&scope).copied();
        let is_evidence = distance.is_some();
        for call in &types.calls {
            let caller = match (&staged, call.lambda) {
                // Unlike the function that `jax.grad` traces, a lambda that it passes to `jax.vmap` receives tracers
                // without a value.
                (Some(staged), Some(lambda))
                    if staged.possible
                        || staged.mode == RootKind::JaxGrad && lambda.kind != RootKind::JaxGrad =>
                {
                    self.staged_by(lambda, Cause { scope, location: call.location })
                }
                (Some(staged), None) => Some(staged.clone()),
                (Some(staged), Some(lambda)) => Some(Staged {
                    // In converted code, TensorFlow does not convert the lambda that is passed to `Dataset.map`.
                    converts: staged.converts && lambda.kind != RootKind::DatasetCallback,
                    ..staged.clone()
                }),
                (None, Some(lambda)) => self.staged_by(lambda, Cause { scope, location: call.location }),
                (None, None) => None,
            };
            let mode = caller.as_ref().filter(|caller| !caller.possible || !is_evidence).map(|it| it.mode);
            let missing = call.missing.as_ref().zip(self.class_of(db, scope));
            let missing = missing.map(|(name, class)| self.implementing(db, class, name));
            for (class, method) in missing.into_iter().flatten() {
                let Some(entry) = self.index(db, method).function(method.code) else { continue };
                let document = self.documents[method.document];
                let target = Target { document, path: entry.path.clone(), bound: true };
                changed |= self.reach_overriding(db, scope, caller.as_ref(), class, method, call);
                self.contribute(db, scope, call, mode, &target, method, &mut contributions);
            }
            for target in &call.targets {
                let Some(callee) = self.scope_of(db, target) else { continue };
                let overriding = match self.index(db, callee).function(callee.code) {
                    Some(entry) if call.on_self => self.overriding(db, scope, entry.path.name()),
                    _ => Vec::new(),
                };
                for (class, method) in overriding {
                    changed |= self.reach_overriding(db, scope, caller.as_ref(), class, method, call);
                    self.contribute(db, scope, call, mode, target, method, &mut contributions);
                }
                if let Some(caller) = &caller
                    && !is_chosen_at_run_time(&call.targets)
                {
                    changed |= self.reach(db, scope, caller, callee, call);
                } else if let Some(distance) = distance
                    && !self.is_certain_complete
                    && distance < self.limits.evidence_distance
                    && self.evidence.len() < self.limits.evidence_scopes
                    && !self.staged.contains_key(&callee)
                    && !self.evidence.contains_key(&callee)
                {
                    self.evidence.insert(callee, distance + 1);
                    changed = true;
                }
                self.contribute(db, scope, call, mode, target, callee, &mut contributions);
                passed_lambdas.extend(self.lambdas_of(db, call, target, callee));
            }
        }
        if self.is_inferred_again(scope) {
            return changed;
        }
        if self.passed_lambdas.get(&scope).map_or(&[][..], Vec::as_slice) != passed_lambdas {
            self.passed_lambdas.insert(scope, passed_lambdas);
            changed = true;
        }
        if self.contributions.get(&scope) != Some(&contributions) {
            self.contributions.insert(scope, contributions);
            changed = true;
        }
        changed
    }

    /// Returns how the functions that a lambda calls are staged: as if they were called by the library that calls the
    /// lambda. Returns `None` if the library's dialect is not enabled.
    fn staged_by(&self, lambda: LambdaStage, cause: Cause) -> Option<Staged> {
        self.is_selected(lambda.dialect).then(|| Staged {
            depth: 0,
            dialect: lambda.dialect,
            root: None,
            mode: lambda.kind,
            converts: lambda.converts,
            certainty: Certainty::Certain,
            possible: false,
            sole_callees: false,
            unconverted: None,
            cause,
            static_parameters: StaticParameters::default(),
            options: RootOptions { randomness: lambda.randomness, ..RootOptions::default() },
        })
    }

    /// Stages a method that overrides the one that `self.method()` in `scope` names. Returns whether it is new.
    fn reach_overriding(
        &mut self,
        db: &dyn Db,
        scope: Scope,
        caller: Option<&Staged>,
        class: ClassId,
        method: Scope,
        call: &CallSite,
    ) -> bool {
        let own_class = self.class_of(db, scope);
        let name = self.index(db, method).function(method.code).map(|entry| Name::new(entry.path.name()));
        let is_new = own_class.zip(name).is_some_and(|called| self.overridden.insert(called));
        let Some(caller) = caller else { return is_new };
        let own = match self.is_inherited(db, scope, class) {
            true => Certainty::Inherited,
            false => Certainty::Uncertain,
        };
        let caller = Staged { certainty: caller.certainty.max(own), ..caller.clone() };
        self.reach(db, scope, &caller, method, call) || is_new
    }

    /// Stages a function that staged code calls. Returns whether anything changed.
    fn reach(&mut self, db: &dyn Db, scope: Scope, caller: &Staged, callee: Scope, call: &CallSite) -> bool {
        if caller.depth >= self.limits.call_depth {
            return false;
        }
        let cause = Cause { scope, location: call.location };
        let Some(staged) = self.reached(db, caller, callee, cause, call.implicit) else { return false };
        if let Some(reason @ (Unconverted::Caller | Unconverted::Protocol)) = staged.unconverted
            && !caller.possible
        {
            self.called_unconverted.insert(callee, reason);
        }
        self.stage(db, callee, staged)
    }

    /// Returns how a call stages a function; `None` if the framework does not trace the call.
    pub(super) fn reached(
        &self,
        db: &dyn Db,
        caller: &Staged,
        callee: Scope,
        cause: Cause,
        implicit: bool,
    ) -> Option<Staged> {
        let index = self.index(db, callee);
        let signature = index.signature(callee.code)?;
        let left_out = signature.decorators.iter().any(|name| {
            matches!(name.as_str(), "disable" | "ignore" | "unused" | "allow_in_graph" | "custom_op")
        });
        // `torch.fx` records a call of such a function as a whole.
        let is_recorded =
            caller.mode == RootKind::TorchFx && signature.decorators.iter().any(|name| name == "wrap");
        if caller.dialect == Dialect::Torch && (left_out || is_recorded) {
            return None;
        }
        let document = self.documents[callee.document];
        if is_of_framework(db, document, caller.dialect)
            || is_foreign(index, caller.dialect)
            || self.is_module_of_other_framework(db, callee, caller.dialect)
        {
            return None;
        }
        let decorated =
            |names: &[&str]| signature.decorators.iter().any(|decorator| names.contains(&decorator.as_str()));
        if decorated(&["py_function", "numpy_function"]) {
            return None;
        }
        // Only torch.compile traces the derivative of a `torch.autograd.Function`.
        let differentiates = implicit
            && caller.dialect == Dialect::Torch
            && index.function(callee.code).is_some_and(|entry| entry.path.name() == "backward");
        if differentiates && caller.mode != RootKind::TorchCompile {
            return None;
        }
        let unconverted = match caller {
            Staged { dialect: Dialect::Torch | Dialect::Jax, .. } => None,
            Staged { converts: false, .. } => Some(Unconverted::Caller),
            _ if implicit => Some(Unconverted::Protocol),
            _ if index.function(callee.code).is_some_and(|entry| entry.path.name() == "__init__") => {
                Some(Unconverted::Constructor)
            }
            _ if decorated(&["do_not_convert"]) => Some(Unconverted::DoNotConvert),
            _ if decorated(&["lru_cache", "cache"]) => Some(Unconverted::Cached),
            _ => None,
        };
        Some(Staged {
            depth: caller.depth.saturating_add(1),
            dialect: caller.dialect,
            root: None,
            mode: caller.mode,
            converts: caller.converts && unconverted.is_none(),
            certainty: caller.certainty,
            possible: caller.possible,
            sole_callees: caller.sole_callees,
            unconverted,
            cause,
            static_parameters: StaticParameters::default(),
            options: RootOptions {
                full_graph: caller.options.full_graph,
                randomness: caller.options.randomness,
                ..RootOptions::default()
            },
        })
    }

    /// Returns whether a function is a method of a PyTorch module and its caller is staged by TensorFlow or Keras, or
    /// vice versa. Such a call goes to a class that the program selects at run time:
    /// ```python
    /// self.mlp = {"pytorch": TorchMlp, "tensorflow": KerasMlp}[backend](channels)
    /// ```
    fn is_module_of_other_framework(&self, db: &dyn Db, callee: Scope, dialect: Dialect) -> bool {
        let class = self.index(db, callee).class_around(callee.code);
        let framework =
            class.and_then(|class| self.hierarchy.framework(ClassId { document: callee.document, class }));
        match dialect {
            Dialect::Tensorflow | Dialect::Keras => framework == Some(ModuleFramework::Torch),
            Dialect::Torch => framework == Some(ModuleFramework::Keras),
            Dialect::Jax | Dialect::Autograph | Dialect::Pennylane => false,
        }
    }
}

/// Returns whether the program selects one of these functions at run time. Functions of the same name in several files
/// are assumed to be alternative implementations, such as `backend.add` with one module per backend.
fn is_chosen_at_run_time(targets: &[Target]) -> bool {
    let [first, rest @ ..] = targets else { return false };
    let name = |target: &Target| target.path.qualname.rsplit('.').next().unwrap_or_default().to_owned();
    rest.iter().any(|target| target.document != first.document && name(target) == name(first))
}

/// Returns whether the document is part of the framework itself: the project is TensorFlow, PyTorch or JAX. The
/// framework does not stage its own code: AutoGraph does not convert it, and Dynamo and TorchScript treat it as
/// builtin.
fn is_of_framework(db: &dyn Db, document: Document, dialect: Dialect) -> bool {
    let (package, _) = dialect.tensor_class();
    module_name(db, document).as_ref().is_some_and(|module| module.split('.').next() == Some(package))
}

/// Returns whether the file uses other frameworks, but not the framework of the dialect. A call that resolves to such a
/// file goes to a module that the program selects at run time.
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
