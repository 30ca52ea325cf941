//! Items of dictionaries and attributes of `self` that only one branch of a staged `if` creates. Part of
//! [`super::undefined_branch`].
//!
//! ```python
//! state = {"x": x}
//! if tf.reduce_max(x) < 0.1:
//!     state["done"] = 1.0           # an output of the `if`: the other branch needs a value, too
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::classes::may_be_class_variable;
use ag_flow::DefKind;
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_staging::construct::Construct;
use ag_syntax::qname::QName;
use ag_syntax::{blocks, expressions};

/// An item or attribute that exists only if the condition holds.
pub(super) struct Part<'a> {
    pub construct: &'a Construct,
    pub name: QName,
    /// The assignment.
    pub at: TextRange,
}

/// Returns the parts that only the first branch of a staged `if` creates.
pub(super) fn of<'a>(ctx: &FunctionContext<'a>) -> Vec<Part<'a>> {
    let mut found: Vec<Part> = Vec::new();
    for (construct, node, clause) in ctx.staged_ifs() {
        let (body, others) = match clause.checked_sub(1) {
            None => (&node.body, &node.elif_else_clauses[..]),
            Some(clause) => {
                let Some((first, others)) = node.elif_else_clauses.get(clause..).and_then(<[_]>::split_first)
                else {
                    continue;
                };
                (&first.body, others)
            }
        };
        let in_others: Vec<QName> =
            others.iter().flat_map(|clause| targets(&clause.body)).filter_map(QName::from_expr).collect();
        for target in targets(body) {
            let Some(name) = QName::from_expr(target).filter(|name| !in_others.contains(name)) else {
                continue;
            };
            let is_reported = found.iter().any(|part| part.name == name);
            if !is_reported && is_new(ctx, target, construct.range) {
                found.push(Part { construct, name, at: target.range() });
            }
        }
    }
    found
}

fn targets(body: &[Stmt]) -> Vec<&Expr> {
    let assigns = blocks::statements(body).into_iter().filter_map(Stmt::as_assign_stmt);
    assigns.flat_map(|assign| &assign.targets).collect()
}

/// Returns whether the item or attribute certainly does not exist before the `if`.
fn is_new(ctx: &FunctionContext, target: &Expr, range: TextRange) -> bool {
    match target {
        Expr::Subscript(item) => is_new_item(ctx, item, range),
        Expr::Attribute(attribute) => is_new_attribute(ctx, attribute, range),
        _ => false,
    }
}

/// Returns whether a local dictionary has no such item: it is a display without the key, and no other code uses the
/// dictionary but for reading its items and assigning to them.
fn is_new_item(ctx: &FunctionContext, item: &ast::ExprSubscript, range: TextRange) -> bool {
    let (Expr::Name(container), Expr::StringLiteral(key)) = (&*item.value, &*item.slice) else {
        return false;
    };
    let lacks_key = |value: &Expr| {
        value.as_dict_expr().is_some_and(|dict| {
            dict.items.iter().all(|item| match &item.key {
                Some(Expr::StringLiteral(own)) => own.value.to_str() != key.value.to_str(),
                _ => false,
            })
        })
    };
    let definitions = ctx.flow.definitions_of(container.range(), &QName::from(&container.id));
    let is_display = !definitions.is_empty()
        && definitions.iter().all(|definition| {
            definition.kind == DefKind::Assign && ctx.bound_value(definition).is_some_and(lacks_key)
        });
    if !is_display {
        return false;
    }
    let all = ctx.expressions();
    let items: Vec<&ast::ExprSubscript> = all
        .iter()
        .filter_map(|it| it.as_subscript_expr())
        .filter(|it| it.value.as_name_expr().is_some_and(|name| name.id == container.id))
        .collect();
    let creates_elsewhere = items.iter().any(|it| match &*it.slice {
        Expr::StringLiteral(other) => {
            it.ctx.is_store()
                && other.value.to_str() == key.value.to_str()
                && !range.contains_range(it.range())
        }
        _ => it.ctx.is_store(),
    });
    // `log(state)` before the `if` may add items.
    let escapes = all.iter().filter_map(|it| it.as_name_expr()).any(|name| {
        name.id == container.id
            && name.ctx.is_load()
            && name.start() < range.start()
            && !items.iter().any(|item| item.value.range() == name.range())
    });
    !creates_elsewhere && !escapes
}

/// Returns whether no other code of the file creates the attribute of `self`. The class must not have bases, which may
/// create it, other than `tf.Module`.
fn is_new_attribute(ctx: &FunctionContext, attribute: &ast::ExprAttribute, range: TextRange) -> bool {
    if !ctx.is_receiver(&attribute.value) {
        return false;
    }
    let Some(class) = ctx.class() else { return false };
    if !class.bases.iter().all(|base| matches!(&**base, "tf.Module" | "object")) {
        return false;
    }
    let name = attribute.attr.as_str();
    let is_it = |expression: &Expr| {
        expression.as_attribute_expr().is_some_and(|it| it.attr.as_str() == name && !it.ctx.is_load())
    };
    let index = file_index(ctx.db, ctx.document);
    !may_be_class_variable(ctx.db, ctx.document, attribute.attr.id.clone())
        && index.definitions.functions.iter().all(|function| {
            let id = FunctionId::new(ctx.db, ctx.document, function.path.clone());
            let Some(ast) = function_ast(ctx.db, id).as_ref() else { return false };
            let is_own = function.path == ctx.path;
            !ast.text.contains("setattr")
                && !expressions::of_function(ast.def()).into_iter().any(|expression| {
                    is_it(expression) && !(is_own && range.contains_range(expression.range()))
                })
        })
}
