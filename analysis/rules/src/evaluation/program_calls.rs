//! Calls of scripted and recorded modules, which accept only the arguments for which they were compiled.
//!
//! ```python
//! scripted = torch.jit.script(net)
//! scripted(x, 2.5)                # the parameter is annotated `int`
//! scripted.encode(x)              # nothing that TorchScript compiles calls `encode`
//!
//! traced = torch.jit.trace(net, x)
//! traced(x, mask)                 # the example had one input
//! ```

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::Evaluation;
use super::calls::Arguments;
use super::classes::method;
use super::kinds::Kind;
use super::traced::{Compiled, Mode};
use super::values::{Object, Program, Value};

impl<'a> Evaluation<'_, 'a> {
    /// Checks the arguments of a call of a scripted function or module.
    pub(super) fn check_scripted_call(
        &mut self,
        compiled: &Compiled<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) {
        if compiled.mode != Mode::Script || !self.traced.is_empty() || self.is_exploring || arguments.open {
            return;
        }
        let (def, skipped) = match &compiled.function {
            Value::Function(function) => (function.def, usize::from(function.receiver.is_some())),
            Value::Object(object) => {
                let Some(hierarchy) = self.hierarchy(object.class).filter(|it| it.is_module) else { return };
                let Some(def) = hierarchy.classes.iter().find_map(|class| method(class, "forward")) else {
                    return;
                };
                (def, 1)
            }
            _ => return,
        };
        // `# type: (Tensor, int) -> Tensor`
        let texts = self.modules.iter().map(|module| module.ctx.text.get(def.range().to_std_range()));
        if texts.flatten().any(|text| text.contains("# type:")) {
            return;
        }
        for (index, parameter) in def.parameters.iter_non_variadic_params().skip(skipped).enumerate() {
            let name = parameter.name().as_str();
            let Some(value) = arguments.get(index, name) else { continue };
            let annotation = parameter.parameter.annotation.as_deref();
            if let Some((declared, passed)) = self.mismatch(annotation, value) {
                let message = format!(
                    "the parameter `{name}` of the scripted function has the type `{declared}`, but this call passes {passed}"
                );
                self.report(range, Kind::Scripted, message);
                return;
            }
        }
    }

    /// Returns the type of a parameter, and what a call passes, if TorchScript rejects it.
    fn mismatch(&self, annotation: Option<&Expr>, value: &Value<'a>) -> Option<(&'static str, &'static str)> {
        let declared = match annotation {
            None => "Tensor",
            Some(annotation) if self.ctx.resolve(annotation).is_some_and(|it| it == "torch.Tensor") => {
                "Tensor"
            }
            Some(Expr::Name(name)) => match name.id.as_str() {
                "int" => "int",
                "float" => "float",
                "bool" => "bool",
                "str" => "str",
                _ => return None,
            },
            Some(_) => return None,
        };
        let passed = match value {
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Text(_) => "a string",
            Value::None if declared != "Tensor" => "`None`",
            Value::List(_) | Value::Tuple(_) => "a list or tuple",
            Value::Dict(_) => "a dictionary",
            _ => return None,
        };
        let is_accepted = match declared {
            "int" => matches!(value, Value::Int(_) | Value::Bool(_)),
            "float" | "bool" => matches!(value, Value::Float(_) | Value::Int(_) | Value::Bool(_)),
            "str" => matches!(value, Value::Text(_)),
            _ => false,
        };
        (!is_accepted).then_some((declared, passed))
    }

    /// Checks the number of arguments of a call of a program that `torch.jit.trace` has recorded.
    pub(super) fn check_traced_call(
        &mut self,
        program: &Program<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) {
        if program.mode != Mode::Trace || arguments.open || self.is_exploring || !self.traced.is_empty() {
            return;
        }
        let (expected, passed) = (program.inputs.len(), arguments.len());
        if passed > expected {
            let message = format!(
                "the traced program has {expected} inputs, those of the example, but this call passes {passed} arguments"
            );
            self.report(range, Kind::Example, message);
        }
    }

    /// Checks a call of a method of a scripted or traced module.
    pub(super) fn check_program_method(&mut self, object: &Value<'a>, name: &str, range: TextRange) {
        if self.is_exploring || !self.traced.is_empty() {
            return;
        }
        let (module, is_traced) = match object {
            Value::Compiled(compiled) if compiled.mode == Mode::Script => (compiled.function.clone(), false),
            Value::Program(program) if program.mode == Mode::Trace => match &program.module {
                Some(module) => (Value::Object(module.clone()), true),
                None => return,
            },
            _ => return,
        };
        let Value::Object(module) = module else { return };
        if self.is_uncompiled_method(&module, name, is_traced) {
            let how = if is_traced {
                "`torch.jit.trace` records only `forward`"
            } else {
                "`forward` does not call it"
            };
            let message = format!("the program does not have the method `{name}`: {how}");
            self.report(range, Kind::Method, message);
        }
    }

    fn is_uncompiled_method(&self, module: &Rc<Object<'a>>, name: &str, is_traced: bool) -> bool {
        let Some(hierarchy) = self.hierarchy(module.class).filter(|it| it.is_module) else { return false };
        if hierarchy.base.is_some() || matches!(name, "forward" | "__call__") {
            return false;
        }
        let Some(def) = hierarchy.classes.iter().find_map(|class| method(class, name)) else { return false };
        let mention = format!(".{name}");
        let is_mentioned = |class: &&ast::StmtClassDef| {
            let text = self.module_of(class).ctx.text;
            text.get(class.range().to_std_range()).is_none_or(|text| text.contains(&mention))
        };
        def.decorator_list.is_empty() && (is_traced || !hierarchy.classes.iter().any(is_mentioned))
    }
}
