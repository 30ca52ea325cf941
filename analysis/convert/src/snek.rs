//! Snek's virtualization (Snek, figure 3): `_if`, `_while`, `_for` and `_return`.
//!
//! ```python
//! def f(x):                   def f(x):
//!     if x > 0:                   try:
//!         return x        =>          def then_1():
//!     return -x                           _return(x)
//!                                     def else_1():
//!                                         _return(-x)
//!                                     _if(x > 0, then_1, else_1)
//!                                 except NonLocalReturnValue as result_:
//!                                     return result_.value
//! ```
//!
//! `_return` raises an exception. If a `return` is inside a `with` or `try`, which could catch it, all
//! `return`s are lowered to a flag first. Variables remain Python variables, declared `nonlocal` in the
//! blocks that bind them.

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::control_flow::{Emitter, StatementInfo, orelse};
use super::lowering::LoweringContext;
use super::options::Pass;
use super::returns;
use super::tree::{self, blocks, docstring};

/// Pass 4: `return` becomes `_return`.
pub(super) fn returns(ctx: &LoweringContext, body: &mut ast::Suite) {
    if returns_in_with_or_try(body, false) {
        returns::run(ctx, body);
    }
    replace_returns(body);
}

/// Whether a `return` is inside a `with` or `try`, which could catch the exception.
fn returns_in_with_or_try(body: &mut ast::Suite, protected: bool) -> bool {
    body.iter_mut().any(|statement| {
        let protected = protected || matches!(statement, Stmt::With(_) | Stmt::Try(_));
        matches!(statement, Stmt::Return(_)) && protected
            || blocks(statement).into_iter().any(|inner| returns_in_with_or_try(inner, protected))
    })
}

fn replace_returns(body: &mut ast::Suite) {
    for statement in body {
        if let Stmt::Return(node) = statement {
            let origin = node.range;
            let value = node.value.take().map_or_else(|| build::none(origin), |value| *value);
            let call = build::call(build::name("_return", origin), vec![value], origin);
            *statement = build::expression(call, origin);
        } else {
            blocks(statement).into_iter().for_each(replace_returns);
        }
    }
}

/// Keeps every `for` that may end early, which `_for(iterable, body)` cannot express.
pub(super) fn keep_loops_with_break(ctx: &LoweringContext, body: &mut ast::Suite) {
    for statement in body {
        if let Stmt::For(node) = statement {
            ctx.notes.add(&mut node.node_index, |note| note.kept |= !note.stop_flags.is_empty());
        }
        blocks(statement).into_iter().for_each(|inner| keep_loops_with_break(ctx, inner));
    }
}

pub(super) fn if_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    mut node: ast::StmtIf,
    out: &mut ast::Suite,
) {
    let otherwise = orelse(&mut node);
    let names = emitter.ctx.names;
    let [in_then, in_else] = &info.facts.bound;
    let then = emitter.function(names.numbered("then"), &[], in_then, node.body, info, out);
    let otherwise = emitter.function(names.numbered("else"), &[], in_else, otherwise, info, out);
    out.push(call("_if", vec![*node.test, then, otherwise], info));
}

pub(super) fn while_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtWhile,
    out: &mut ast::Suite,
) {
    let names = emitter.ctx.names;
    let body = emitter.function(names.numbered("body"), &[], &info.facts.bound[0], node.body, info, out);
    let origin = node.test.range();
    let test = [build::returned(*node.test, origin)];
    let test = emitter.function(names.numbered("cond"), &[], &[], test, info, out);
    out.push(call("_while", vec![test, body], info));
}

pub(super) fn for_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtFor,
    out: &mut ast::Suite,
) {
    let (name, item) = (emitter.ctx.names.numbered("body"), emitter.ctx.names.fresh("item_"));
    let body = emitter.loop_function(name, &item, (*node.target, node.body), info, out);
    out.push(call("_for", vec![*node.iter, body], info));
}

fn call(operator: &str, arguments: Vec<ast::Expr>, info: &StatementInfo<'_>) -> Stmt {
    let call = build::call(build::name(operator, info.head), arguments, info.head);
    build::expression(call, info.head)
}

/// The last pass: catches the exception of `_return` and converts the nested functions.
pub(super) fn functions(ctx: &LoweringContext, body: &mut ast::Suite) {
    super::functions::nested(ctx, body);
    if !ctx.options.runs(Pass::Functions) || !returns_somewhere(body) {
        return;
    }
    let origin = TextRange::empty(body.first().map_or_else(Default::default, Ranged::start));
    let rest: ast::Suite = body.drain(docstring(body)..).collect();
    let result = ctx.names.fresh("result_");
    let value = build::attribute(build::name(&result, origin), "value", origin);
    let class = build::name("NonLocalReturnValue", origin);
    let handler = [build::returned(value, origin)].into_iter().collect();
    body.push(build::try_except(rest, Some(class), Some(&result), handler, origin));
}

fn returns_somewhere(body: &mut ast::Suite) -> bool {
    body.iter_mut().any(|statement| {
        let is_return = match &*statement {
            Stmt::Expr(node) => node.value.as_call_expr().is_some_and(|call| {
                tree::is_synthesized(call)
                    && call.func.as_name_expr().is_some_and(|name| name.id == "_return")
            }),
            _ => false,
        };
        let within = match statement {
            Stmt::FunctionDef(def) if tree::is_synthesized(def) => returns_somewhere(&mut def.body),
            statement => blocks(statement).into_iter().any(returns_somewhere),
        };
        is_return || within
    })
}
