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
use ag_index::facts::Binding;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports parameters of a TorchScript function without annotation whose default or argument is not a
    /// Tensor, or that the function uses as a number, string or container: `range(n)`, `mode == "fast"`,
    /// `ids.append(0)`.
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

/// The first use of a parameter that a Tensor does not support, and the type that does: `range(n)`, `mode == "fast"`.
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

/// The type that has a method that Tensors do not have.
fn required_by(method: &str) -> Option<&'static str> {
    Some(match method {
        "append" | "extend" | "insert" | "pop" | "reverse" => "List[…]",
        "items" | "keys" | "setdefault" | "update" => "Dict[…]",
        "endswith" | "join" | "lower" | "lstrip" | "replace" | "rstrip" | "splitlines" | "startswith"
        | "strip" | "upper" => "str",
        _ => return None,
    })
}
