//! The symbolic values of `torch.fx`. They have no sizes and no values, and every operation on them is recorded. Python
//! cannot test, iterate or convert them:
//!
//! ```python
//! class Net(nn.Module):
//!     def forward(self, x):
//!         parts = x.chunk(3)                       # symbolic
//!         a, b, c = parts                          # recorded
//!         return sum(zip(parts, self.scales))      # TraceError
//!
//! torch.fx.symbolic_trace(Net())
//! ```

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::kinds::Kind;
use super::traced::{Compiled, Mode};
use super::values::Value;
use super::{Evaluated, Evaluation, Stop};

/// Builtin functions that iterate over their arguments, or need their values.
const NEEDING: [&str; 20] = [
    "all",
    "any",
    "bool",
    "complex",
    "dict",
    "enumerate",
    "filter",
    "float",
    "frozenset",
    "int",
    "len",
    "list",
    "range",
    "reversed",
    "round",
    "set",
    "sorted",
    "sum",
    "tuple",
    "zip",
];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `torch.fx.symbolic_trace(model)`. All parameters of `forward` are symbolic, also those with defaults.
    pub(super) fn symbolic_trace(
        &mut self,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let concrete = arguments.get(1, "concrete_args");
        let Some(root) =
            arguments.get(0, "root").filter(|_| concrete.is_none_or(|it| matches!(it, Value::None)))
        else {
            return Ok(Value::Unknown);
        };
        let forward = match root {
            Value::Object(_) => self.attribute(root, "forward")?,
            function => function.clone(),
        };
        let Value::Function(forward) = forward else { return Ok(Value::Unknown) };
        let parameters = &forward.def.parameters;
        let is_positional = parameters.kwonlyargs.is_empty();
        if !is_positional || parameters.vararg.is_some() || parameters.kwarg.is_some() {
            return Ok(Value::Unknown);
        }
        let receiver = usize::from(forward.receiver.is_some());
        let count = parameters.iter_non_variadic_params().count().saturating_sub(receiver);
        let inputs = Arguments::of(vec![Value::Proxy; count]);
        let traced = Value::Compiled(Rc::new(Compiled::new(Value::Function(forward), Mode::Symbolic)));
        let (program, _) =
            self.program(Mode::Symbolic, root, Vec::new(), |it| it.call(&traced, inputs, range))?;
        Ok(program)
    }

    /// Records that Python needs the elements or the value of a symbolic value, which raises.
    pub(super) fn needs_symbol(&mut self, what: &str, range: TextRange) -> Stop {
        if self.traced.first() == Some(&Mode::Symbolic) {
            let message = format!("{what} a symbolic value of torch.fx, which has no value: this raises");
            self.report(range, Kind::Symbol, message);
        }
        Stop
    }

    /// Evaluates a call of a builtin function with a symbolic value.
    pub(super) fn builtin_of_symbol(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Option<Value<'a>>> {
        let mut values = arguments.values();
        if !values.any(|value| matches!(value, Value::Proxy)) {
            return Ok(None);
        }
        let compares = matches!(name, "max" | "min");
        let maps = name == "map" && arguments.positional.iter().skip(1).any(|it| matches!(it, Value::Proxy));
        if NEEDING.contains(&name) || compares || maps {
            return Err(self.needs_symbol(&format!("`{name}` gets"), range));
        }
        Ok(Some(if matches!(name, "abs" | "getattr") { Value::Proxy } else { Value::Unknown }))
    }

    /// Returns what needs the value of a symbolic size, if torch does not record the call: `torch.zeros(x.shape[0], 4)`.
    /// It records `torch.zeros((x.shape[0], 4))`.
    pub(super) fn sized_by_symbol(&self, name: &str, arguments: &Arguments<'a>) -> Option<String> {
        let is_needed = match name {
            "torch.zeros" | "torch.ones" | "torch.rand" | "torch.randn" | "torch.empty" => {
                arguments.positional.len() > 1
                    && arguments.positional.iter().any(|it| matches!(it, Value::Proxy))
                    && arguments.positional.iter().all(|it| matches!(it, Value::Proxy | Value::Int(_)))
            }
            "torch.tensor" => arguments
                .get(0, "data")
                .is_some_and(|data| matches!(data, Value::List(_)) && holds_symbol(data)),
            _ => false,
        };
        let is_symbolic = self.traced.first() == Some(&Mode::Symbolic);
        (is_needed && is_symbolic).then(|| format!("an argument of `{name}` is"))
    }

    /// Returns the result of a function of a library with a symbolic value, which is recorded.
    pub(super) fn library_of_symbol(&self, name: &str, arguments: &Arguments<'a>) -> Option<Value<'a>> {
        let is_recorded = name.starts_with("math.")
            || name.starts_with("operator.")
            || name.strip_prefix("torch.").is_some_and(|own| {
                !["utils.", "jit.", "fx.", "func.", "compile", "export."].iter().any(|it| own.starts_with(it))
            });
        (is_recorded && self.traced.first() == Some(&Mode::Symbolic) && arguments.values().any(holds_symbol))
            .then_some(Value::Proxy)
    }

    /// Returns whether a function is recorded as a whole: `torch.fx.wrap("pad")`.
    pub(super) fn is_wrapped(&self, callee: &Value<'a>, arguments: &Arguments<'a>) -> bool {
        match callee {
            Value::Function(function) => {
                function.receiver.is_none()
                    && self.wrapped.contains(function.def.name.as_str())
                    && arguments.values().any(holds_symbol)
            }
            _ => false,
        }
    }
}

/// Returns whether a value is symbolic, or a list or tuple with a symbolic value.
fn holds_symbol(value: &Value) -> bool {
    match value {
        Value::Proxy => true,
        Value::Tuple(elements) => elements.iter().any(holds_symbol),
        Value::List(elements) => elements.borrow().iter().flatten().any(holds_symbol),
        _ => false,
    }
}
