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
//! `_return` raises an exception. So a loop with a `return` could not be staged, and a `with` or `try` around a
//! `return` could catch the exception. In a function with such a `return`, all `return`s are first lowered to a flag.
//! Variables remain Python variables. The blocks that bind them declare them `nonlocal`.
//!
//! Snek has no `break`, and no conditional and logical expressions. For these, the operators of the other sets are
//! used, under names in Snek's style: `_for(iterable, body, test)`, `_if_exp`, `_and`, `_or` and `_not`. `_ld` and
//! `_ldu` read variables that may be unbound.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build::{self, OPERATORS};
use super::control_flow::{Emitter, StatementInfo, not_stopped, orelse};
use super::expressions::{self, Rewrite, Walk};
use super::lowering::LoweringContext;
use super::options::Pass;
use super::returns;
use super::tree::{self, blocks, docstring};

/// Pass 4: `return` becomes `_return`. In an `async def`, the `return`s and the statements around them are kept.
pub(super) fn returns(ctx: &LoweringContext, body: &mut ast::Suite) {
    if ctx.is_async {
        return;
    }
    if has_nested_return(body, false) {
        returns::run(ctx, body);
    }
    replace_returns(body);
}

/// Returns whether a `return` is inside a loop, `with` or `try`.
fn has_nested_return(body: &mut ast::Suite, nested: bool) -> bool {
    body.iter_mut().any(|statement| {
        let nested =
            nested || matches!(statement, Stmt::With(_) | Stmt::Try(_) | Stmt::While(_) | Stmt::For(_));
        matches!(statement, Stmt::Return(_)) && nested
            || blocks(statement).into_iter().any(|inner| has_nested_return(inner, nested))
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
    stop_flags: &[Name],
    out: &mut ast::Suite,
) {
    let names = emitter.ctx.names;
    let (name, item) = (names.numbered("body"), names.fresh("item_"));
    let body = emitter.loop_function(name, &item, (*node.target, node.body), info, out);
    let mut arguments = vec![*node.iter, body];
    if let Some(test) = not_stopped(stop_flags, info.origin.start()) {
        let test = [build::returned(test, info.origin)];
        arguments.push(emitter.function(names.numbered("cond"), &[], &[], test, info, out));
    }
    out.push(call("_for", arguments, info));
}

fn call(operator: &str, arguments: Vec<Expr>, info: &StatementInfo<'_>) -> Stmt {
    let call = build::call(build::name(operator, info.head), arguments, info.head);
    build::expression(call, info.head)
}

/// Runs as the last pass: renames the operators as in Snek, catches the exception of `_return`, and converts the nested
/// functions.
pub(super) fn functions(ctx: &LoweringContext, parameters: &ast::Parameters, body: &mut ast::Suite) {
    expressions::rewrite(body, &PlainNames);
    if let Some(first) = parameters.iter_non_variadic_params().next() {
        name_class_of_super(&first.parameter.name.id, body);
    }
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

/// Renames operators: `ag__.and_` becomes `_and`.
struct PlainNames;

impl Rewrite for PlainNames {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        if let Expr::Attribute(node) = expression
            && tree::is_synthesized(node)
            && node.value.as_name_expr().is_some_and(|name| name.id == OPERATORS)
        {
            *expression = build::name(&format!("_{}", node.attr.trim_end_matches('_')), node.range);
        }
    }
}

/// In the functions of blocks, rewrites `super()` as `super(__class__, self)`.
fn name_class_of_super(first: &Name, body: &mut ast::Suite) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) if tree::is_synthesized(def) => {
                expressions::rewrite(&mut def.body, &ExplicitSuper { first });
            }
            statement => blocks(statement).into_iter().for_each(|inner| name_class_of_super(first, inner)),
        }
    }
}

struct ExplicitSuper<'a> {
    first: &'a Name,
}

impl Rewrite for ExplicitSuper<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        if let Expr::Call(node) = expression
            && node.arguments.is_empty()
            && node.func.as_name_expr().is_some_and(|name| name.id == "super")
        {
            let origin = node.range();
            let arguments = vec![build::name("__class__", origin), build::name(self.first, origin)];
            *expression = build::call(build::name("super", node.func.range()), arguments, origin);
        }
    }
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
