//! Attributes that have no type in TorchScript.

use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::export_result::is_dataclass;
use super::script_class::{self, Attribute, Initial, ModuleClass};
use super::script_paths::Compiled;
use super::script_types::ScriptType;
use super::{is_under_script_test, scripts};
use ag_index::facts::Alternative;

declare_rule! {
    /// ## What it does
    /// Reports uses of an attribute of `self` whose value has no type in TorchScript: an empty list or dictionary, a
    /// list or dictionary of modules, of functions or of values of different types, a set, a dataclass, a `partial`; and of
    /// variables of the class that are not `Final`. Reports attributes that are set for the first time outside the
    /// constructor, assignments that change the type of an attribute, and calls of methods that are not compiled.
    ///
    /// ## Why is this bad?
    /// The types of attributes are inferred from their values when the module is compiled, unless the body of the class
    /// declares them. An annotation in `__init__` is ignored. An attribute without a type is left out, and its use
    /// fails.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Recorder(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.seen = []
    ///
    ///     def forward(self, x: torch.Tensor):
    ///         self.seen.append(x)
    ///         return x
    ///
    /// torch.jit.script(Recorder())
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import List
    ///
    /// import torch
    /// from torch import nn
    ///
    /// class Recorder(nn.Module):
    ///     seen: List[torch.Tensor]
    ///
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.seen = []
    ///
    ///     def forward(self, x: torch.Tensor):
    ///         self.seen.append(x)
    ///         return x
    ///
    /// torch.jit.script(Recorder())
    /// ```
    /// Modules belong in an `nn.ModuleList` or `nn.ModuleDict`.
    ///
    /// ## What torch reports
    /// `RuntimeError: Module 'Recorder' has no attribute 'seen' (This attribute exists on the Python module, but we
    /// failed to convert Python type: 'list' to a TorchScript type. List trace inputs must have elements.`
    pub(crate) static SCRIPT_ATTRIBUTE = {
        code: "AG541", name: "script-attribute",
        summary: "an attribute has no type in TorchScript",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    let Some(class) = script_class::of_method(ctx).filter(|class| class.is_complete) else { return };
    let compiled = Compiled::of(ctx);
    new_attributes(ctx, class, &compiled);
    changed_types(ctx, class, &compiled);
    let mut reported: Vec<&str> = Vec::new();
    for expression in ctx.expressions() {
        let Some(name) = script_class::attribute_of_self(ctx, expression) else { continue };
        let is_variable = class.is_module
            && class.variables.contains(name)
            && class.attributes.get(name).is_none_or(|it| it.initial.is_empty() && !it.is_constant);
        if is_variable
            && !reported.contains(&name.as_str())
            && compiled.contains(expression.range())
            && !is_under_script_test(ctx, expression.range())
        {
            reported.push(name.as_str());
            let message = format!(
                "`self.{name}` is a variable of the class, which TorchScript does not know: it is not `Final`"
            );
            ctx.report(&SCRIPT_ATTRIBUTE, expression, message)
                .help(format!("annotate it in the class: `{name}: Final = …`, or set it in `__init__`"))
                .emit();
            continue;
        }
        let Some(attribute) = class.attributes.get(name) else { continue };
        let initial = match attribute.initial.as_slice() {
            [initial] => initial,
            // `self.layers = []`, and `self.layers.append(nn.Linear(2, 2))`
            [Initial::EmptyList | Initial::EmptyDict, added @ Initial::Modules] => added,
            _ => continue,
        };
        let only_here = attribute.mentioned_by.iter().all(|method| *method == ctx.def().name.id);
        let (what, help) = match initial {
            Initial::EmptyList if only_here => {
                ("an empty list", format!("declare it in the body of the class: `{name}: List[Tensor]`"))
            }
            Initial::EmptyDict if only_here => (
                "an empty dictionary",
                format!("declare it in the body of the class: `{name}: Dict[str, Tensor]`"),
            ),
            Initial::Modules => {
                ("a Python container of modules", "use `nn.ModuleList` or `nn.ModuleDict`".to_owned())
            }
            Initial::Functions => (
                "a Python container of functions",
                "choose the function with `if`, or in `__init__`".to_owned(),
            ),
            Initial::Mixed if only_here => {
                ("a container of values of different types", "use values of one type".to_owned())
            }
            Initial::Lambda => ("a lambda", "define a method or a function".to_owned()),
            Initial::Partial => ("a `functools.partial`", "define a method or a function".to_owned()),
            Initial::Set if only_here => ("a set", "use a list".to_owned()),
            Initial::Other if is_of_dataclass(ctx, expression) => (
                "a dataclass",
                "store the fields that the method needs as attributes of the module".to_owned(),
            ),
            _ => continue,
        };
        let range: TextRange = expression.range();
        if attribute.annotation.is_some()
            || attribute.is_constant
            || reported.contains(&name.as_str())
            || !compiled.contains(range)
            || is_under_script_test(ctx, range)
        {
            continue;
        }
        reported.push(name.as_str());
        ctx.report(
            &SCRIPT_ATTRIBUTE,
            expression,
            format!("`self.{name}` is {what}, which has no type in TorchScript"),
        )
        .help(help)
        .emit();
    }
}

/// Returns whether a value is certainly an instance of a dataclass. TorchScript compiles other classes of objects.
fn is_of_dataclass(ctx: &FunctionContext, expression: &Expr) -> bool {
    let fact = ctx.python_fact(expression);
    !fact.unknown
        && matches!(
            fact.alternatives.as_slice(),
            [Alternative::Instance { module, class }] if is_dataclass(ctx, module.as_deref(), class)
        )
}

/// Reports `self.last = x` if no constructor sets `self.last`, and `self.scale: int = 2` outside a constructor.
fn new_attributes(ctx: &FunctionContext, class: &ModuleClass, compiled: &Compiled) {
    for statement in ctx.statements() {
        let (target, annotated) = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [target] => (target, false),
                _ => continue,
            },
            Stmt::AnnAssign(assign) => (&*assign.target, true),
            _ => continue,
        };
        let Some(name) = script_class::attribute_of_self(ctx, target) else { continue };
        let attribute = class.attributes.get(name);
        let known = name == "training"
            || class.methods.contains(name)
            || attribute.is_some_and(|attribute| {
                // Another method may have set it before.
                !attribute.initial.is_empty() || attribute.is_constant || attribute.mentioned_by.len() > 1
            });
        if !compiled.contains(statement.range()) || known && !annotated {
            continue;
        }
        let message = match annotated {
            true => format!("`self.{name}` is annotated outside the constructor"),
            false => format!(
                "`self.{name}` is set here, but not in the constructor: TorchScript does not know the attribute"
            ),
        };
        ctx.report(&SCRIPT_ATTRIBUTE, statement, message)
            .help(format!("set `self.{name}` in `__init__`, and declare it in the body of the class"))
            .emit();
    }
}

