//! Names that change their type in an `if` or a loop of TorchScript.

use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_paths::Compiled;
use super::script_types::ScriptType;
use super::scripts;
use ag_flow::cfg::StatementKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports an assignment in an `if` or a loop that changes the type of a name.
    ///
    /// ## Why is this bad?
    /// The type of the name would depend on the path. TorchScript allows a single type only.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor):
    ///     total = 0
    ///     for i in range(3):
    ///         total = total + 0.5
    ///     return x * total
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor):
    ///     total = 0.0
    ///     for i in range(3):
    ///         total = total + 0.5
    ///     return x * total
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Variable 'total' previously had type int but is now being assigned to a value of
    /// type float`
    pub(crate) static SCRIPT_LOOP_TYPE = {
        code: "AG536", name: "script-loop-type",
        summary: "a name changes its type in an `if` or a loop",
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
        let Rebinding { name, range, before, after } = rebinding;
        if before != ScriptType::None && !converts(after, before) {
            ctx.report(
                &SCRIPT_LOOP_TYPE,
                range,
                format!("`{name}` has type `{before}` and cannot be assigned a value of type `{after}`"),
            )
            .help(match after {
                ScriptType::None => format!("annotate its first assignment: `Optional[{before}]`"),
                _ => format!("initialize it with a value of type `{after}`"),
            })
            .emit();
        } else if after == ScriptType::Tensor
            && before != ScriptType::None
            && let Some(used) = used_as_tensor(ctx, range)
        {
            ctx.report(
                &SCRIPT_LOOP_TYPE,
                used,
                format!("`{name}` has type `{before}`: the assigned Tensor was converted to a number"),
            )
            .label(ctx.span(range), "converted here")
            .help("initialize it with a Tensor, or use another name")
            .emit();
        }
    }
    declared_again(ctx);
}

/// Returns the first use that a number would not support, of the Tensor that is assigned at `target`: `y.abs()`,
/// `y[0]`, `torch.relu(y)`, `self.layer(y)`.
fn used_as_tensor<'a>(ctx: &FunctionContext<'a>, target: TextRange) -> Option<&'a Expr> {
    ctx.expressions().into_iter().find_map(|expression| {
        let used = match expression {
            Expr::Attribute(attribute) => &*attribute.value,
            Expr::Subscript(subscript) => &*subscript.value,
            Expr::Call(call) => {
                let of_torch = ctx.resolve(&call.func).is_some_and(|name| {
                    matches!(name.as_str(), "torch.relu" | "torch.sigmoid" | "torch.tanh" | "torch.softmax")
                        || name.starts_with("torch.nn.functional.")
                });
                let of_module = ctx.fact(&call.func).alternatives.iter().any(|alternative| {
                    matches!(alternative, Alternative::Instance { module: Some(module), .. } if module.starts_with("torch.nn"))
                });
                call.arguments.args.first().filter(|_| of_torch || of_module)?
            }
            _ => return None,
        };
        let name = used.as_name_expr().filter(|name| name.ctx.is_load())?;
        let definitions = ctx.flow.definitions_of(used.range(), &QName::from(&name.id));
        (definitions.len() == 1 && definitions.iter().all(|definition| definition.range == target)).then_some(expression)
    })
}

/// Reports `a: List[int] = [1]` in a block, if `a` is bound before the block.
fn declared_again(ctx: &FunctionContext) {
    let compiled = Compiled::of(ctx);
    for statement in ctx.statements() {
        let Stmt::AnnAssign(assign) = statement else { continue };
        let Expr::Name(name) = &*assign.target else { continue };
        if !compiled.contains(statement.range()) || !is_bound_outside(ctx, statement, &QName::from(&name.id))
        {
            continue;
        }
        ctx.report(
            &SCRIPT_LOOP_TYPE,
            statement,
            format!("`{}` is annotated in an inner block, but is already defined outside of it", name.id),
        )
        .help("annotate the first assignment only")
        .emit();
    }
}

