//! Derives the assumed types of parameters from call sites, defaults and roots.

use std::collections::BTreeMap;

use crate::fixpoint::{Cause, Contribution, Fixpoint, ParameterAssumption, Staged};
use ag_db::Db;
use ag_index::answers::{ArgumentSlot, CallSite, Target};
use ag_index::assumed::AssumedType;
use ag_index::assumptions::Source;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, ParameterIndex};
use ag_index::index::{DefaultValue, FileIndex, ParameterKind, ParameterSyntax, Signature};
use ag_index::oracle::Scope;
use ag_index::scope_location::ScopeLocation;
use ag_index::type_expression::{Placeholder, TypeExpression};
use ag_syntax::expressions::ExprId;
use ruff_index::IndexVec;

/// Names of parameters that receive Python values in every library.
const NAMES_OF_PYTHON_VALUES: [&str; 6] = ["axis", "axes", "dtype", "name", "data_format", "padding"];

impl Fixpoint {
    /// Adds the arguments of a call to `contributions`. `mode`: how the code that contains the call is staged, if it is.
    #[expect(clippy::too_many_arguments, reason = "a call, its caller and callee, and the output")]
    pub(super) fn contribute(
        &self,
        db: &dyn Db,
        scope: Scope,
        call: &CallSite,
        mode: Option<RootKind>,
        target: &Target,
        callee: Scope,
        contributions: &mut Vec<(Scope, ParameterIndex, Contribution)>,
    ) {
        let index = self.index(db, callee);
        let Some(signature) = index.signature(callee.code) else { return };
        let skip = skipped(index, callee, target);
        if !accepts(signature, skip, call) {
            return;
        }
        // What `jax.grad` alone calls is eager code for a function that another root reaches.
        let is_differentiated =
            || self.staged.get(&callee).is_some_and(|callee| callee.mode == RootKind::JaxGrad);
        let staged = mode.is_some_and(|mode| mode != RootKind::JaxGrad || is_differentiated());
        let possible = self.is_only_possible(scope);
        let mut given: IndexVec<ParameterIndex, bool> = signature.parameters.iter().map(|_| false).collect();
        for (slot, function) in &call.functions {
            if let Some(parameter) = parameter_at(signature, skip, slot) {
                self.contribute_applied(db, callee, parameter, function, contributions);
            }
        }
        for (slot, assumed) in &call.arguments {
            let Some(position) = parameter_at(signature, skip, slot) else { continue };
            given[position] = true;
            contributions.push((
                callee,
                position,
                Contribution {
                    cause: Cause { scope, location: call.location },
                    bound: call.partial,
                    staged,
                    possible,
                    assumed: assumed.clone(),
                },
            ));
        }
        if call.open {
            return;
        }
        for (position, parameter) in signature.parameters.iter_enumerated().skip(skip) {
            if !given[position]
                && let Some(default) = self.default_of(callee, position, &parameter.default)
            {
                contributions.push((
                    callee,
                    position,
                    Contribution {
                        cause: Cause { scope, location: ScopeLocation::default() },
                        bound: true,
                        staged,
                        possible,
                        assumed: default,
                    },
                ));
            }
        }
    }

    /// Returns the lambdas that a call passes to a function, each with the parameter that receives it.
    pub(super) fn lambdas_of(
        &self,
        db: &dyn Db,
        call: &CallSite,
        target: &Target,
        callee: Scope,
    ) -> Vec<(ExprId, Scope, ParameterIndex)> {
        let index = self.index(db, callee);
        let Some(signature) = index.signature(callee.code) else { return Vec::new() };
        let skip = skipped(index, callee, target);
        let given = call
            .lambdas
            .iter()
            .filter_map(|(slot, id)| Some((*id, callee, parameter_at(signature, skip, slot)?)));
        given.collect()
    }

