//! Attributes whose values a compiled function has captured, and that change before its next call:
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
use super::values::{Function, Object, Value};

/// A function that is compiled, and the object whose method it is.
pub(super) type FunctionKey<'a> = (*const ast::StmtFunctionDef, Option<*const Object<'a>>);

/// An attribute that traced code has read.
pub(super) struct Capture<'a> {
    object: Rc<Object<'a>>,
    name: String,
    value: String,
    function: FunctionKey<'a>,
    /// The expression that has read it.
    pub place: (Document, TextRange),
    pub reach: Reach,
    has_changed: bool,
    /// Whether the function has been called after the change.
    pub is_stale: bool,
}

impl<'a> Evaluation<'_, 'a> {
    /// Records that traced code reads an attribute whose value is a constant of the graph.
    pub(super) fn captured(&mut self, object: &Value<'a>, name: &str, value: &Value<'a>, range: TextRange) {
        let is_traced = matches!(self.traced.first(), Some(Mode::Jit | Mode::Graph));
        let (Value::Object(object), Some(function), true) = (object, self.function, is_traced) else {
            return;
        };
        let Some(value) = value.constant() else { return };
        let place = (self.ctx.document, range);
        let is_known = |it: &Capture<'a>| it.place == place && Rc::ptr_eq(&it.object, object);
        // Objects that define their own hash may be compiled again after a change.
        if self.captures.iter().any(is_known) || self.defines(object, "__hash__") {
            return;
        }
        self.captures.push(Capture {
            object: object.clone(),
            name: name.to_owned(),
            value,
            function,
            place,
            reach: self.reach(),
            has_changed: false,
            is_stale: false,
        });
    }

    /// Records that code which is not traced assigns an attribute.
    pub(super) fn changed(&mut self, object: &Rc<Object<'a>>, name: &str, value: &Value<'a>) {
        if !self.traced.is_empty() {
            return;
        }
        for capture in &mut self.captures {
            if Rc::ptr_eq(&capture.object, object) && capture.name == name {
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
        let constants: Vec<_> = arguments.values().map(Value::constant).collect();
        self.function = Some(key);
        let is_new = self.signatures.insert((key, constants));
        for capture in self.captures.iter_mut().filter(|it| it.function == key && it.has_changed) {
            capture.is_stale |= !is_new;
            capture.has_changed &= !is_new;
        }
    }
}
