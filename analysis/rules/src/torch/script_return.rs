//! Results of different types, and paths without a result, in TorchScript.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_loop_type::converts;
use super::script_paths::Compiled;
use super::script_types::ScriptType;
use super::scripts;
use ag_flow::cfg::{Cfg, EdgeKind, StatementKind};

declare_rule! {
    /// ## What it does
    /// Reports a `return` whose value has another type than the value of the first `return`, and a returned Tensor
    /// where the annotation declares a number. Also reports a function that is annotated to return a value and may end
    /// without a `return`.
    ///
    /// ## Why is this bad?
    /// A TorchScript function has one result type, known at compile time.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def total(x: torch.Tensor):
    ///     if x.dim() > 0:
    ///         return x.sum()
    ///     return 0.0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def total(x: torch.Tensor):
    ///     if x.dim() > 0:
    ///         return x.sum()
    ///     return torch.zeros(1)
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Previous return statement returned a value of type Tensor but this return
    /// statement returns a value of type float`, or `Function was not annotated as having type None, but
    /// does not return along all paths`
    pub(crate) static SCRIPT_RETURN_TYPE = {
        code: "AG532", name: "script-return-type",
        summary: "a TorchScript function returns values of different types",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    let compiled = Compiled::of(ctx);
    if compiled.is_uncertain {
        return;
    }
    match &ctx.def().returns {
        None => mixed(ctx, &compiled),
        Some(annotation) => {
            if compiled.compiles_every_branch() {
                missing(ctx, annotation);
            }
            undeclared(ctx, annotation, &compiled);
        }
    }
}

fn mixed(ctx: &FunctionContext, compiled: &Compiled) {
    let mut first: Option<(ScriptType, &Stmt)> = None;
    for statement in ctx.statements() {
        let Stmt::Return(returned) = statement else { continue };
        if !compiled.contains(returned.range()) {
            continue;
        }
        // `None` and one other type make an `Optional`.
        let Some(value) = returned.value.as_deref() else { continue };
        let ty = match ScriptType::of_expression(ctx, value) {
            None => return,
            Some(ScriptType::None) => continue,
            Some(ty) => ty,
        };
        match first {
            None => first = Some((ty, statement)),
            Some((known, earlier)) if known != ty => {
                ctx.report(
                    &SCRIPT_RETURN_TYPE,
                    statement,
                    format!("this returns `{ty}`, but an earlier `return` of the function returns `{known}`"),
                )
                .label(ctx.span(earlier.range()), format!("returns `{known}`"))
                .help("return values of the same type, or annotate the result with a `Union`")
                .emit();
                return;
            }
            Some(_) => {}
        }
    }
}

/// Reports returned values whose type is not the declared one. TorchScript converts some values implicitly, and these
/// are not reported: a Tensor for a number, a bool for an integer.
fn undeclared(ctx: &FunctionContext, annotation: &Expr, compiled: &Compiled) {
    let declared = match ctx.text(annotation) {
        "int" => ScriptType::Int,
        "float" => ScriptType::Float,
        "bool" => ScriptType::Bool,
        "str" => ScriptType::Str,
        "Tensor" | "torch.Tensor" => ScriptType::Tensor,
        _ => return,
    };
    for statement in ctx.statements() {
        let Stmt::Return(returned) = statement else { continue };
        let Some(value) = returned.value.as_deref().filter(|_| compiled.contains(returned.range())) else {
            continue;
        };
        let container = match value {
            Expr::List(_) | Expr::ListComp(_) => Some("List"),
            Expr::Dict(_) | Expr::DictComp(_) => Some("Dict"),
            _ => None,
        };
        let actual = match container {
            Some(container) => container.to_owned(),
            None => match ScriptType::of_expression(ctx, value) {
                Some(actual) if actual != declared && !converts(actual, declared) => actual.to_string(),
                _ => continue,
            },
        };
        ctx.report(
            &SCRIPT_RETURN_TYPE,
            statement,
            format!("this returns `{actual}`, but the declared return type is `{declared}`"),
        )
        .label(ctx.span(annotation.range()), format!("declared as `{declared}`"))
        .help("convert the result, or change the annotation")
        .emit();
        return;
    }
}

/// Reports a function whose end is reachable, although its annotation declares a result.
fn missing(ctx: &FunctionContext, annotation: &Expr) {
    let must_return = match annotation {
        Expr::NoneLiteral(_) => false,
        _ => !["None", "Optional", "Any", "NoReturn"].iter().any(|word| ctx.text(annotation).contains(word)),
    };
    let returns_value = ctx
        .statements()
        .into_iter()
        .any(|statement| matches!(statement, Stmt::Return(returned) if returned.value.is_some()));
    if !must_return || !returns_value {
        return;
    }
    let cfg = &ctx.flow.cfg;
    let falls_off = cfg.predecessors(Cfg::EXIT).iter().any(|edge| {
        let statement = cfg.node(edge.from).and_then(|node| node.stmt).and_then(|stmt| cfg.statement(stmt));
        // A `while True` ends only at its `return` statements.
        let ends_body = statement.is_some_and(|statement| {
            !matches!(statement.kind, StatementKind::While | StatementKind::Return | StatementKind::Raise)
        });
        !matches!(edge.kind, EdgeKind::Return | EdgeKind::Exception)
            && cfg.is_reachable(edge.from)
            && ends_body
    });
    if falls_off {
        ctx.report(
            &SCRIPT_RETURN_TYPE,
            &ctx.def().name,
            format!("`{}` may end without returning the declared `{}`", ctx.def().name, ctx.text(annotation)),
        )
        .help("return a value at the end")
        .emit();
    }
}