    /// `function` is passed to `parameter` of `callee`. If `callee` calls this parameter, adds the arguments of that
    /// call to the parameters of `function`.
    fn contribute_applied(
        &self,
        db: &dyn Db,
        callee: Scope,
        parameter: ParameterIndex,
        function: &Target,
        contributions: &mut Vec<(Scope, ParameterIndex, Contribution)>,
    ) {
        let Some(function) = self.scope_of(db, function) else { return };
        let Some(signature) = self.index(db, function).signature(function.code) else {
            return;
        };
        for (position, assumed) in self.applied_to(callee, parameter).iter().enumerate() {
            let slot = ArgumentSlot::Position(position as u32);
            if let Some(position) = parameter_at(signature, 0, &slot) {
                let contribution = Contribution {
                    cause: Cause { scope: callee, location: ScopeLocation::default() },
                    bound: false,
                    staged: self.typed_as(callee).is_some(),
                    possible: self.is_only_possible(callee),
                    assumed: assumed.clone(),
                };
                contributions.push((function, position, contribution));
            }
        }
    }

    /// Returns the type of a default value.
    fn default_of(
        &self,
        scope: Scope,
        parameter: ParameterIndex,
        default: &DefaultValue,
    ) -> Option<AssumedType> {
        if let Some(literal) = default.type_expression() {
            return Some(AssumedType::of(literal));
        }
        let defaults = self.defaults.get(&scope).filter(|_| *default == DefaultValue::Other)?;
        defaults.iter().find(|(position, _)| *position == parameter).map(|(_, assumed)| assumed.clone())
    }

    /// Returns the types of the arguments with which `callee` calls its parameter `parameter`.
    pub(super) fn applied_to(&self, callee: Scope, parameter: ParameterIndex) -> Vec<AssumedType> {
        let mut arguments: Vec<AssumedType> = Vec::new();
        let calls = self.applied.get(&callee).into_iter().flatten();
        for (_, given) in calls.filter(|(applied, _)| *applied == parameter) {
            for (position, assumed) in given.iter().enumerate() {
                match arguments.get_mut(position) {
                    Some(known) => known.join(assumed),
                    None => arguments.push(assumed.clone()),
                }
            }
        }
        arguments
    }

    /// Returns whether a parameter that is annotated as a number receives a tracer instead. JAX replaces all non-static
    /// arguments of a jitted function by tracers, and a function that jitted code calls receives the values that the
    /// call passes.
    ///
    /// ```python
    /// @jax.jit
    /// def repeated(x, n: int):
    ///     for _ in range(n): …             # `n` is a tracer
    /// ```
    fn receives_tracer(
        &self,
        staged: Option<&Staged>,
        position: ParameterIndex,
        contributions: &[Contribution],
    ) -> bool {
        let Some(staged) = staged else { return false };
        if staged.dialect != Dialect::Jax || staged.mode != RootKind::JaxJit {
            return false;
        }
        if staged.root.is_some() {
            return staged.options.all_arguments
                && !staged.static_parameters.more
                && !staged.static_parameters.contains(position);
        }
        let mut calls = contributions.iter().filter(|contribution| contribution.staged).peekable();
        calls.peek().is_some()
            && calls.all(|call| {
                let alternatives = call.assumed.alternatives();
                !call.assumed.unknown && !alternatives.is_empty() && alternatives.iter().all(is_jax_array)
            })
    }