/// Reports assignments that change the type of an attribute: `self.total += 0.5`, where the constructor assigns 0.
fn changed_types(ctx: &FunctionContext, class: &ModuleClass, compiled: &Compiled) {
    for statement in ctx.statements() {
        let (target, value, op) = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [target] => (target, &*assign.value, None),
                _ => continue,
            },
            Stmt::AugAssign(assign) => (&*assign.target, &*assign.value, Some(assign.op)),
            _ => continue,
        };
        let Some(name) = script_class::attribute_of_self(ctx, target) else { continue };
        let declared = class.attributes.get(name).filter(|it| !it.is_constant).and_then(declared_type);
        let (Some(before), Some(mut after)) = (declared, ScriptType::of_expression(ctx, value)) else {
            continue;
        };
        match op {
            None => {}
            Some(Operator::Div) if before == ScriptType::Int && after == ScriptType::Int => {
                after = ScriptType::Float
            }
            Some(Operator::Add | Operator::Sub | Operator::Mult)
                if before == ScriptType::Int && matches!(after, ScriptType::Float | ScriptType::Tensor)
                    || before == ScriptType::Float && after == ScriptType::Tensor => {}
            Some(_) => continue,
        }
        let is_plain = matches!(
            after,
            ScriptType::Int | ScriptType::Float | ScriptType::Bool | ScriptType::Str | ScriptType::Tensor
        );
        // In TorchScript, `round` and `**` return floats for integers, too.
        let is_different = ["round(", "**", "pow("].iter().any(|text| ctx.text(value).contains(text));
        if before == after
            || is_different
            || !is_plain
            || !compiled.contains(statement.range())
            || is_under_script_test(ctx, statement.range())
        {
            continue;
        }
        let message =
            format!("`self.{name}` has the type `{before}`, but this assigns a value of type `{after}`");
        ctx.report(&SCRIPT_ATTRIBUTE, statement, message)
            .help(format!("assign a value of type `{after}` in `__init__`, or convert the value"))
            .emit();
    }
}

/// Returns the type that the annotation of an attribute declares, or the value that the constructor assigns.
fn declared_type(attribute: &Attribute) -> Option<ScriptType> {
    Some(match (attribute.annotation.as_deref(), attribute.initial.as_slice()) {
        (Some("int"), _) | (None, [Initial::Int]) => ScriptType::Int,
        (Some("float"), _) | (None, [Initial::Float]) => ScriptType::Float,
        (Some("bool"), _) | (None, [Initial::Bool]) => ScriptType::Bool,
        (Some("str"), _) | (None, [Initial::Str]) => ScriptType::Str,
        _ => return None,
    })
}
