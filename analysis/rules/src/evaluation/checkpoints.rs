//! The parameters of modules in dictionaries and files. The names of those of a module that `torch.compile` has compiled
//! start with `_orig_mod.`, so another module does not have them:
//!
//! ```python
//! model = torch.compile(Net())
//! torch.save({"model": model.state_dict()}, "net.pt")
//!
//! model = Net()
//! model.load_state_dict(torch.load("net.pt")["model"])       # raises: the keys are missing
//! ```

use std::cell::Cell;
use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::kinds::Kind;
use super::traced::Mode;
use super::values::{State, Value};
use super::{Evaluated, Evaluation, Stop};

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `module.state_dict()` and `module.load_state_dict(state)`.
    pub(super) fn checkpoint_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Option<Value<'a>>> {
        if matches!(object, Value::State(_)) && matches!(name, "copy" | "get" | "items" | "keys" | "values") {
            return Ok(Some(Value::Unknown));
        }
        if !matches!(name, "state_dict" | "load_state_dict") || !self.traced.is_empty() {
            return Ok(None);
        }
        let (module, is_compiled) = match object {
            Value::Compiled(compiled) if matches!(compiled.mode, Mode::Compile { .. }) => {
                (&compiled.function, true)
            }
            module => (module, false),
        };
        if !self.has_parameters(module) {
            return Ok(None);
        }
        if name == "state_dict" {
            let is_plain = arguments.len() == 0 && !arguments.open;
            let state = State { is_compiled, is_changed: Cell::new(false) };
            return Ok(is_plain.then(|| Value::State(Rc::new(state))));
        }
        if let Some(Value::State(state)) = arguments.get(0, "state_dict")
            && !state.is_changed.get()
            && state.is_compiled != is_compiled
            && let Some(is_strict) = arguments.get(1, "strict").map_or(Some(true), Value::truth)
        {
            let fault = if is_strict { "the keys are missing" } else { "nothing is loaded" };
            let message = if state.is_compiled {
                format!(
                    "the keys are those of a module that `torch.compile` returned, and start with `_orig_mod.`: {fault}"
                )
            } else {
                format!(
                    "the keys are those of a module that is not compiled, but this one is a result of `torch.compile`, \
                     whose keys start with `_orig_mod.`: {fault}"
                )
            };
            self.report(range, Kind::Keys, message);
            if is_strict {
                return Err(Stop);
            }
        }
        Ok(None)
    }

    /// Evaluates `torch.save(value, path)` and `torch.export.save(program, path)`.
    pub(super) fn saved(&mut self, value: Option<&Value<'a>>, path: Option<&Value<'a>>) {
        match path {
            Some(Value::Text(path) | Value::Path(path)) => {
                let saved = value.map_or(Value::Unknown, copied);
                self.files.insert(path.to_string(), saved);
            }
            // Any file may have another content now.
            _ => self.files.clear(),
        }
    }

    /// Returns the path of a file in a folder that is not known. Where the program composes it in the same way, it is
    /// assumed to be the same file.
    pub(super) fn unknown_path(&self, path: &str) -> Value<'a> {
        let is_named = path.rsplit(['/', '}', ')']).next().is_some_and(|name| name.contains('.'));
        if is_named && !self.explores() { Value::Path(path.into()) } else { Value::Unknown }
    }

    /// Evaluates `os.path.join(folder, "best.pt")`.
    pub(super) fn joined_path(&self, arguments: &Arguments<'a>, written: &ast::Arguments) -> Value<'a> {
        let has_stars = written.args.iter().any(Expr::is_starred_expr);
        if has_stars || arguments.len() != written.args.len() {
            return Value::Unknown;
        }
        let mut is_known = true;
        let parts = arguments.positional.iter().zip(&written.args).map(|(value, expression)| match value {
            Value::Text(text) => text.to_string(),
            Value::Path(path) => {
                is_known = false;
                path.to_string()
            }
            _ => {
                is_known = false;
                format!("{{{}}}", self.ctx.text(expression))
            }
        });
        let path = parts.collect::<Vec<_>>().join("/");
        if is_known { Value::Text(path.into()) } else { self.unknown_path(&path) }
    }

    /// Evaluates `torch.load(path)` and `torch.export.load(path)`.
    pub(super) fn loaded(&self, path: Option<&Value<'a>>) -> Value<'a> {
        let Some(Value::Text(path) | Value::Path(path)) = path else { return Value::Unknown };
        self.files.get(&**path).map_or(Value::Unknown, copied)
    }
}

/// Returns a copy of what a file contains. Code that changes one copy does not change others.
fn copied<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Dict(items) => {
            let copy = |(key, value): &(Rc<str>, Value<'a>)| (key.clone(), copied(value));
            let items = items.borrow();
            items.as_ref().map_or(Value::Unknown, |items| Value::dict(items.iter().map(copy).collect()))
        }
        Value::State(state) => Value::State(Rc::new(State {
            is_compiled: state.is_compiled,
            is_changed: Cell::new(state.is_changed.get()),
        })),
        Value::Program(program) => Value::Program(program.clone()),
        value if value.constant().is_some() => value.clone(),
        _ => Value::Unknown,
    }
}