    /// Derives the types of all parameters from the current state.
    pub(super) fn recompute(&mut self, db: &dyn Db) {
        let mut sites: BTreeMap<(Scope, ParameterIndex), Vec<Contribution>> = BTreeMap::new();
        for contributions in self.contributions.values().chain(self.by_value.values()) {
            for (callee, position, contribution) in contributions {
                sites.entry((*callee, *position)).or_default().push(contribution.clone());
            }
        }
        let mut parameters = BTreeMap::new();
        for scope in self.scopes(db) {
            let Code::Function(function) = scope.code else { continue };
            let index = self.index(db, scope);
            let Some(signature) = index.signatures.get(function) else { continue };
            let is_method = index.definitions.functions[function].class.is_some();
            let staged = self.typed_as(scope);
            let is_only_possible = self.is_only_possible(scope);
            // A layer that is called as a value receives Tensors: `self.layers(x)` for `Sequential(*layers)`.
            let is_layer = is_method
                && staged.is_some_and(|staged| staged.possible && staged.sole_callees)
                && matches!(index.short_name(function), "forward" | "call" | "__call__");
            let assumptions = signature
                .parameters
                .iter_enumerated()
                .map(|(position, parameter)| {
                    if position.as_usize() == 0 && is_method && !signature.is_static {
                        return ParameterAssumption { source: Some(Source::Receiver), ..Default::default() };
                    }
                    let mut contributions = sites.get(&(scope, position)).cloned().unwrap_or_default();
                    contributions.retain(|contribution| is_only_possible || !contribution.possible);
                    let is_vague = parameter.annotation.is_some_and(|annotation| annotation.vague);
                    let is_known = || {
                        contributions
                            .iter()
                            .any(|contribution| !contribution.bound && !contribution.assumed.is_empty())
                            && contributions.iter().all(|contribution| !contribution.assumed.unknown)
                    };
                    let is_variable = parameter.annotation.is_some_and(|annotation| annotation.variable);
                    // Annotations that the calls contradict: `output_attentions: Optional[tf.Tensor]` is used as a flag
                    // and receives bools; `halves: tf.Tensor` receives `tf.split(x, 2)`.
                    let is_contradicted = || {
                        let mut received = AssumedType::default();
                        contributions.iter().for_each(|contribution| received.join(&contribution.assumed));
                        let tensor = parameter.annotation.is_some_and(|annotation| annotation.tensor);
                        parameter.may_be_flag() && received.is_flag() || tensor && received.is_sequence()
                    };
                    let receives_tracer = || {
                        let number = parameter.annotation.is_some_and(|annotation| annotation.number);
                        number && self.receives_tracer(staged, position, &contributions)
                    };
                    let is_replaced =
                        is_variable || is_vague && is_known() || is_contradicted() || receives_tracer();
                    if parameter.annotated && !is_replaced {
                        contributions.retain(|contribution| contribution.bound);
                        return ParameterAssumption {
                            source: Some(Source::Annotation),
                            sites: contributions,
                            ..Default::default()
                        };
                    }
                    // Calls outside staged code are irrelevant for a staged function, unless the function stores its
                    // arguments in attributes.
                    if staged.is_some_and(|staged| staged.root.is_none())
                        && !signature.sets_attributes
                        && contributions.iter().any(|contribution| contribution.staged)
                    {
                        contributions.retain(|contribution| contribution.staged);
                    }
                    let static_parameter =
                        staged.is_some_and(|staged| staged.static_parameters.contains(position));
                    // In `jax.jit(partial(f, store=options.store))`, JAX does not replace the value of `store` by a
                    // tracer.
                    let is_given = contributions.iter().any(|given| given.bound && given.assumed.is_empty());
                    let assumable = !static_parameter
                        && !is_given
                        // `jax.jit` traces all non-static arguments, however they are used.
                        && (!parameter.used_as_python
                            || staged.is_some_and(|staged| staged.root == Some(RootKind::JaxJit)))
                        && !matches!(parameter.kind, ParameterKind::VarArgs | ParameterKind::VarKeywords)
                        && staged.is_none_or(|staged| !staged.static_parameters.more)
                        && index.short_name(function) != "__init__";
                    let other = self.default_of(scope, position, &parameter.default);
                    let other = other.filter(|_| parameter.default == DefaultValue::Other);
                    let assumption = assume(
                        &parameter.default,
                        &parameter.name,
                        contributions,
                        staged,
                        static_parameter,
                        assumable,
                        is_layer,
                    );
                    match other {
                        Some(assumed) if assumption.source == Some(Source::Unknown) => {
                            ParameterAssumption { source: Some(Source::Default), assumed, sites: Vec::new() }
                        }
                        _ => assumption,
                    }
                })
                .collect();
            parameters.insert(scope, assumptions);
        }
        self.parameters = parameters;
    }
}

