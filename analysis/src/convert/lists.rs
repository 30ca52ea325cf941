//! Pass 6: lists become values that a graph can hold; with the feature `LISTS` alone.
//!
//! ```python
//! l = [1, x]          =>  l = ag__.new_list([1, x])
//! l.append(y)         =>  l = ag__.list_append(l, y)
//! z = l.pop()         =>  l, popped_ = ag__.list_pop(l, None, opts=ag__.ListPopOpts(…))
//!                         z = popped_
//! tf.stack(l)         =>  ag__.list_stack(l, opts=ag__.ListStackOpts(…, original_call=tf.stack))
//! ```

use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::tree::{self, blocks, is_made};
use super::unit::Unit;

pub(super) fn run(unit: &Unit, body: &mut ast::Suite) {
    if !unit.options.features.lists {
        return;
    }
    statements(unit, body);
    expressions::rewrite(body, &Displays { unit });
}

fn statements(unit: &Unit, body: &mut ast::Suite) {
    tree::rewrite(body, |mut statement, out| {
        for inner in blocks(&mut statement) {
            statements(unit, inner);
        }
        let origin = statement.range();
        match &mut statement {
            Stmt::Expr(node) => {
                if let Some((list, element)) = append(&node.value) {
                    let target = with_context(list.clone(), ExprContext::Store);
                    let call = build::operator("list_append", vec![list, element], origin);
                    return out.push(build::assign_to(target, call, origin));
                }
                pops(unit, &mut node.value, origin, out);
            }
            Stmt::Assign(node) => pops(unit, &mut node.value, origin, out),
            Stmt::AugAssign(node) => pops(unit, &mut node.value, origin, out),
            Stmt::Return(node) => node.value.iter_mut().for_each(|value| pops(unit, value, origin, out)),
            _ => {}
        }
        out.push(statement);
    });
}

/// The list and the element of `list.append(element)`.
fn append(expression: &Expr) -> Option<(Expr, Expr)> {
    let Expr::Call(call) = expression else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    match (method.attr.as_str(), &*call.arguments.args, call.arguments.keywords.len()) {
        ("append", [element], 0) if is_place(&method.value) => {
            Some(((*method.value).clone(), element.clone()))
        }
        _ => None,
    }
}

/// Puts `list, popped_ = ag__.list_pop(list, …)` before the statement for a value that is a pop.
fn pops(unit: &Unit, value: &mut Expr, origin: TextRange, out: &mut ast::Suite) {
    let Expr::Call(call) = value else { return };
    let Expr::Attribute(method) = &*call.func else { return };
    if method.attr.as_str() != "pop" || !is_place(&method.value) || call.arguments.len() > 1 {
        return;
    }
    let list = (*method.value).clone();
    let (dtype, shape) = element_type(unit, &list, origin);
    let options = build::call_with(
        build::operator_name("ListPopOpts", origin),
        Vec::new(),
        vec![build::keyword("element_dtype", dtype), build::keyword("element_shape", shape)],
        origin,
    );
    let position = call.arguments.args.first().cloned().unwrap_or_else(|| build::none(origin));
    let popped = unit.names.fresh("popped_");
    let pop = build::call_with(
        build::operator_name("list_pop", origin),
        vec![list.clone(), position],
        vec![build::keyword("opts", options)],
        origin,
    );
    let mut target =
        build::tuple(vec![with_context(list, ExprContext::Store), store(&popped, origin)], origin);
    if let Expr::Tuple(tuple) = &mut target {
        tuple.parenthesized = false;
        tuple.ctx = ExprContext::Store;
    }
    out.push(build::assign_to(target, pop, origin));
    let range = value.range();
    *value = build::name(&popped, range);
}

fn store(name: &str, origin: TextRange) -> Expr {
    with_context(build::name(name, origin), ExprContext::Store)
}

fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Name(_) => true,
        Expr::Attribute(node) => is_place(&node.value),
        _ => false,
    }
}

fn with_context(mut place: Expr, context: ExprContext) -> Expr {
    match &mut place {
        Expr::Name(node) => node.ctx = context,
        Expr::Attribute(node) => node.ctx = context,
        _ => {}
    }
    place
}

fn element_type(unit: &Unit, list: &Expr, origin: TextRange) -> (Expr, Expr) {
    let types = unit.element_types.borrow();
    let of = list.as_name_expr().and_then(|name| types.get(&name.id));
    let (dtype, shape) = of.cloned().unwrap_or_default();
    (dtype.unwrap_or_else(|| build::none(origin)), shape.unwrap_or_else(|| build::none(origin)))
}

struct Displays<'a> {
    unit: &'a Unit<'a>,
}

impl Rewrite for Displays<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.parts(expression);
        let origin = expression.range();
        match expression {
            Expr::List(node) if node.ctx == ExprContext::Load && !is_made(node) => {
                let list = std::mem::replace(expression, build::none(origin));
                *expression = build::operator("new_list", vec![list], origin);
            }
            Expr::Call(call) if !is_made(call) && is_stack(call) => {
                let list = call.arguments.args.first().cloned().unwrap_or_else(|| build::none(origin));
                let (dtype, _) = element_type(self.unit, &list, origin);
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
