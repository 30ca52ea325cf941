//! Branches with values of different types, in TorchScript.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_paths::{Compiled, Known, known};
use super::script_types::{ScriptType, conditions};
use super::{scripts, snippet};
use ag_flow::cfg::BlockKind;
use ag_flow::{Def, Definedness};

declare_rule! {
    /// ## What it does
    /// Reports an `if` whose branches bind a name to values of different types, and a conditional
    /// expression with operands of different types.
    ///
    /// ## Why is this bad?
    /// The type of the value would depend on the condition. TorchScript allows a single type only. (A type and
    /// `None` make an `Optional`.)
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor):
    ///     if bool(x.sum() > 0):
    ///         factor = 1
    ///     else:
    ///         factor = 0.5
    ///     return x * factor
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor):
    ///     if bool(x.sum() > 0):
    ///         factor = 1.0
    ///     else:
    ///         factor = 0.5
    ///     return x * factor
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Type mismatch: factor is set to type int in the true branch and type float in the
    /// false branch`, or `if-expression's true branch has type int but false branch has type str`
    pub(crate) static SCRIPT_BRANCH_TYPE = {
        code: "AG535", name: "script-branch-type",
        summary: "branches have values of different types",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if scripts(ctx) {
        let compiled = Compiled::of(ctx);
        statements(ctx, &compiled);
        expressions(ctx, &compiled);
    }
}

fn statements(ctx: &FunctionContext, compiled: &Compiled) {
    let cfg = &ctx.flow.cfg;
    for (range, test, ..) in conditions(ctx, compiled) {
        let Some(stmt) = cfg.statement_at(range.start()) else { continue };
        let (Some(variables), Some(statement)) = (ctx.flow.block_variables(stmt), cfg.statement(stmt)) else {
            continue;
        };
        let (Some(body), Some(orelse)) = (cfg.block(stmt, BlockKind::Body), cfg.block(stmt, BlockKind::Else))
        else {
            continue;
        };
        for variable in &variables.variables {
            let both =
                variable.after_body == Definedness::Always && variable.after_orelse == Definedness::Always;
            if !both || !variable.live_out || variable.before != Definedness::Never {
                continue;
            }
            let definitions = ctx.flow.definitions_at(statement.exit, &variable.name);
            let within = |block: ag_flow::Block| {
                let defs: Vec<&Def> = definitions
                    .iter()
                    .copied()
                    .filter(|it| {
                        cfg.node(it.node).and_then(|node| node.stmt).is_some_and(|stmt| block.contains(stmt))
                    })
                    .collect();
                ScriptType::of_definitions(ctx, defs)
            };
            let (Some(one), Some(other)) = (within(body), within(orelse)) else { continue };
            if differ(one, other) {
                ctx.report(
                    &SCRIPT_BRANCH_TYPE,
                    test,
                    format!(
                        "`{}` is `{one}` when `{}` holds, but `{other}` otherwise",
                        variable.name,
                        snippet(ctx, test)
                    ),
                )
                .help("assign a value of the same type in both branches")
                .emit();
            }
        }
    }
}

fn expressions(ctx: &FunctionContext, compiled: &Compiled) {
    for expression in ctx.expressions() {
        let Expr::If(conditional) = expression else { continue };
        if known(ctx, &conditional.test) != Known::No
            || !compiled.contains(expression.range())
            || has_declared_type(ctx, expression.range())
        {
            continue;
        }
        let types = (
            ScriptType::of_expression(ctx, &conditional.body),
            ScriptType::of_expression(ctx, &conditional.orelse),
        );
        let (Some(one), Some(other)) = types else { continue };
        if differ(one, other) {
            ctx.report(
                &SCRIPT_BRANCH_TYPE,
                expression,
                format!(
                    "this is `{one}` when `{}` holds, but `{other}` otherwise",
                    snippet(ctx, &conditional.test)
                ),
            )
            .help("use operands of the same type")
            .emit();
        }
    }
}

/// Returns whether the value has a declared type that allows both operands: `return x if flag else 1` with `-> Any`, or
/// `best: Any = x if flag else 1`.
fn has_declared_type(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.statements().into_iter().any(|statement| match statement {
        Stmt::AnnAssign(_) => statement.range().contains_range(range),
        Stmt::Return(_) => ctx.def().returns.is_some() && statement.range().contains_range(range),
        _ => false,
    })
}

fn differ(one: ScriptType, other: ScriptType) -> bool {
    one != other && one != ScriptType::None && other != ScriptType::None
}
