//! Pass 6: list operations become operators on values of the graph. Runs only with the feature `LISTS`.
//!
//! ```python
//! l = [1, x]          =>  l = ag__.new_list([1, x])
//! l.append(y)         =>  l = ag__.list_append(l, y)
//! z = l.pop()         =>  l, popped_ = ag__.list_pop(l, None, opts=ag__.ListPopOpts(…))
//!                         z = popped_
//! tf.stack(l)         =>  ag__.list_stack(l, opts=ag__.ListStackOpts(…, original_call=tf.stack))
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::lowering::LoweringContext;
use super::tree::{self, blocks, is_synthesized};
use ag_flow::Variables;

pub(super) fn run(ctx: &LoweringContext, parameters: &ast::Parameters, body: &mut ast::Suite) {
    if !ctx.options.features.lists {
        return;
    }
    let own = own_variables(parameters, body);
    statements(ctx, &own, body);
    expressions::rewrite(body, &ListOperators { ctx });
}

/// Returns the variables of a function: its parameters and the names that it assigns.
pub(super) fn own_variables(parameters: &ast::Parameters, body: &ast::Suite) -> FxHashSet<Name> {
    let mut own = Variables::of_statements(body).assigned();
    own.extend(parameters.iter().map(|parameter| parameter.name().id.clone()));
    own
}

/// Converts operations on lists in `own`, the variables of this function. Lists in variables of other scopes are
/// modified in place, because an assignment would make the variable local.
fn statements(ctx: &LoweringContext, own: &FxHashSet<Name>, body: &mut ast::Suite) {
    tree::rewrite(body, |mut statement, out| {
        for inner in blocks(&mut statement) {
            statements(ctx, own, inner);
        }
        let origin = statement.range();
        match &mut statement {
            Stmt::Expr(node) => {
                if let Some((list, element)) = list_append(own, &node.value) {
                    let target = with_context(list.clone(), ExprContext::Store);
                    let call = build::operator("list_append", vec![list, element], origin);
                    return out.push(build::assign_to(target, call, origin));
                }
                hoist_pops(ctx, own, &mut node.value, origin, out);
            }
            Stmt::Assign(ast::StmtAssign { value, .. })
            | Stmt::AugAssign(ast::StmtAugAssign { value, .. })
            | Stmt::Return(ast::StmtReturn { value: Some(value), .. }) => {
                hoist_pops(ctx, own, value, origin, out);
            }
            _ => {}
        }
        out.push(statement);
    });
}

/// Returns `list` and `element` for `list.append(element)`.
fn list_append(own: &FxHashSet<Name>, expression: &Expr) -> Option<(Expr, Expr)> {
    let Expr::Call(call) = expression else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    match (method.attr.as_str(), &*call.arguments.args, call.arguments.keywords.len()) {
        ("append", [element], 0) if may_be_assignable_list(own, &method.value) => {
            Some(((*method.value).clone(), element.clone()))
        }
        _ => None,
    }
}

/// Moves the pops in an expression before the statement, in the order in which they are evaluated. Returns whether pops
/// in later expressions may be moved, too. They may not if this expression contains an operation or call, which must
/// run before them.
fn hoist_pops(
    ctx: &LoweringContext,
    own: &FxHashSet<Name>,
    value: &mut Expr,
    origin: TextRange,
    out: &mut ast::Suite,
) -> bool {
    let mut all =
        |values: &mut [&mut Expr]| values.iter_mut().all(|value| hoist_pops(ctx, own, value, origin, out));
    match value {
        Expr::Name(_) | Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) => true,
        Expr::Tuple(node) => all(&mut node.elts.iter_mut().collect::<Vec<_>>()),
        Expr::List(node) => all(&mut node.elts.iter_mut().collect::<Vec<_>>()),
        Expr::BinOp(node) => {
            all(&mut [&mut *node.left, &mut *node.right]);
            false
        }
        Expr::UnaryOp(node) => {
            all(&mut [&mut *node.operand]);
            false
        }
        Expr::Compare(node) => {
            let second = node.comparators.first_mut();
            all(&mut std::iter::once(&mut *node.left).chain(second).collect::<Vec<_>>());
            false
        }
        Expr::Subscript(node) => {
            all(&mut [&mut *node.value, &mut *node.slice]);
            false
        }
        Expr::Call(node) if !is_pop(own, node) => {
            if is_name_or_attribute(&node.func) {
                all(&mut node.arguments.args.iter_mut().collect::<Vec<_>>());
            }
            false
        }
        Expr::Call(_) => {
            hoist_pop(ctx, value, origin, out);
            true
        }
        _ => false,
    }
}

