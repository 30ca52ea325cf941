//! Parameters without annotation that are not Tensors, in TorchScript.

use ruff_python_ast::name::Name;
use ruff_python_ast::{CmpOp, Expr};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_paths::Compiled;
use super::scripts;
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::facts::{Alternative, Binding};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports parameters of a TorchScript function without annotation whose default or argument is not a
    /// Tensor, or that the function uses as a number, string or container: `range(n)`, `mode == "fast"`,
    /// `ids.append(0)`. In compiled code, it also reports the call that passes such an argument: `self.fuse([x, y])`.
    ///
    /// ## Why is this bad?
    /// A parameter without annotation is taken to be a Tensor. TorchScript rejects a number as default at compile time,
    /// and a number as argument at the call.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x, factor=2):
    ///     return x * factor
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x, factor: int = 2):
    ///     return x * factor
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Expected a default value of type Tensor (inferred) on parameter "factor"`, or
    /// `scaled() Expected a value of type 'Tensor (inferred)' for argument 'factor' but instead found
    /// type 'int'`
    pub(crate) static SCRIPT_UNTYPED = {
        code: "AG538", name: "script-untyped",
        summary: "a parameter without annotation is inferred as a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    // Most functions that only possibly reach the compiler pass values of all types to the functions that they call.
    if !ctx.stage.uncertain {
        arguments(ctx);
    }
    // Comments declare types, too: `# type: (Tensor, int) -> Tensor`.
    if ctx.ast.text.contains("# type:") {
        return;
    }
    for parameter in ctx.def().parameters.iter_non_variadic_params() {
        let name = &parameter.parameter.name;
        let Some(known) = ctx.parameter(name.as_str()) else { continue };
        if parameter.parameter.annotation.is_some() || known.source == Source::Receiver {
            continue;
        }
        let by_default = parameter.default.as_deref().is_some_and(|default| {
            default.is_number_literal_expr()
                || default.is_boolean_literal_expr()
                || default.is_string_literal_expr()
        });
        let number = known.shown.as_deref().filter(|it| matches!(*it, "int" | "float" | "bool" | "str"));
        if by_default {
            ctx.report(
                &SCRIPT_UNTYPED,
                &ctx.def().name,
                format!(
                    "`{name}` has no annotation and is inferred as a Tensor, but its default is not a Tensor"
                ),
            )
            .label(ctx.span(parameter.range()), "this parameter")
            .help("annotate the parameter")
            .emit();
        } else if let Some(number) = number
            && known.source == Source::CallSites
            && known.binding == Binding::Python
        {
            ctx.report(
                &SCRIPT_UNTYPED,
                parameter,
                format!(
                    "`{name}` has no annotation and is inferred as a Tensor, but a call passes `{number}`"
                ),
            )
            .severity(Severity::Warning)
            .why(known.why.clone())
            .help(format!("annotate it: `{name}: {number}`"))
            .emit();
        } else if let Some((used, required)) = used_as_python(ctx, name.as_str())
            && (known.source != Source::CallSites || used.is_attribute_expr())
        {
            ctx.report(
                &SCRIPT_UNTYPED,
                used,
                format!(
                    "`{name}` has no annotation and is inferred as a Tensor, but this needs `{required}`"
                ),
            )
            .label(ctx.span(parameter.range()), "this parameter")
            .help(format!("annotate it: `{name}: {required}`"))
            .emit();
        }
    }
}