/// Returns the number of leading parameters that the receiver of a method call fills: 0 or 1.
fn skipped(index: &FileIndex, callee: Scope, target: &Target) -> usize {
    usize::from(target.bound && takes_receiver(index, callee))
}

/// Returns whether the first parameter of a function is its receiver, `self` or `cls`.
pub(super) fn takes_receiver(index: &FileIndex, function: Scope) -> bool {
    let is_method = index.function(function.code).is_some_and(|entry| entry.class.is_some());
    is_method && index.signature(function.code).is_some_and(|signature| !signature.is_static)
}

/// Returns the parameter that receives an argument; `None` if there is none.
pub(super) fn parameter_at(
    signature: &Signature,
    skip: usize,
    slot: &ArgumentSlot,
) -> Option<ParameterIndex> {
    let find = |is_it: &dyn Fn(&ParameterSyntax) -> bool| {
        signature.parameters.iter().position(is_it).map(ParameterIndex::from)
    };
    let of_kind = |kind| find(&|parameter| parameter.kind == kind);
    match slot {
        ArgumentSlot::Position(position) => {
            let position = ParameterIndex::from(*position) + skip;
            match signature.parameters.get(position).map(|parameter| parameter.kind) {
                Some(ParameterKind::PositionalOnly | ParameterKind::Positional) => Some(position),
                // Excess positional arguments go to `*args`.
                _ => of_kind(ParameterKind::VarArgs),
            }
        }
        ArgumentSlot::Keyword(name) => {
            let named = find(&|parameter| parameter.name == *name);
            named.or_else(|| of_kind(ParameterKind::VarKeywords))
        }
    }
}

/// Returns whether a function has parameters for all arguments of a call. An attribute that several classes assign may
/// have several types, and the methods of only some of them accept these arguments:
///
/// ```python
/// q, k = self.rotary(q, k)             # not the `call(self, tensors)` of the layer in a base class
/// ```
fn accepts(signature: &Signature, skip: usize, call: &CallSite) -> bool {
    call.arguments.iter().all(|(slot, _)| parameter_at(signature, skip, slot).is_some())
}

/// Derives the type of one parameter. Precedence: call sites > literal default > assumption.
fn assume(
    default: &DefaultValue,
    name: &str,
    contributions: Vec<Contribution>,
    staged: Option<&Staged>,
    is_static: bool,
    assumable: bool,
    is_layer: bool,
) -> ParameterAssumption {
    let root = staged.filter(|staged| staged.root.is_some());
    let takes_tensors = root.is_some_and(|staged| {
        staged.dialect == Dialect::Tensorflow && staged.root == Some(RootKind::Function)
    });
    let mut assumed = AssumedType::default();
    // A wrapper receives many functions. If the results of some of them are known, those of the others may differ.
    let is_open = contributions.iter().any(|contribution| contribution.assumed.unknown);
    for contribution in &contributions {
        for alternative in contribution.assumed.alternatives() {
            if is_open && alternative.is_callable() {
                continue;
            }
            match takes_tensors && !contribution.bound {
                true => assumed.insert(with_arrays_as(alternative, Dialect::Tensorflow)),
                false => assumed.insert(alternative.clone()),
            }
        }
    }
    if !assumed.is_empty() {
        // `jax.jit` replaces every number that is not static by a tracer.
        if let Some(staged) = root
            && staged.dialect == Dialect::Jax
            && staged.root == Some(RootKind::JaxJit)
            && !is_static
            && !staged.static_parameters.more
        {
            assumed = traced(&contributions);
        }
        // If all known calls pass None, other calls may still pass something else.
        if assumed.alternatives().iter().all(TypeExpression::is_none) {
            assumed.unknown = true;
        }
        return ParameterAssumption { source: Some(Source::CallSites), assumed, sites: contributions };
    }
    if let Some(literal) = default.type_expression() {
        let mut assumed = AssumedType::of(literal);
        assumed.unknown = *default == DefaultValue::None;
        if *default == DefaultValue::None
            && name == "training"
            && root.is_some_and(|staged| staged.root == Some(RootKind::KerasMethod))
        {
            assumed = AssumedType::of(TypeExpression::builtin("bool"));
        }
        return ParameterAssumption { source: Some(Source::Default), assumed, sites: Vec::new() };
    }
    if *default == DefaultValue::Absent
        && let Some(staged) = root.or(staged.filter(|_| is_layer))
        && assumable
        && (staged.root == Some(RootKind::JaxJit) || !NAMES_OF_PYTHON_VALUES.contains(&name))
    {
        if name == "training" && staged.root == Some(RootKind::KerasMethod) {
            return ParameterAssumption {
                source: Some(Source::Default),
                assumed: AssumedType::of(TypeExpression::builtin("bool")),
                sites: Vec::new(),
            };
        }
        let structured = matches!(
            staged.root,
            Some(RootKind::KerasMethod | RootKind::ControlFlowBody | RootKind::DatasetCallback)
        );
        let assumed = match staged.dialect {
            Dialect::Tensorflow | Dialect::Keras if structured => {
                TypeExpression::Placeholder(Placeholder::Tensor)
            }
            Dialect::Tensorflow => TypeExpression::Placeholder(Placeholder::Argument),
            Dialect::Jax if structured => TypeExpression::Placeholder(Placeholder::Array),
            dialect => tensor_of(dialect),
        };
        return ParameterAssumption {
            source: Some(Source::Assumption),
            assumed: AssumedType::of(assumed),
            sites: Vec::new(),
        };
    }
    ParameterAssumption { source: Some(Source::Unknown), ..Default::default() }
}

