//! Names that TorchScript finds without a value on some path.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_types::{conditions, in_static_branch};
use super::scripts;
use crate::flow::{DefKind, Definedness};
use crate::syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports names that are used after an `if` but bound in one branch only, and names that are used
    /// after a loop but bound only within it.
    ///
    /// ## Why is this bad?
    /// TorchScript wants a value on every path, at compile time. A branch that raises or returns need
    /// not bind the name.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def double(x: torch.Tensor):
    ///     if bool(x.sum() > 0):
    ///         y = x * 2
    ///     return y
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def double(x: torch.Tensor):
    ///     y = x
    ///     if bool(x.sum() > 0):
    ///         y = x * 2
    ///     return y
    /// ```
    ///
    /// ## What torch says
    /// `RuntimeError: y is not defined in the false branch`, or `undefined value y`
    pub(crate) static SCRIPT_UNDEFINED = {
        code: "AG531", name: "script-undefined",
        summary: "a name has no value on some path",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if scripts(ctx) {
        after_branches(ctx);
        after_loops(ctx);
    }
}

fn after_branches(ctx: &FunctionContext) {
    for (range, test, ..) in conditions(ctx) {
        let variables =
            ctx.flow.cfg.statement_at(range.start()).and_then(|stmt| ctx.flow.block_variables(stmt));
        let Some(variables) = variables else { continue };
        for variable in &variables.variables {
            let missing = match (variable.after_body, variable.after_orelse) {
                (Definedness::Always, Definedness::Never) => "does not hold",
                (Definedness::Never, Definedness::Always) => "holds",
                _ => continue,
            };
            if variable.live_out && variable.name.is_simple() && variable.before == Definedness::Never {
                ctx.report(
                    &SCRIPT_UNDEFINED,
                    test,
                    format!(
                        "`{}` is used later and has no value when `{}` {missing}",
                        variable.name,
                        super::shown(ctx, test)
                    ),
                )
                .help(format!("Bind `{}` before the `if`, or in both branches", variable.name))
                .emit();
            }
        }
    }
}

/// A use outside of the loops that bind the name.
fn after_loops(ctx: &FunctionContext) {
    let mut reported: Vec<QName> = Vec::new();
    let loops: Vec<_> = ctx.constructs.iter().filter(|construct| construct.kind.is_loop()).collect();
    for expression in ctx.expressions() {
        let Expr::Name(name) = expression else { continue };
        if !name.ctx.is_load() || in_static_branch(ctx, name.range()) {
            continue;
        }
        let variable = QName::from(&name.id);
        let definitions = ctx.flow.definitions_of(name.range(), &variable);
        let bound: Vec<_> = definitions.iter().filter(|it| it.kind.defines()).collect();
        let unbound = definitions.iter().any(|it| it.kind == DefKind::Undefined);
        let only_in_loops = !bound.is_empty()
            && bound.iter().all(|definition| {
                loops.iter().any(|it| {
                    it.range.contains_range(definition.range) && !it.range.contains_range(name.range())
                })
            });
        if unbound && only_in_loops && !reported.contains(&variable) {
            let report = ctx.report(
                &SCRIPT_UNDEFINED,
                expression,
                format!(
                    "`{variable}` is bound within a loop only and has no value when the loop does not run"
                ),
            );
            let report = bound
                .first()
                .into_iter()
                .fold(report, |report, definition| report.label(ctx.span(definition.range), "bound here"));
            report.help(format!("Bind `{variable}` before the loop")).emit();
            reported.push(variable);
        }
    }
}
