//! Programs that torch makes of modules: exported programs, and modules that `torch.fx` and `torch.jit` have recorded
//! or scripted. They accept the sizes of the example inputs, and keep the numbers and the mode that the module had then.
//!
//! ```python
//! program = torch.export.export(model, (torch.randn(1, 8),))
//! program.module()(torch.randn(4, 8))             # a guard fails: the size is 1
//!
//! traced = torch.fx.symbolic_trace(model)         # `forward` reads `self.training`
//! traced.eval()                                   # changes nothing
//!
//! scorer = torch.jit.script(detector)
//! detector.threshold = 0.9                        # `scorer` has the old number
//! scorer(x)
//! ```

use std::rc::Rc;

use ag_db::Document;
use ruff_text_size::TextRange;

use super::calls::{Arguments, shown};
use super::kinds::Kind;
use super::submodules::TRAINING;
use super::traced::{Compiled, Mode};
use super::values::{Object, Program, Recorded, Size, Value};
use super::{Evaluated, Evaluation};

/// An assignment to an attribute of an object, after a program has been made.
pub(super) struct Change<'a> {
    object: Rc<Object<'a>>,
    name: String,
    place: (Document, TextRange),
    /// The number of programs made before.
    made: usize,
}

impl<'a> Evaluation<'_, 'a> {
    /// Makes a program of a module, which `record` calls.
    pub(super) fn program(
        &mut self,
        mode: Mode,
        module: &Value<'a>,
        inputs: Vec<Value<'a>>,
        record: impl FnOnce(&mut Self) -> Evaluated<Value<'a>>,
    ) -> Evaluated<(Value<'a>, Value<'a>)> {
        let outer = self.recorded.replace(Recorded::default());
        let result = record(self);
        let recorded = std::mem::replace(&mut self.recorded, outer).unwrap_or_default();
        let result = result?;
        let made = self.next_program();
        let module = if let Value::Object(module) = module { Some(module.clone()) } else { None };
        let is_callable = mode != Mode::Export;
        let program = Program { mode, inputs, recorded, made, module, is_callable };
        Ok((Value::Program(Rc::new(program)), result))
    }

    /// Returns the number of a new program.
    pub(super) fn next_program(&mut self) -> usize {
        self.programs += 1;
        self.programs
    }

    /// Records that code reads an attribute of an object.
    pub(super) fn read_by_program(&mut self, object: &Rc<Object<'a>>, name: &str) {
        if let Some(recorded) = &mut self.recorded {
            recorded.attributes.push((object.clone(), name.to_owned()));
        }
        if let (Some(Mode::Script), Some(made)) = (self.traced.first(), self.running) {
            self.check_changes(&[(object.clone(), name.to_owned())], made);
        }
    }

    /// Records that code reads `self.training`.
    pub(super) fn read_mode(&mut self, name: &str, value: &Value<'a>, range: TextRange) {
        let document = self.ctx.document;
        if let (TRAINING, Value::Bool(mode), Some(recorded)) = (name, value, &mut self.recorded) {
            recorded.modes.push((document, range, *mode));
        }
    }

    /// Records that code assigns an attribute of an object of which a program may have been made.
    pub(super) fn changed_after(
        &mut self,
        object: &Rc<Object<'a>>,
        name: &str,
        value: &Value<'a>,
        range: TextRange,
    ) {
        let constant = value.constant();
        if self.programs == 0 || !self.traced.is_empty() || constant.is_none() {
            return;
        }
        let old = object.attributes.borrow().as_ref().and_then(|it| it.get(name).cloned());
        // The attribute may be new, and an unknown value may be the same.
        if old.and_then(|old| old.constant()).is_none_or(|old| Some(old) == constant) {
            return;
        }
        let place = (self.ctx.document, range);
        self.changes.retain(|it| !(Rc::ptr_eq(&it.object, object) && it.name == name));
        let made = self.programs;
        self.changes.push(Change { object: object.clone(), name: name.to_owned(), place, made });
    }

    /// Reports assignments to attributes that a running program has read before.
    fn check_changes(&mut self, read: &[(Rc<Object<'a>>, String)], made: usize) {
        let is_read = |change: &Change<'a>| {
            read.iter().any(|(object, name)| Rc::ptr_eq(object, &change.object) && *name == change.name)
        };
        let stale: Vec<_> = self
            .changes
            .iter()
            .filter(|change| change.made >= made && is_read(change))
            .map(|change| (change.place, change.name.clone()))
            .collect();
        for ((document, range), name) in stale {
            let message = format!(
                "the program that torch has made of the module before keeps the old value of `{name}`: the \
                 assignment does not change it"
            );
            self.report_in(document, range, Kind::Stale, message);
        }
    }

    /// Evaluates a call of a program that torch has recorded.
    pub(super) fn program_call(
        &mut self,
        program: &Program<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) {
        self.check_changes(&program.recorded.attributes, program.made);
        self.check_traced_call(program, arguments, range);
        if !program.is_callable {
            let message = "an exported program cannot be called".to_owned();
            self.report(range, Kind::Called, message);
            return;
        }
        if program.mode == Mode::Export && !arguments.open {
            for (input, example) in arguments.positional.iter().zip(&program.inputs) {
                self.check_input(input, example, range);
            }
        }
    }

    /// Checks the sizes of an input of an exported program.
    fn check_input(&mut self, input: &Value<'a>, example: &Value<'a>, range: TextRange) {
        if let (Some(passed), Some(expected)) = (input.constant(), example.constant())
            && passed != expected
        {
            let message = format!(
                "the exported program accepts only `{expected}` for this argument, as in the example, but this call \
                 passes `{passed}`"
            );
            self.report(range, Kind::Constant, message);
            return;
        }
        if let Some(difference) = structure(input, example) {
            let message = format!("the input has another structure than the example input: {difference}");
            self.report(range, Kind::Constant, message);
            return;
        }
        let (Value::Tensor(Some(sizes), _), Value::Tensor(Some(expected), _)) = (input, example) else {
            return;
        };
        if sizes.len() != expected.len() {
            let message = format!(
                "the input has {} dimensions, but the example input of the exported program has {}",
                sizes.len(),
                expected.len()
            );
            self.report(range, Kind::Input, message);
            return;
        }
        for (dimension, pair) in sizes.iter().zip(expected.iter()).enumerate() {
            let (Size::Known(size), expected) = pair else { continue };
            let accepts = match expected {
                Size::Known(known) if known != size => format!("the size {known}, that of the example input"),
                Size::Dynamic(id) => match self.range_of(*id) {
                    Some((_, Some(max))) if *size > max => format!("sizes up to {max}"),
                    Some((Some(min), _)) if *size < min => format!("sizes from {min}"),
                    _ => continue,
                },
                _ => continue,
            };
            let message = format!(
                "the input has the shape {}, but the exported program accepts only {accepts}, in dimension {dimension}",
                shown(sizes)
            );
            self.report(range, Kind::Input, message);
            return;
        }
    }

    /// Evaluates a method of a program: `program.module()`, `traced.eval()`.
    pub(super) fn program_method(
        &mut self,
        program: &Rc<Program<'a>>,
        name: &str,
        arguments: &Arguments<'a>,
    ) -> Value<'a> {
        let mode = match (name, arguments.get(0, "mode").map(Value::truth)) {
            ("module", _) if program.mode == Mode::Export => {
                return Value::Program(Rc::new(Program {
                    mode: program.mode,
                    inputs: program.inputs.clone(),
                    recorded: Recorded { modes: Vec::new(), attributes: program.recorded.attributes.clone() },
                    made: program.made,
                    module: program.module.clone(),
                    is_callable: true,
                }));
            }
            ("eval", _) => false,
            ("train", None | Some(Some(true))) => true,
            ("train", Some(Some(false))) => false,
            _ => return Value::Unknown,
        };
        if program.mode != Mode::Export {
            for (document, range, recorded) in &program.recorded.modes {
                if *recorded != mode {
                    let message = format!(
                        "`training` is the constant `{}` in the recorded program: `{name}()` of the program does not \
                         change it",
                        if *recorded { "True" } else { "False" }
                    );
                    self.report_in(*document, *range, Kind::Training, message);
                }
            }
        }
        Value::Program(program.clone())
    }

    /// Evaluates a call of `torch.jit.script(module)`.
    pub(super) fn scripted(&mut self, function: &Value<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let made = Some(self.next_program());
        if self.traced.is_empty() && !self.is_exploring {
            self.compile_script(function, range)?;
        }
        Ok(Value::Compiled(Rc::new(Compiled { made, ..Compiled::new(function.clone(), Mode::Script) })))
    }

    /// Evaluates the code of a module that TorchScript compiles, with unknown inputs. A copy of the module runs it.
    fn compile_script(&mut self, module: &Value<'a>, range: TextRange) -> Evaluated<()> {
        let copy @ Value::Object(_) = self.deep_copy(module) else { return Ok(()) };
        let Value::Function(forward) = self.attribute(&copy, "forward")? else { return Ok(()) };
        let parameters = &forward.def.parameters;
        if parameters.vararg.is_some() || parameters.kwarg.is_some() || !parameters.kwonlyargs.is_empty() {
            return Ok(());
        }
        let count = parameters.iter_non_variadic_params().count().saturating_sub(1);
        let (module, scope) = (self.ctx, self.module.clone());
        self.traced.push(Mode::Script);
        let call = Arguments::of(vec![Value::Unknown; count]);
        let result = self.attempted(|it| it.call(&Value::Function(forward), call, range));
        self.traced.pop();
        (self.ctx, self.module) = (module, scope);
        result.map(drop)
    }
}

/// Describes how the structure of an input differs from that of the example.
fn structure(input: &Value, example: &Value) -> Option<String> {
    match (input, example) {
        (Value::Dict(input), Value::Dict(example)) => {
            let (input, example) = (input.borrow(), example.borrow());
            let (input, example) = (input.as_ref()?, example.as_ref()?);
            let has = |items: &[(Rc<str>, Value)], key: &Rc<str>| items.iter().any(|(known, _)| known == key);
            let missing = example.iter().find(|(key, _)| !has(input, key));
            let other = input.iter().find(|(key, _)| !has(example, key));
            match (missing, other) {
                (Some((key, _)), _) => Some(format!("the key `{key}` is missing")),
                (_, Some((key, _))) => Some(format!("the key `{key}` is new")),
                _ => None,
            }
        }
        (Value::List(_), Value::List(_)) | (Value::Tuple(_), Value::Tuple(_)) => {
            let (input, example) = (input.elements()?.len(), example.elements()?.len());
            (input != example).then(|| format!("{input} elements instead of {example}"))
        }
        _ => None,
    }
}
