//! Values of the program that TorchScript rejects: attributes without a type, and variables of the module.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use super::kinds::Kind;
use super::traced::Mode;
use super::values::Value;
use super::{Evaluation, Framework};
use crate::tracing::snippet;

impl<'a> Evaluation<'_, 'a> {
    /// Records an attribute that is `None` where TorchScript requires a value.
    pub(super) fn none_operand(&mut self, operand: &'a Expr) {
        if self.traced.first() == Some(&Mode::Script) {
            let text = snippet(self.ctx.text(operand));
            self.report(
                operand.range(),
                Kind::None,
                format!("`{text}` is `None` for an object of the program"),
            );
        }
    }

    /// Records an attribute of a module that is a dictionary of values of several types.
    pub(super) fn mixed_attribute(&mut self, name: &str, value: &Value<'a>, range: TextRange) {
        let Value::Dict(items) = value else { return };
        let kinds: FxHashSet<_> = items
            .borrow()
            .iter()
            .flatten()
            .map(|(_, value)| match value {
                Value::Bool(_) => Some("bool"),
                Value::Int(_) => Some("int"),
                Value::Float(_) => Some("float"),
                Value::Text(_) => Some("str"),
                _ => None,
            })
            .collect();
        if self.traced.first() == Some(&Mode::Script) && kinds.len() > 1 && !kinds.contains(&None) {
            let message =
                format!("`{name}` is a dictionary of values of different types for an object of the program");
            self.report(range, Kind::Lambda, message);
        }
    }

    /// Records a call of an attribute that is a lambda, which TorchScript does not compile.
    pub(super) fn lambda_attribute(&mut self, name: &str, range: TextRange) {
        if self.traced.first() == Some(&Mode::Script) {
            let message = format!("`{name}` is a lambda for an object of the program");
            self.report(range, Kind::Lambda, message);
        }
    }

    /// Records that TorchScript reads a variable of the module.
    pub(super) fn script_reads(&mut self, name: &str, value: &Value<'a>, range: TextRange) {
        if self.traced.first() != Some(&Mode::Script) || self.framework != Framework::Torch {
            return;
        }
        let kind = match value {
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a bool",
            Value::Text(_) => "a string",
            Value::Tensor(..) => "a Tensor",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dictionary",
            Value::Tuple(_) => "a tuple",
            Value::Dtype(_) => "a dtype",
            _ => return,
        };
        let message =
            format!("`{name}` is {kind} defined outside the function, which TorchScript cannot use");
        self.report(range, Kind::Global, message);
    }
}
