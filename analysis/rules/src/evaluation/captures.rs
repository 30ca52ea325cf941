//! Attributes and items of dictionaries whose values a compiled function has captured, and that change before its next
//! call:
//!
//! ```python
//! @tf.function
//! def __call__(self, x):
//!     return tf.nn.dropout(x, self.rate)     # the graph contains 0.5
//!
//! layer(x)
//! schedule.layer.rate = 0.25
//! layer(x)                                   # uses the graph with 0.5
//! ```

use std::rc::Rc;

use ag_db::Document;
use ruff_python_ast as ast;
use ruff_text_size::TextRange;

use super::Evaluation;
use super::calls::Arguments;
use super::faults::Reach;
use super::traced::{Compiled, Mode};
use super::values::{Function, Object, Shared, Value};

/// A function that is compiled, and the object whose method it is.
pub(super) type FunctionKey<'a> = (*const ast::StmtFunctionDef, Option<*const Object<'a>>);

/// An object or dictionary whose attributes or items may change.
#[derive(Clone)]
pub(super) enum Holder<'a> {
    Object(Rc<Object<'a>>),
    Dictionary(Shared<(Rc<str>, Value<'a>)>),
}

impl Holder<'_> {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(own), Self::Object(other)) => Rc::ptr_eq(own, other),
            (Self::Dictionary(own), Self::Dictionary(other)) => Rc::ptr_eq(own, other),
            _ => false,
        }
    }
}

/// An attribute or item that traced code has read.
pub(super) struct Capture<'a> {
    holder: Holder<'a>,
    name: String,
    value: String,
    function: FunctionKey<'a>,
    /// The expression that has read it.
    pub place: (Document, TextRange),
    pub reach: Reach,
    /// Whether `jax.jit` traces all arguments of the function.
    traces_arguments: bool,
    has_changed: bool,
    /// Whether the function has been called after the change.
    pub is_stale: bool,
}

impl<'a> Evaluation<'_, 'a> {
    /// Records that traced code reads an attribute or item whose value is a constant of the graph.
    pub(super) fn captured(&mut self, holder: &Value<'a>, name: &str, value: &Value<'a>, range: TextRange) {
        let (Some(mode @ (Mode::Jit | Mode::Graph)), Some(function)) = (self.traced.first(), self.function)
        else {
            return;
        };
        let is_jit = *mode == Mode::Jit;
        let Some(value) = value.constant() else { return };
        let holder = match holder {
            // Objects that define their own hash may be compiled again after a change, and those that are trees are
            // traced.
            Value::Object(object)
                if self.defines(object, "__hash__") || is_jit && self.traced_fields(object).is_some() =>
            {
                return;
            }
            Value::Object(object) => Holder::Object(object.clone()),
            Value::Dict(items) if is_jit => Holder::Dictionary(items.clone()),
            _ => return,
        };
        let place = (self.ctx.document, range);
        if self.captures.iter().any(|it| it.place == place && it.holder.is(&holder)) {
            return;
        }
        self.captures.push(Capture {
            holder,
            name: name.to_owned(),
            value,
            function,
            place,
            reach: self.reach(),
            traces_arguments: self.traces_arguments,
            has_changed: false,
            is_stale: false,
        });
    }

    /// Records that code which is not traced assigns an attribute or item.
    pub(super) fn changed(&mut self, holder: &Holder<'a>, is_named: bool, name: &str, value: &Value<'a>) {
        if !self.traced.is_empty() {
            return;
        }
        for capture in &mut self.captures {
            // Rules about syntax find changes of objects with a name, `model.rate = 0.1`, that a `tf.function` uses, or
            // that are static arguments.
            let is_found = is_named && !capture.traces_arguments;
            if capture.holder.is(holder) && capture.name == name && !is_found {
                capture.has_changed = value.constant().is_some_and(|value| value != capture.value);
            }
        }
    }

    /// Returns the key of a function. Its object is kept, so no later object has the same address.
    pub(super) fn function_key(&mut self, function: &Function<'a>) -> FunctionKey<'a> {
        let receiver = function.receiver.as_ref().map(|(object, _)| object);
        self.receivers.extend(receiver.map(|object| (Rc::as_ptr(object), object.clone())));
        (std::ptr::from_ref(function.def), receiver.map(Rc::as_ptr))
    }

    /// Records a call of a compiled function. With the same constants as in an earlier call, it uses the graph of this
    /// call.
    pub(super) fn called_again(&mut self, compiled: &Compiled<'a>, arguments: &Arguments<'a>) {
        self.function = None;
        let Value::Function(function) = &compiled.function else { return };
        let key = self.function_key(function);
        // JAX traces numbers that are not static.
        let traces_numbers = compiled.mode == Mode::Jit && compiled.constants.are_none();
        let constant = |value: &Value<'a>| match value {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) if traces_numbers => None,
            value => value.constant(),
        };
        let constants: Vec<_> = arguments.values().map(constant).collect();
        (self.function, self.traces_arguments) = (Some(key), traces_numbers);
        let is_new = self.signatures.insert((key, constants));
        for capture in self.captures.iter_mut().filter(|it| it.function == key && it.has_changed) {
            capture.is_stale |= !is_new;
            capture.has_changed &= !is_new;
        }
    }
}