/// Returns whether a name is certainly bound before a compound statement around `statement`.
fn is_bound_outside(ctx: &FunctionContext, statement: &Stmt, name: &QName) -> bool {
    let cfg = &ctx.flow.cfg;
    let Some(mut current) = cfg.statement_at(statement.start()) else { return false };
    while let Some(outer) = cfg.statement(current).and_then(|it| it.parent) {
        let Some(block) = cfg.statement(outer) else { return false };
        if matches!(block.kind, StatementKind::If | StatementKind::While | StatementKind::For) {
            let before: Vec<_> = ctx
                .flow
                .definitions_at(block.entry, name)
                .into_iter()
                .filter(|definition| !block.range.contains_range(definition.range))
                .collect();
            if !before.is_empty() && before.iter().all(|definition| definition.kind.defines()) {
                return true;
            }
        }
        current = outer;
    }
    false
}

/// Returns whether TorchScript implicitly converts the value: a Tensor to a number, or a bool to an integer.
pub(super) fn converts(from: ScriptType, to: ScriptType) -> bool {
    match to {
        ScriptType::Int => matches!(from, ScriptType::Tensor | ScriptType::Bool),
        ScriptType::Float => from == ScriptType::Tensor,
        _ => false,
    }
}

/// An assignment that changes the type that a name has before the enclosing block.
pub(super) struct Rebinding {
    pub name: Name,
    pub range: TextRange,
    pub before: ScriptType,
    pub after: ScriptType,
}

pub(super) fn rebindings(ctx: &FunctionContext) -> Vec<Rebinding> {
    let mut found = Vec::new();
    let compiled = Compiled::of(ctx);
    for statement in ctx.statements() {
        let (target, value) = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Name(name)] => (name, ScriptType::of_expression(ctx, &assign.value)),
                _ => continue,
            },
            Stmt::AugAssign(assign) => match &*assign.target {
                Expr::Name(name) if arithmetic(assign.op) => {
                    (name, ScriptType::of_expression(ctx, &assign.value))
                }
                _ => continue,
            },
            _ => continue,
        };
        if !compiled.contains(statement.range()) {
            continue;
        }
        let Some(mut after) = value else { continue };
        let Some(before) = type_outside(ctx, statement, &QName::from(&target.id)) else { continue };
        if statement.is_aug_assign_stmt() {
            after = match (before, after) {
                (ScriptType::Int, ScriptType::Float) => ScriptType::Float,
                (ScriptType::Int | ScriptType::Float, ScriptType::Tensor) => ScriptType::Tensor,
                _ => continue,
            };
        }
        if before != after {
            found.push(Rebinding { name: target.id.clone(), range: target.range(), before, after });
        }
    }
    found
}

fn arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Add | Operator::Sub | Operator::Mult)
}

/// Returns the type that a name has before the innermost `if` or loop around `statement`. If the name is not bound
/// there, looks before the next outer `if` or loop.
fn type_outside(ctx: &FunctionContext, statement: &Stmt, name: &QName) -> Option<ScriptType> {
    let cfg = &ctx.flow.cfg;
    let mut current = cfg.statement_at(statement.start())?;
    while let Some(outer) = cfg.statement(current).and_then(|it| it.parent) {
        let block = cfg.statement(outer)?;
        if matches!(block.kind, StatementKind::If | StatementKind::While | StatementKind::For) {
            let definitions: Vec<_> = ctx
                .flow
                .definitions_at(block.entry, name)
                .into_iter()
                .filter(|definition| {
                    !block.range.contains_range(definition.range)
                        || definition.range.contains_range(block.range)
                })
                .collect();
            if definitions.iter().any(|definition| definition.kind.defines()) {
                return ScriptType::of_definitions(ctx, definitions);
            }
        }
        current = outer;
    }
    None
}
