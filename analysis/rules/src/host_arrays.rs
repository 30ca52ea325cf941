//! NumPy arrays that a function or the constructor of its object creates. They contain numbers, so an item cannot be a
//! symbolic Tensor:
//!
//! ```python
//! out = np.zeros(3)
//! out[0] = x
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_syntax::qname::QName;
use ag_syntax::statements;

/// The functions that create an array of numbers, unless the dtype `object` is passed.
const CREATORS: [&str; 6] =
    ["numpy.arange", "numpy.empty", "numpy.eye", "numpy.full", "numpy.ones", "numpy.zeros"];

/// A statement that stores a value in an item of a NumPy array.
pub(super) struct Stored<'a> {
    pub(super) array: &'a Expr,
    pub(super) value: &'a Expr,
}

/// Returns the statements `out[i] = value` and `out[i] += value` where every definition of `out` creates an array of
/// numbers.
pub(super) fn stored<'a>(ctx: &FunctionContext<'a>) -> impl Iterator<Item = (&'a Stmt, Stored<'a>)> {
    ctx.statements().into_iter().filter_map(|statement| {
        let (target, value) = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [target] => (target, &*assign.value),
                _ => return None,
            },
            Stmt::AugAssign(assign) => (&*assign.target, &*assign.value),
            _ => return None,
        };
        let array = &*target.as_subscript_expr()?.value;
        let creates = match array {
            Expr::Name(name) => is_created(ctx, name),
            Expr::Attribute(attribute) => is_array(ctx, array) && is_created_by_constructor(ctx, attribute),
            _ => false,
        };
        creates.then_some((statement, Stored { array, value }))
    })
}

/// Returns whether `__init__` assigns an array of numbers to an attribute of `self`, and no other method of the class
/// assigns the attribute.
fn is_created_by_constructor(ctx: &FunctionContext, attribute: &ast::ExprAttribute) -> bool {
    let index = file_index(ctx.db, ctx.document);
    let Some(class) = ctx.class().filter(|_| ctx.is_receiver(&attribute.value)) else { return false };
    let mut is_created = false;
    for method in &class.methods {
        let path = index.definitions.functions[*method].path.clone();
        let is_constructor = path.name() == "__init__";
        let Some(ast) = function_ast(ctx.db, FunctionId::new(ctx.db, ctx.document, path)).as_ref() else {
            return false;
        };
        for statement in statements::of_function(ast.def()) {
            let (targets, value) = match statement {
                Stmt::Assign(assign) => (assign.targets.as_slice(), Some(&*assign.value)),
                Stmt::AnnAssign(assign) => (std::slice::from_ref(&*assign.target), assign.value.as_deref()),
                _ => continue,
            };
            let is_it = |target: &Expr| {
                target.as_attribute_expr().is_some_and(|target| target.attr.id == attribute.attr.id)
            };
            if targets.iter().any(is_it) {
                let creates = value.and_then(Expr::as_call_expr).is_some_and(|call| creates(ctx, call));
                if !is_constructor || !creates {
                    return false;
                }
                is_created = true;
            }
        }
    }
    is_created
}

/// Returns whether a value is certainly a NumPy array.
pub(super) fn is_array(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    let is_array = |alternative: &Alternative| {
        matches!(alternative, Alternative::Instance { module: Some(module), class }
            if module.starts_with("numpy") && class == "ndarray")
    };
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_array)
}

fn is_created(ctx: &FunctionContext, array: &ast::ExprName) -> bool {
    let definitions = ctx.flow.definitions_of(array.range(), &QName::from(&array.id));
    !definitions.is_empty()
        && definitions.iter().all(|definition| {
            let value = definition.value.and_then(|range| ctx.expression_at(range));
            definition.kind == DefKind::Assign
                && value.and_then(Expr::as_call_expr).is_some_and(|call| creates(ctx, call))
        })
}

/// Returns whether a call creates an array of numbers. The function may belong to another one of the file.
fn creates(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let is_object = |argument: &Expr| match argument {
        Expr::Name(name) => name.id == "object",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "object_",
        Expr::StringLiteral(text) => matches!(text.value.to_str(), "object" | "O"),
        _ => false,
    };
    let arguments = call.arguments.args.iter();
    ctx.resolve(&call.func).is_some_and(|name| CREATORS.contains(&name.as_str()))
        && !arguments.chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)).any(is_object)
}
