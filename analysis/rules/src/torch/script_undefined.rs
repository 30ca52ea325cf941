//! Names that are undefined on some path in TorchScript.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_paths::Compiled;
use super::script_types::conditions;
use super::scripts;
use ag_flow::{DefKind, Definedness, Exits};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports names that are used after an `if` but bound in only one branch, and names that are used after a
    /// loop but bound only in it.
    ///
    /// ## Why is this bad?
    /// TorchScript checks at compile time that a name has a value on every path. A branch that raises or returns need
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
    /// ## What torch reports
    /// `RuntimeError: y is not defined in the false branch`, or `undefined value y`
    pub(crate) static SCRIPT_UNDEFINED = {
        code: "AG531", name: "script-undefined",
        summary: "a name is undefined on some path",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if scripts(ctx) {
        let compiled = Compiled::of(ctx);
        after_branches(ctx, &compiled);
        after_loops(ctx, &compiled);
    }
}

/// Reports a name that one branch of an `if` always binds and the other branch does not. For nested `if` statements,
/// only the outermost one is reported.
fn after_branches(ctx: &FunctionContext, compiled: &Compiled) {
    let mut reported: Vec<(QName, TextRange)> = Vec::new();
    for (range, test, ..) in conditions(ctx, compiled) {
        let variables =
            ctx.flow.cfg.statement_at(range.start()).and_then(|stmt| ctx.flow.block_variables(stmt));
        let Some(variables) = variables.filter(|_| !asserts_false(ctx, range)) else { continue };
        for variable in &variables.variables {
            let in_body = binds(variable.after_body, variables.body, variable.modified_in_body);
            let in_orelse = binds(variable.after_orelse, variables.orelse, variable.modified_in_orelse);
            let missing = match (in_body, in_orelse) {
                (true, false) => "does not hold",
                (false, true) => "holds",
                _ => continue,
            };
            let name = &variable.name;
            let known = reported.iter().any(|(other, outer)| other == name && outer.contains_range(range));
            if variable.live_out && name.is_simple() && variable.before != Definedness::Always && !known {
                let test_text = super::snippet(ctx, test);
                ctx.report(
                    &SCRIPT_UNDEFINED,
                    test,
                    format!("`{name}` is used later, but may be undefined when `{test_text}` {missing}"),
                )
                .help(format!("define `{name}` before the `if`, or in both branches"))
                .emit();
                reported.push((name.clone(), range));
            }
        }
    }
}

/// Returns whether the compiler considers the name bound after a branch. A branch that ends in `break` or `continue`
/// must bind it. A branch that returns or raises an exception need not.
fn binds(after: Definedness, exits: Exits, modified: bool) -> bool {
    let jumps = !exits.completes && (exits.breaks || exits.continues) && !exits.returns && !exits.raises;
    after == Definedness::Always && (modified || !jumps)
}

/// Returns whether the `if` contains an `assert` of a literal. The compiler treats `assert False` like `raise`.
fn asserts_false(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.statements().into_iter().any(|statement| {
        range.contains_range(statement.range())
            && matches!(statement, Stmt::Assert(assert) if assert.test.is_boolean_literal_expr())
    })
}

/// Reports the first use of a name outside the loops in which it is bound.
fn after_loops(ctx: &FunctionContext, compiled: &Compiled) {
    let mut reported: Vec<QName> = Vec::new();
    let loops: Vec<_> = ctx.constructs.iter().filter(|construct| construct.kind.is_loop()).collect();
    for expression in ctx.expressions() {
        let Expr::Name(name) = expression else { continue };
        if !name.ctx.is_load() || !compiled.contains(name.range()) {
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
                format!("`{variable}` is bound only in a loop and is undefined when the loop does not run"),
            );
            let report = bound
                .first()
                .into_iter()
                .fold(report, |report, definition| report.label(ctx.span(definition.range), "bound here"));
            report.help(format!("define `{variable}` before the loop")).emit();
            reported.push(variable);
        }
    }
}