/// Reports arguments that are not Tensors, in calls of compiled functions whose parameter has no annotation:
/// `self.fuse([x, y])`.
fn arguments(ctx: &FunctionContext) {
    let compiled = Compiled::of(ctx);
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let Some((callee, bound)) = ctx.callee_and_receiver(call) else { continue };
        let def = callee.def();
        let is_plain = def.decorator_list.iter().all(|decorator| {
            ctx.resolve(&decorator.expression).is_some_and(|name| name == "torch.jit.script")
        });
        if !is_plain || callee.text.contains("# type:") || !compiled.contains(call.range()) {
            continue;
        }
        let positional = def.parameters.posonlyargs.iter().chain(&def.parameters.args).skip(bound.into());
        let positional = call.arguments.args.iter().take_while(|it| !it.is_starred_expr()).zip(positional);
        let named = call.arguments.keywords.iter().filter_map(|keyword| {
            let name = keyword.arg.as_ref()?;
            let parameter = def.parameters.iter_non_variadic_params().find(|it| it.name().id == name.id)?;
            Some((&keyword.value, parameter))
        });
        let passed: Vec<_> = positional.chain(named).collect();
        let is_complete = call.arguments.args.iter().all(|it| !it.is_starred_expr())
            && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some());
        let left_out = def.parameters.args.iter().find(|parameter| {
            parameter.annotation().is_none()
                && parameter.default().is_some_and(Expr::is_none_literal_expr)
                && !passed.iter().any(|(_, it)| it.name() == parameter.name())
        });
        if let Some(parameter) = left_out.filter(|_| is_complete) {
            let name = parameter.name();
            ctx.report(
                &SCRIPT_UNTYPED,
                call,
                format!(
                    "this leaves out `{name}` of `{}`, which has no annotation and is inferred as a Tensor, so it \
                     cannot be `None`",
                    def.name
                ),
            )
            .help(format!("annotate the parameter: `{name}: Optional[Tensor] = None`"))
            .emit();
        }
        for (argument, parameter) in passed {
            let Some((what, required)) = not_a_tensor(ctx, argument) else { continue };
            if parameter.annotation().is_some() {
                continue;
            }
            let name = parameter.name();
            ctx.report(
                &SCRIPT_UNTYPED,
                call,
                format!(
                    "this passes {what} for `{name}` of `{}`, which has no annotation and is inferred as a Tensor",
                    def.name
                ),
            )
            .why(ctx.why(argument))
            .help(format!("annotate the parameter: `{name}: {required}`"))
            .emit();
        }
    }
}

/// Describes an argument that is certainly not a Tensor, with its type in TorchScript.
fn not_a_tensor(ctx: &FunctionContext, argument: &Expr) -> Option<(&'static str, &'static str)> {
    // TorchScript itself treats a parameter without annotation as a Tensor.
    if let Expr::Name(name) = argument {
        let definitions = ctx.flow.definitions_of(argument.range(), &QName::from(&name.id));
        let is_untyped = |it: &&ag_flow::Def| {
            matches!(it.kind, DefKind::Parameter(_))
                && ctx.parameter(&name.id).is_none_or(|it| it.source != Source::Annotation)
        };
        if definitions.is_empty() || definitions.iter().any(is_untyped) {
            return None;
        }
    }
    let fact = ctx.python_fact(argument);
    if fact.unknown || fact.never {
        return None;
    }
    // In annotations `float` includes `int`.
    if fact.shown == "float" {
        return Some(("a float", "float"));
    }
    let [alternative] = fact.alternatives.as_slice() else { return None };
    Some(match alternative {
        Alternative::None => ("`None`", "Optional[Tensor]"),
        Alternative::Bool(_) => ("a bool", "bool"),
        Alternative::Int(_) => ("an int", "int"),
        Alternative::Float => ("a float", "float"),
        Alternative::Str(_) => ("a string", "str"),
        Alternative::Container { class, .. } => match class.as_str() {
            "list" => ("a list", "List[…]"),
            "dict" => ("a dictionary", "Dict[…]"),
            "tuple" => ("a tuple", "Tuple[…]"),
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns the first use of a parameter that a Tensor does not support, and a type that does support it: `range(n)`,
/// `mode == "fast"`.
fn used_as_python<'a>(ctx: &FunctionContext<'a>, parameter: &str) -> Option<(&'a Expr, &'static str)> {
    let compiled = Compiled::of(ctx);
    let is_parameter = |value: &Expr| {
        value.as_name_expr().is_some_and(|name| name.id == *parameter)
            && ctx
                .flow
                .definitions_of(value.range(), &QName::from(&Name::new(parameter)))
                .iter()
                .all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
    };
    ctx.expressions().into_iter().filter(|expression| compiled.contains(expression.range())).find_map(
        |expression| match expression {
            Expr::Call(call) if ctx.builtin(&call.func) == Some("range") => {
                call.arguments.args.iter().any(is_parameter).then_some((expression, "int"))
            }
            Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
                ([CmpOp::Eq | CmpOp::NotEq], [Expr::StringLiteral(_)]) => {
                    is_parameter(&compare.left).then_some((expression, "str"))
                }
                _ => None,
            },
            Expr::Attribute(attribute) if is_parameter(&attribute.value) => {
                required_by(&attribute.attr).map(|required| (expression, required))
            }
            _ => None,
        },
    )
}

/// Returns the type that has this method. Tensors do not have it.
fn required_by(method: &str) -> Option<&'static str> {
    Some(match method {
        "append" | "extend" | "insert" | "pop" | "reverse" => "List[…]",
        "items" | "keys" | "setdefault" | "update" => "Dict[…]",
        "endswith" | "join" | "lower" | "lstrip" | "replace" | "rstrip" | "splitlines" | "startswith"
        | "strip" | "upper" => "str",
        _ => return None,
    })
}