fn is_pop(own: &FxHashSet<Name>, call: &ast::ExprCall) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    method.attr.as_str() == "pop" && may_be_assignable_list(own, &method.value) && call.arguments.len() <= 1
}

/// Emits `list, popped_ = ag__.list_pop(list, …)` before the statement.
fn hoist_pop(ctx: &LoweringContext, value: &mut Expr, origin: TextRange, out: &mut ast::Suite) {
    let Expr::Call(call) = value else { return };
    let Expr::Attribute(method) = &*call.func else { return };
    let list = (*method.value).clone();
    let (dtype, shape) = element_type(ctx, &list, origin);
    let options = build::call_with(
        build::operator_name("ListPopOpts", origin),
        Vec::new(),
        vec![build::keyword("element_dtype", dtype), build::keyword("element_shape", shape)],
        origin,
    );
    let position = call.arguments.args.first().cloned().unwrap_or_else(|| build::none(origin));
    let popped = ctx.names.fresh("popped_");
    let pop = build::call_with(
        build::operator_name("list_pop", origin),
        vec![list.clone(), position],
        vec![build::keyword("opts", options)],
        origin,
    );
    let mut target =
        build::tuple(vec![with_context(list, ExprContext::Store), stored_name(&popped, origin)], origin);
    if let Expr::Tuple(tuple) = &mut target {
        tuple.parenthesized = false;
        tuple.ctx = ExprContext::Store;
    }
    out.push(build::assign_to(target, pop, origin));
    let range = value.range();
    *value = build::name(&popped, range);
}

fn stored_name(name: &str, origin: TextRange) -> Expr {
    with_context(build::name(name, origin), ExprContext::Store)
}

fn is_name_or_attribute(expression: &Expr) -> bool {
    match expression {
        Expr::Name(_) => true,
        Expr::Attribute(node) => is_name_or_attribute(&node.value),
        _ => false,
    }
}

/// Returns whether the expression may hold a list and this function can assign to it.
fn may_be_assignable_list(own: &FxHashSet<Name>, target: &Expr) -> bool {
    match target {
        Expr::Name(node) => own.contains(&node.id),
        _ => is_name_or_attribute(target),
    }
}

fn with_context(mut target: Expr, context: ExprContext) -> Expr {
    match &mut target {
        Expr::Name(node) => node.ctx = context,
        Expr::Attribute(node) => node.ctx = context,
        _ => {}
    }
    target
}

fn element_type(ctx: &LoweringContext, list: &Expr, origin: TextRange) -> (Expr, Expr) {
    let types = ctx.element_types.borrow();
    let of = list.as_name_expr().and_then(|name| types.get(&name.id));
    let (dtype, shape) = of.cloned().unwrap_or_default();
    (dtype.unwrap_or_else(|| build::none(origin)), shape.unwrap_or_else(|| build::none(origin)))
}

/// Rewrites list displays and calls of `stack`.
struct ListOperators<'a> {
    ctx: &'a LoweringContext<'a>,
}

impl Rewrite for ListOperators<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        let origin = expression.range();
        match expression {
            Expr::List(node) if node.ctx == ExprContext::Load && !is_synthesized(node) => {
                let list = std::mem::replace(expression, build::none(origin));
                *expression = build::operator("new_list", vec![list], origin);
            }
            Expr::Call(call) if !is_synthesized(call) && is_stack(call) => {
                let list = call.arguments.args.first().cloned().unwrap_or_else(|| build::none(origin));
                let (dtype, _) = element_type(self.ctx, &list, origin);
                let options = build::call_with(
                    build::operator_name("ListStackOpts", origin),
                    Vec::new(),
                    vec![
                        build::keyword("element_dtype", dtype),
                        build::keyword("original_call", (*call.func).clone()),
                    ],
                    origin,
                );
                *expression = build::call_with(
                    build::operator_name("list_stack", origin),
                    vec![list],
                    vec![build::keyword("opts", options)],
                    origin,
                );
            }
            _ => {}
        }
    }
}

fn is_stack(call: &ast::ExprCall) -> bool {
    matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "stack")
        && matches!(&*call.arguments.args, [argument] if !argument.is_starred_expr())
        && call.arguments.keywords.is_empty()
}
