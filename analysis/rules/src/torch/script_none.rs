//! `None` where TorchScript requires a value.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_loop_type::rebindings;
use super::script_types::{ScriptType, in_static_branch};
use super::{is_under_script_test, scripts, snippet};

declare_rule! {
    /// ## What it does
    /// Reports three uses of `None` that TorchScript rejects: a name that is `None` and is assigned another
    /// value in an `if` or a loop, an `Optional` operand that may still be `None`, and the default `None` of a
    /// parameter whose annotation does not allow it.
    ///
    /// ## Why is this bad?
    /// The type of `x = None` is `None`. Only the annotation `Optional[Tensor]` allows both, and only a test
    /// (`if x is not None:`) narrows it to a Tensor.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def last(xs: torch.Tensor):
    ///     best = None
    ///     for row in xs:
    ///         best = row
    ///     return best
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import Optional
    ///
    /// import torch
    ///
    /// @torch.jit.script
    /// def last(xs: torch.Tensor):
    ///     best: Optional[torch.Tensor] = None
    ///     for row in xs:
    ///         best = row
    ///     return best
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Variable 'best' previously had type NoneType but is now being assigned to a value
    /// of type Tensor`, or `Expected a default value of type float on parameter "scale"`
    pub(crate) static SCRIPT_NONE = {
        code: "AG533", name: "script-none",
        summary: "`None` is used where TorchScript requires a value",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    for rebinding in rebindings(ctx) {
        if rebinding.before == ScriptType::None {
            let (name, ty) = (&rebinding.name, rebinding.after);
            ctx.report(
                &SCRIPT_NONE,
                rebinding.range,
                format!("`{name}` has type `None` and cannot be assigned a value of type `{ty}`"),
            )
            .help(format!("annotate its first assignment: `{name}: Optional[{ty}] = None`"))
            .emit();
        }
    }
    operands(ctx);
    defaults(ctx);
}

fn operands(ctx: &FunctionContext) {
    for expression in ctx.expressions() {
        let Expr::BinOp(operation) = expression else { continue };
        for operand in [&*operation.left, &*operation.right] {
            let fact = ctx.fact(operand);
            let optional = operand.is_name_expr() && !fact.unknown && fact.may_be_none();
            if optional
                && !in_static_branch(ctx, operand.range())
                && !is_under_script_test(ctx, operand.range())
            {
                ctx.report(&SCRIPT_NONE, operand, format!("`{}` may be `None` here", snippet(ctx, operand)))
                    .help(format!("test it first: `if {} is not None:`", snippet(ctx, operand)))
                    .emit();
            }
        }
    }
}

/// `scale: float = None`.
fn defaults(ctx: &FunctionContext) {
    for parameter in ctx.def().parameters.iter_non_variadic_params() {
        let (Some(annotation), Some(Expr::NoneLiteral(_))) =
            (parameter.parameter.annotation.as_deref(), parameter.default.as_deref())
        else {
            continue;
        };
        let plain = matches!(annotation, Expr::Name(_) | Expr::Attribute(_))
            && matches!(ctx.text(annotation), "int" | "float" | "bool" | "str" | "Tensor" | "torch.Tensor");
        if plain {
            let name = &parameter.parameter.name;
            ctx.report(
                &SCRIPT_NONE,
                &ctx.def().name,
                format!(
                    "the default of `{name}` is `None`, but its annotation `{}` does not allow it",
                    ctx.text(annotation)
                ),
            )
            .label(ctx.span(parameter.range()), "this parameter")
            .help(format!("annotate it as `Optional[{}]`", ctx.text(annotation)))
            .emit();
        }
    }
}
