//! Traced arrays that code uses after their trace has ended:
//!
//! ```python
//! @jax.jit
//! def step(x):
//!     seen.append(x * 2)        # stores a tracer
//!
//! step(jnp.ones(3))
//! jnp.stack(seen)               # uses it
//! ```

use std::rc::Rc;

use ag_db::Document;
use ruff_python_ast as ast;
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::faults::Reach;
use super::traced::Mode;
use super::values::{Object, Scope, Value};
use super::{Evaluated, Evaluation};
use crate::tracing::snippet;

/// The maximum depth of containers in a container whose arrays outlive their trace.
const DEEPEST: usize = 4;

/// Methods of containers that store their arguments.
pub(crate) const STORING: [&str; 7] =
    ["add", "append", "appendleft", "extend", "insert", "setdefault", "update"];

/// Methods of arrays that need no value.
const HARMLESS: [&str; 3] = ["get_shape", "ref", "set_shape"];

/// Where code stores a value.
pub(super) enum Place<'a> {
    Container(Value<'a>),
    Attribute(Rc<Object<'a>>, String),
    Variable(Scope<'a>, &'a str),
    ClassAttribute((*const ast::StmtClassDef, String)),
    /// The cache of a function with `@functools.cache`.
    Cache(CacheKey),
}

/// A function with `@functools.cache`, and its arguments.
pub(super) type CacheKey = (*const ast::StmtFunctionDef, String);

/// A place where traced code stores an array.
pub(super) struct Store<'a> {
    place: Place<'a>,
    document: Document,
    range: TextRange,
    reach: Reach,
    /// The number of traces that the store is in, without those of `jax.vmap` in other traces: they do not trace what is
    /// independent of the mapped arguments.
    depth: usize,
}

/// An array that outlives its trace.
pub(super) struct Leak {
    pub document: Document,
    /// The expression or target that stores the array.
    pub range: TextRange,
    pub reach: Reach,
    /// The text of the expression that uses the array after the trace.
    pub user: Option<String>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Records that traced code stores a value.
    pub(super) fn stored(&mut self, place: Place<'a>, value: &Value<'a>, range: TextRange) {
        let is_trace = |mode: &Mode| matches!(mode, Mode::Jit | Mode::Graph);
        let depth = match self.traced.iter().rposition(is_trace) {
            Some(last) => last + 1,
            None if matches!(self.traced.first(), Some(Mode::Map)) => 1,
            None => return,
        };
        if self.explores() && (value.holds_tensor() || matches!(value, Value::Tree)) {
            let (document, reach) = (self.ctx.document, self.reach());
            self.stores.push(Store { place, document, range, reach, depth });
        }
    }

    /// Records that a method of a container stores its arguments.
    pub(super) fn stored_by_method(
        &mut self,
        container: &Value<'a>,
        method: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) {
        let is_container =
            matches!(container, Value::List(_) | Value::Dict(_) | Value::Many(_) | Value::Table(_));
        if is_container
            && STORING.contains(&method)
            && let Some(value) = arguments.values().find(|value| value.holds_tensor())
        {
            self.stored(Place::Container(container.clone()), value, range);
        }
    }

    /// Ends a trace: the arrays that it has stored cannot be used any longer.
    pub(super) fn end_trace(&mut self) {
        let depth = self.traced.len();
        let (ended, others) = std::mem::take(&mut self.stores).into_iter().partition(|it| it.depth > depth);
        self.stores = others;
        let ended: Vec<Store> = ended;
        for Store { place, document, range, reach, .. } in ended {
            let leak = self.leaks.len();
            self.leaks.push(Leak { document, range, reach, user: None });
            match place {
                Place::Container(container) => container.leak_elements(leak, DEEPEST),
                Place::Attribute(object, name) => {
                    if let Some(attributes) = object.attributes.borrow_mut().as_mut()
                        && let Some(value) = attributes.get(&name).map(|value| value.leaked(leak, DEEPEST))
                    {
                        attributes.insert(name, value);
                    }
                }
                Place::Variable(scope, name) => scope.set(name, scope.get(name).leaked(leak, DEEPEST)),
                Place::ClassAttribute(key) => {
                    if let Some(value) = self.class_attributes.get_mut(&key) {
                        *value = value.leaked(leak, DEEPEST);
                    }
                }
                Place::Cache(key) => {
                    if let Some(value) = self.cached.get_mut(&key) {
                        *value = value.leaked(leak, DEEPEST);
                    }
                }
            }
        }
    }

