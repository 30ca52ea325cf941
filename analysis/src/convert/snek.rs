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
//! `_return` raises. Where a `with` or `try` would see that exception, `return` becomes a flag
//! first. Variables stay variables of Python, `nonlocal` in the blocks that bind them.

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::control_flow::{Emitter, Parts, or_pass, orelse};
use super::options::Pass;
use super::returns;
use super::tree::{self, blocks, docstring};
use super::unit::Unit;

/// Pass 4: `return` becomes `_return`.
pub(super) fn returns(unit: &Unit, body: &mut ast::Suite) {
    if is_watched(body, false) {
        returns::run(unit, body);
    }
    replace_returns(body);
}

/// Whether a `return` stands where its exception would be seen.
fn is_watched(body: &mut ast::Suite, watched: bool) -> bool {
    body.iter_mut().any(|statement| {
        let watched = watched || matches!(statement, Stmt::With(_) | Stmt::Try(_));
        matches!(statement, Stmt::Return(_)) && watched
            || blocks(statement).into_iter().any(|inner| is_watched(inner, watched))
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

/// A `for` that is left early cannot be `_for(iterable, body)`, and stays as it is.
pub(super) fn keep_broken_loops(unit: &Unit, body: &mut ast::Suite) {
    for statement in body {
        if let Stmt::For(node) = statement {
            unit.notes.add(&mut node.node_index, |note| note.kept |= !note.stop_flags.is_empty());
        }
        blocks(statement).into_iter().for_each(|inner| keep_broken_loops(unit, inner));
    }
}

pub(super) fn if_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    mut node: ast::StmtIf,
    out: &mut ast::Suite,
) {
    let otherwise = orelse(&mut node);
    let mut branch = |root: &'static str, block: ast::Suite, position: usize| {
        let name = emitter.unit.names.numbered(root);
        let mut body = ast::Suite::new();
        emitter.declare(&parts.facts.bound[position], &mut body);
        body.extend(block);
        out.push(build::function(&name, &[], or_pass(body), parts.origin));
        build::name(&name, parts.origin)
    };
    let then = branch("then", std::mem::take(&mut node.body), 0);
    let otherwise = branch("else", otherwise, 1);
    out.push(call("_if", vec![*node.test, then, otherwise], parts));
}

pub(super) fn while_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    node: ast::StmtWhile,
    out: &mut ast::Suite,
) {
    let (body_name, test_name) = (emitter.unit.names.numbered("body"), emitter.unit.names.numbered("cond"));
    let mut body = ast::Suite::new();
    emitter.declare(&parts.facts.bound[0], &mut body);
    body.extend(node.body);
    out.push(build::function(&body_name, &[], or_pass(body), parts.origin));
    let mut test = ast::Suite::new();
    emitter.declare(&parts.facts.bound_by_test, &mut test);
    let origin = node.test.range();
    test.push(build::returned(*node.test, origin));
    out.push(build::function(&test_name, &[], test, parts.origin));
    let functions = vec![build::name(&test_name, parts.origin), build::name(&body_name, parts.origin)];
    out.push(call("_while", functions, parts));
}

pub(super) fn for_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    node: ast::StmtFor,
    out: &mut ast::Suite,
) {
    let (body_name, item) = (emitter.unit.names.numbered("body"), emitter.unit.names.fresh("item_"));
    let mut bound = parts.facts.bound[0].clone();
    bound.extend(parts.facts.bound_by_test.iter().cloned());
    bound.sort_unstable();
    bound.dedup();
    let mut body = ast::Suite::new();
    emitter.declare(&bound, &mut body);
    let target = node.target.range();
    body.push(build::assign_to(*node.target, build::name(&item, TextRange::empty(target.end())), target));
    body.extend(node.body);
    out.push(build::function(&body_name, &[&item], body, parts.origin));
    out.push(call("_for", vec![*node.iter, build::name(&body_name, parts.origin)], parts));
}

fn call(operator: &str, arguments: Vec<ast::Expr>, parts: &Parts<'_>) -> Stmt {
    let call = build::call(build::name(operator, parts.head), arguments, parts.head);
    build::expression(call, parts.head)
}

/// The last pass: what `_return` raises is caught, and the functions within are converted.
pub(super) fn functions(unit: &Unit, body: &mut ast::Suite) {
    super::functions::nested(unit, body);
    if !unit.runs(Pass::Functions) || !returns_somewhere(body) {
        return;
    }
    let origin = TextRange::empty(body.first().map_or_else(Default::default, Ranged::start));
    let rest: ast::Suite = body.drain(docstring(body)..).collect();
    let result = unit.names.fresh("result_");
    let value = build::attribute(build::name(&result, origin), "value", origin);
    let class = build::name("NonLocalReturnValue", origin);
    let handler = [build::returned(value, origin)].into_iter().collect();
    body.push(build::try_except(rest, Some(class), Some(&result), handler, origin));
}

fn returns_somewhere(body: &mut ast::Suite) -> bool {
    body.iter_mut().any(|statement| {
        let is_return = match &*statement {
            Stmt::Expr(node) => node.value.as_call_expr().is_some_and(|call| {
                tree::is_made(call) && call.func.as_name_expr().is_some_and(|name| name.id == "_return")
            }),
            _ => false,
        };
        let within = match statement {
            Stmt::FunctionDef(def) if tree::is_made(def) => returns_somewhere(&mut def.body),
            statement => blocks(statement).into_iter().any(returns_somewhere),
        };
        is_return || within
    })
}
