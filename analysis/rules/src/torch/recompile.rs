//! Integers that count the calls of a compiled function.

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::{compiles, handles_tracing, snippet};
use ag_index::facts::Alternative;
use ag_index::index::file_index;
use ag_syntax::expressions::natural;

declare_rule! {
    /// ## What it does
    /// Reports integers that a function compiled by `torch.compile` changes in each call: an attribute of an
    /// `nn.Module` or a global variable, as in `self.calls += 1`.
    ///
    /// ## Why is this bad?
    /// The compiler treats these integers as constants and guards on them, so each call compiles the function again.
    /// After 8 compilations (`torch._dynamo.config.recompile_limit`) it stops compiling and runs the function in
    /// Python; with `fullgraph=True` it raises. Floats, and attributes of objects that are not modules, become inputs
    /// of the graph.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Counting(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.calls = 0
    ///
    ///     def forward(self, x):
    ///         self.calls += 1
    ///         return x * 2
    ///
    /// torch.compile(Counting())(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Counting(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.register_buffer("calls", torch.tensor(0))
    ///
    ///     def forward(self, x):
    ///         self.calls += 1
    ///         return x * 2
    ///
    /// torch.compile(Counting())(torch.ones(3))
    /// ```
    ///
    /// ## What torch reports
    /// `torch._dynamo hit config.recompile_limit (8)`
    pub(crate) static TORCH_RECOMPILE = {
        code: "AG518", name: "torch-recompile",
        summary: "an integer that counts calls causes a recompilation in each call",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for statement in ctx.statements() {
        let Some(target) = counted(ctx, statement) else { continue };
        let what = match target {
            Expr::Attribute(attribute) if is_of_module(ctx, attribute) => "an attribute of a module",
            Expr::Name(name) if ctx.flow.scope().globals.contains(&name.id) => "a global variable",
            _ => continue,
        };
        let in_loop = ctx.enclosing(statement.range()).any(|construct| construct.kind.is_loop());
        if is_int(ctx, target) && !in_loop && !handles_tracing(ctx, statement.range()) {
            ctx.report(
                &TORCH_RECOMPILE,
                statement,
                format!(
                    "`{}`, {what}, changes in each call, so each call recompiles the function",
                    snippet(ctx, target)
                ),
            )
            .help("count in a buffer (`register_buffer`), or outside the compiled function")
            .emit();
        }
    }
}

/// Returns the target of `n += 1` or `n = n + 1`.
fn counted<'a>(ctx: &FunctionContext, statement: &'a Stmt) -> Option<&'a Expr> {
    match statement {
        Stmt::AugAssign(assign) => (matches!(assign.op, Operator::Add | Operator::Sub)
            && is_step(&assign.value))
        .then_some(&*assign.target),
        Stmt::Assign(assign) => {
            let [target] = assign.targets.as_slice() else { return None };
            let Expr::BinOp(operation) = &*assign.value else { return None };
            (matches!(operation.op, Operator::Add | Operator::Sub)
                && is_step(&operation.right)
                && ctx.text(&*operation.left) == ctx.text(target))
            .then_some(target)
        }
        _ => None,
    }
}

/// Returns whether a value is a positive integer literal.
fn is_step(value: &Expr) -> bool {
    natural(value).is_some_and(|step| step > 0)
}

/// Returns whether the previous value is an integer. The target of an assignment does not always have a fact.
fn is_int(ctx: &FunctionContext, target: &Expr) -> bool {
    let known = |expression: &Expr| {
        let fact = ctx.python_fact(expression);
        !fact.unknown
            && !fact.alternatives.is_empty()
            && fact.alternatives.iter().all(|alternative| matches!(alternative, Alternative::Int(_)))
    };
    let text = ctx.text(target);
    known(target)
        || ctx.expressions().into_iter().any(|expression| ctx.text(expression) == text && known(expression))
}

/// Returns whether an attribute belongs to the receiver of a method of an `nn.Module`: `self.calls`.
fn is_of_module(ctx: &FunctionContext, attribute: &ast::ExprAttribute) -> bool {
    let receiver = ctx.def().parameters.args.first().map(|parameter| parameter.name().as_str());
    let of_self = attribute.value.as_name_expr().is_some_and(|name| Some(name.id.as_str()) == receiver);
    let Some((class, _)) = ctx.path.qualname.rsplit_once('.').filter(|_| of_self) else { return false };
    let classes = &file_index(ctx.db, ctx.document).definitions.classes;
    let mut pending = vec![class.to_owned()];
    for _ in 0..8 {
        let Some(class) = pending.pop() else { return false };
        if let Some(entry) = classes.iter().find(|entry| entry.qualname == class) {
            if entry.bases.iter().any(|base| base.ends_with("Module")) {
                return true;
            }
            pending.extend(entry.bases.iter().map(|base| base.to_string()));
        }
    }
    false
}
