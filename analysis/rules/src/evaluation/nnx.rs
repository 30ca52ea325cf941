//! Objects of `flax.nnx`, whose state code changes in place. A trace changes only objects that its function receives, and
//! `jax.jit` passes copies:
//!
//! ```python
//! @nnx.jit
//! def evaluate(x):
//!     return model(x)          # raises `TraceContextError` where the model updates its statistics
//!
//! @jax.jit
//! def train(model, x):
//!     return model(x)          # updates the statistics of a copy
//! ```

use std::cell::Cell;
use std::rc::Rc;

use ruff_python_ast as ast;
use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;

use super::calls::Arguments;
use super::faults::Fault;
use super::transformations::{Level, NNX, Passing, StateKind, Stateful, passing};
use super::values::{Object, Partial, Value};
use super::{Evaluated, Evaluation};

/// Arguments that turn off the state of a layer.
const MODES: [&str; 2] = ["deterministic", "use_running_average"];

/// Methods of `nnx.Rngs` that do not draw a key.
const HARMLESS: [&str; 3] = ["items", "keys", "split"];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates the body of a transformed function, which receives these arguments.
    pub(super) fn at_level(
        &mut self,
        passing: Passing,
        received: &[Value<'a>],
        run: impl FnOnce(&mut Self) -> Evaluated<Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        let mut addresses = FxHashSet::default();
        received.iter().for_each(|value| self.collect_stateful(value, &mut addresses));
        let (calls, is_read) = (self.callers.len(), false);
        self.levels.push(Level { passing, received: addresses, calls, changes: Vec::new(), is_read });
        let result = run(self);
        let Some(level) = self.levels.pop() else { return result };
        let mut returned = FxHashSet::default();
        if let Ok(value) = &result {
            self.collect_stateful(value, &mut returned);
        }
        if let Passing::Copied(name) = level.passing
            && !level.is_read
            && returned.is_disjoint(&level.received)
        {
            for (place, reach) in level.changes {
                self.record_fault(place, reach, Fault::CopiedState(name));
            }
        }
        result
    }

    /// Records that code changes an object.
    pub(super) fn changes_state(&mut self, object: &Value<'a>, range: TextRange) {
        if self.levels.is_empty() {
            return;
        }
        let (address, created) = match object {
            Value::Stateful(state, _) => (Rc::as_ptr(state).cast::<()>(), state.level),
            Value::Object(object) if self.is_nnx(object) => (Rc::as_ptr(object).cast::<()>(), object.depth),
            _ => return,
        };
        let reach = self.reach();
        for index in (created..self.levels.len()).rev() {
            let Some(level) = self.levels.get_mut(index) else { return };
            let place = self.callers.get(level.calls).copied().unwrap_or((self.ctx.document, range));
            match level.passing {
                Passing::Kept if level.received.contains(&address) => {}
                Passing::Copied(_) if level.received.contains(&address) => {
                    level.changes.push((place, reach));
                    return;
                }
                Passing::Unknown => return,
                _ => return self.record_fault(place, reach, Fault::OuterState),
            }
        }
    }

    /// Returns whether the class of an object derives from a class of `flax.nnx`.
    fn is_nnx(&self, object: &Object<'a>) -> bool {
        self.hierarchy(object.class).is_some_and(|it| is_nnx(it.library.as_deref()))
    }

    /// Returns whether a value is an object of `flax.nnx`.
    pub(super) fn is_stateful(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Stateful(..) => true,
            Value::Object(object) => self.is_nnx(object),
            _ => false,
        }
    }

    /// Adds the addresses of the objects of `flax.nnx` in a value.
    fn collect_stateful(&self, value: &Value<'a>, found: &mut FxHashSet<*const ()>) {
        match value {
            Value::Stateful(state, parts) => {
                if found.insert(Rc::as_ptr(state).cast()) {
                    parts.iter().for_each(|part| self.collect_stateful(part, found));
                }
            }
            Value::Object(object) if self.is_nnx(object) => {
                if found.insert(Rc::as_ptr(object).cast())
                    && let Ok(attributes) = object.attributes.try_borrow()
                {
                    attributes
                        .iter()
                        .flat_map(|it| it.values())
                        .for_each(|it| self.collect_stateful(it, found));
                }
            }
            _ => value.elements().iter().flatten().for_each(|it| self.collect_stateful(it, found)),
        }
    }

    /// Evaluates a call of a function or class of `flax.nnx`.
    pub(super) fn nnx_library(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let first = arguments.positional.first();
        let is_active = Self::active(arguments, Some(true));
        match (name.strip_prefix(NNX).unwrap_or(name), first) {
            ("cached_partial", Some(function)) => {
                return Value::Partial(Rc::new(Partial {
                    function: function.clone(),
                    positional: arguments.positional[1..].to_vec(),
                    keywords: arguments.keywords.clone(),
                }));
            }
            ("update", Some(object)) => self.changes_state(object, range),
            ("List", Some(elements)) => return elements.clone(),
            ("BatchNorm", _) => {
                self.draws(arguments, range);
                return self.stateful(StateKind::Layer, is_active, Vec::new());
            }
            ("Dropout", _) => match arguments.get(0, "rate") {
                Some(Value::Float(rate)) if *rate > 0.0 => {
                    return self.stateful(StateKind::Layer, is_active, Vec::new());
                }
                _ => {}
            },
            ("Sequential", _) => {
                return self.stateful(StateKind::Plain, None, arguments.positional.clone());
            }
            (own, _) => match self.stateful_class(own) {
                Some(value) => return value,
                None if own.starts_with(char::is_uppercase) => {
                    self.draws(arguments, range);
                    return self.stateful(StateKind::Plain, None, Vec::new());
                }
                // `nnx.state(model)`
                None if arguments.values().any(|value| self.is_stateful(value)) => {
                    self.levels.iter_mut().for_each(|level| level.is_read = true);
                }
                None => {}
            },
        }
        Value::Unknown
    }

    /// Returns an object of a class of `flax.nnx`.
    pub(super) fn stateful_class(&self, name: &str) -> Option<Value<'a>> {
        let name = name.strip_prefix(NNX).unwrap_or(name);
        let kind = match name {
            "Rngs" => StateKind::Rngs,
            "Optimizer" | "ModelAndOptimizer" => StateKind::Optimizer,
            "MultiMetric" => StateKind::Metric,
            "BatchStat" | "Cache" | "Intermediate" | "Param" | "Perturbation" | "Variable" => {
                StateKind::Variable
            }
            _ if name.strip_prefix("metrics.").is_some_and(|it| it.starts_with(char::is_uppercase)) => {
                StateKind::Metric
            }
            _ => return None,
        };
        Some(self.stateful(kind, Some(true), Vec::new()))
    }

    /// Returns an object of the class that an annotation names, if it is one of `flax.nnx`.
    pub(super) fn declared_state(&mut self, annotation: &'a ast::Expr) -> Option<Value<'a>> {
        let resolved = self.ctx.resolve(annotation);
        if let Some(value) = resolved.as_ref().and_then(|name| self.stateful_class(name)) {
            return Some(value);
        }
        let class = self.annotated(annotation, resolved.as_deref())?;
        self.hierarchy(class).filter(|it| is_nnx(it.library.as_deref())).map(|_| self.construct(class))
    }

    fn stateful(&self, kind: StateKind, is_active: Option<bool>, parts: Vec<Value<'a>>) -> Value<'a> {
        let (level, is_active) = (self.levels.len(), Cell::new(is_active));
        Value::Stateful(Rc::new(Stateful { kind, level, is_active }), parts.into())
    }

    /// Records that a layer draws keys for its weights: `nnx.Linear(3, 3, rngs=rngs)`.
    fn draws(&mut self, arguments: &Arguments<'a>, range: TextRange) {
        if let Some(rngs) = arguments.get(usize::MAX, "rngs").cloned() {
            self.changes_state(&rngs, range);
        }
    }

    /// Returns whether calls of a layer change it, for arguments such as `deterministic=True`; `None` if this is not known.
    fn active(arguments: &Arguments<'a>, default: Option<bool>) -> Option<bool> {
        match MODES.iter().find_map(|name| arguments.get(usize::MAX, name)) {
            Some(Value::Bool(is_off)) => Some(!is_off),
            Some(_) => None,
            None => default,
        }
    }

    /// Evaluates a call of an object of `flax.nnx`.
    pub(super) fn stateful_call(
        &mut self,
        state: &Rc<Stateful>,
        parts: &Rc<[Value<'a>]>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let is_active = Self::active(arguments, state.is_active.get());
        if matches!(state.kind, StateKind::Layer | StateKind::Rngs) && is_active == Some(true) {
            self.changes_state(&Value::Stateful(state.clone(), parts.clone()), range);
        }
        for part in parts.iter() {
            self.call(part, Arguments::of(vec![Value::Unknown]), range)?;
        }
        Ok(Value::Unknown)
    }

    /// Evaluates a call of a method that an object of `flax.nnx` inherits: `model.eval()`, `metrics.update(loss=loss)`.
    /// Returns whether it is one.
    pub(super) fn stateful_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> bool {
        if !self.is_stateful(object) {
            return false;
        }
        let is_active = match name {
            "eval" => Some(Some(false)),
            "train" => Some(Some(true)),
            "set_attributes" | "set_mode" => Some(Self::active(arguments, None)),
            _ => None,
        };
        if let Some(is_active) = is_active {
            let is_active = is_active.filter(|_| self.conditions == 0);
            self.set_active(object, is_active, &mut FxHashSet::default());
            return true;
        }
        let Value::Stateful(state, _) = object else { return false };
        match state.kind {
            StateKind::Optimizer if name == "update" => {
                self.changes_state(object, range);
                if let [model, _, ..] = arguments.positional.as_slice() {
                    self.changes_state(&model.clone(), range);
                }
            }
            StateKind::Metric if matches!(name, "update" | "reset") => self.changes_state(object, range),
            StateKind::Variable if name.starts_with("set_") => self.changes_state(object, range),
            StateKind::Rngs if !HARMLESS.contains(&name) => self.changes_state(object, range),
            _ => {}
        }
        true
    }

    /// Sets whether calls of the layers in an object change them.
    fn set_active(&self, value: &Value<'a>, is_active: Option<bool>, seen: &mut FxHashSet<*const ()>) {
        match value {
            Value::Stateful(state, parts) => {
                if state.kind == StateKind::Layer {
                    state.is_active.set(is_active);
                }
                parts.iter().for_each(|part| self.set_active(part, is_active, seen));
            }
            Value::Object(object) => {
                if seen.insert(Rc::as_ptr(object).cast())
                    && let Ok(attributes) = object.attributes.try_borrow()
                {
                    attributes
                        .iter()
                        .flat_map(|it| it.values())
                        .for_each(|it| self.set_active(it, is_active, seen));
                }
            }
            _ => value.elements().iter().flatten().for_each(|it| self.set_active(it, is_active, seen)),
        }
    }

    /// Returns how a decorated function receives its arguments.
    pub(super) fn passing_of(&self, def: &ast::StmtFunctionDef) -> Passing {
        let names = def.decorator_list.iter().filter_map(|decorator| {
            let callee = ruff_python_ast::helpers::map_callable(&decorator.expression);
            let name = self.ctx.resolve(callee)?;
            match (name.as_ref(), &decorator.expression) {
                ("functools.partial", ast::Expr::Call(call)) => {
                    self.ctx.resolve(call.arguments.args.first()?)
                }
                _ => Some(name),
            }
        });
        match names.map(|name| passing(&name)).collect::<Vec<_>>().as_slice() {
            [passing] => *passing,
            _ => Passing::Unknown,
        }
    }
}

fn is_nnx(class: Option<&str>) -> bool {
    class.is_some_and(|name| name.starts_with(NNX))
}