    /// Records that an operation needs a value, if this is an array.
    pub(super) fn used_operand(&mut self, value: &Value<'a>, range: TextRange) {
        if let Value::Leaked(leak) = value
            && let Some(leak) = self.leaks.get_mut(*leak)
            && leak.user.is_none()
        {
            leak.user = self.ctx.text.get(range.to_std_range()).map(snippet);
        }
    }

    /// Records that an operation needs an array, or the arrays in a list or tuple.
    pub(super) fn used(&mut self, value: &Value<'a>, range: TextRange) {
        match value {
            Value::Leaked(_) => self.used_operand(value, range),
            Value::Tuple(elements) => elements.iter().for_each(|it| self.used(it, range)),
            Value::List(elements) => {
                let elements = elements.borrow().clone();
                elements.iter().flatten().for_each(|it| self.used(it, range));
            }
            Value::Many(common) => {
                let element = common.borrow().clone();
                element.iter().for_each(|it| self.used(it, range));
            }
            _ => {}
        }
    }

    /// Records that a method of an array is called.
    pub(super) fn used_by_method(&mut self, object: &Value<'a>, method: &str, range: TextRange) {
        if matches!(object, Value::Leaked(_)) && !HARMLESS.contains(&method) {
            self.used_operand(object, range);
        }
    }

    /// Evaluates a call of a function with `@functools.cache`. The cache outlives a trace:
    ///
    /// ```python
    /// @functools.cache
    /// def positions(width):
    ///     return jnp.arange(width)
    /// ```
    pub(super) fn cached_call(
        &mut self,
        function: &Value<'a>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let Value::Function(cached) = function else { return self.call(function, arguments, range) };
        let parts: Vec<String> =
            arguments.values().map(|value| value.constant().unwrap_or_else(|| "?".to_owned())).collect();
        let key = (std::ptr::from_ref(cached.def), parts.join(","));
        if let Some(known) = self.cached.get(&key)
            && known.holds_leaked()
        {
            return Ok(known.clone());
        }
        let value = self.call(function, arguments, range)?;
        self.stored(Place::Cache(key.clone()), &value, range);
        self.cached.insert(key, value.clone());
        Ok(value)
    }
}

impl<'a> Value<'a> {
    /// Returns whether the value is an array that has outlived its trace, or a tuple with one.
    fn holds_leaked(&self) -> bool {
        match self {
            Self::Leaked(_) => true,
            Self::Tuple(elements) => elements.iter().any(Self::holds_leaked),
            _ => false,
        }
    }

    /// Returns the value after the trace in which it was stored.
    fn leaked(&self, leak: usize, depth: usize) -> Self {
        match self {
            Self::Tensor(..) | Self::Tree => Self::Leaked(leak),
            Self::Tuple(elements) if depth > 0 => {
                Self::tuple(elements.iter().map(|it| it.leaked(leak, depth - 1)).collect())
            }
            value => {
                value.leak_elements(leak, depth);
                value.clone()
            }
        }
    }

    fn leak_elements(&self, leak: usize, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match self {
            // A container that contains itself is borrowed already.
            Self::List(elements) => {
                if let Ok(mut elements) = elements.try_borrow_mut() {
                    elements.iter_mut().flatten().for_each(|it| *it = it.leaked(leak, depth));
                }
            }
            Self::Dict(items) | Self::Namespace(items) => {
                if let Ok(mut items) = items.try_borrow_mut() {
                    items.iter_mut().flatten().for_each(|(_, value)| *value = value.leaked(leak, depth));
                }
            }
            Self::Many(common) | Self::Table(common) => {
                let leaked = common.borrow().as_ref().map(|value| value.leaked(leak, depth));
                *common.borrow_mut() = leaked;
            }
            _ => {}
        }
    }
}