/// Returns the types that the arguments of a jitted function have inside it: numbers become tracers, also in
/// containers.
fn traced(contributions: &[Contribution]) -> AssumedType {
    let tracer = |part: &TypeExpression| match part {
        TypeExpression::Builtin(name) => {
            let is_number = matches!(name.as_str(), "int" | "float" | "bool" | "complex");
            is_number.then(|| tensor_of(Dialect::Jax))
        }
        _ => None,
    };
    let mut assumed = AssumedType::default();
    for contribution in contributions {
        for alternative in contribution.assumed.alternatives() {
            let is_default = contribution.cause.location == ScopeLocation::default();
            assumed.insert(match contribution.bound {
                // A parameter without an argument keeps its default, a Python value.
                true if is_default => alternative.clone(),
                // In `partial(f, array)` the array is a constant, but functions of `jax.numpy` trace operations on
                // constants, too.
                true => with_arrays_as(alternative, Dialect::Jax),
                false => with_arrays_as(&alternative.replaced(&tracer), Dialect::Jax),
            });
        }
    }
    assumed
}

/// Replaces NumPy arrays by Tensors, also in containers, as a root does with its arguments:
/// `list[numpy.ndarray[Any, Any]]` -> `list[tensorflow.Tensor]`.
fn with_arrays_as(alternative: &TypeExpression, dialect: Dialect) -> TypeExpression {
    let is_array = |class: &TypeExpression| match class {
        TypeExpression::Class(class) => {
            class.qualname == "ndarray" && class.module.split('.').next() == Some("numpy")
        }
        _ => false,
    };
    alternative.replaced(&|part| {
        let class = match part {
            TypeExpression::Generic(generic) => &generic.0,
            class => class,
        };
        is_array(class).then(|| tensor_of(dialect))
    })
}

/// Returns whether a type is `jax.Array`, under any of its names.
fn is_jax_array(alternative: &TypeExpression) -> bool {
    matches!(alternative, TypeExpression::Class(class)
        if class.qualname == "Array" && class.module.split('.').next() == Some("jax"))
}

pub(super) fn tensor_of(dialect: Dialect) -> TypeExpression {
    let (module, class) = dialect.tensor_class();
    TypeExpression::class(module, class)
}
