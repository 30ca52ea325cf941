//! NumPy arrays that a function creates and fills. They contain numbers, so an item cannot be a symbolic Tensor:
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
use ag_syntax::qname::QName;

/// The functions that create an array of numbers, unless the dtype `object` is passed.
const CREATORS: [&str; 6] =
    ["numpy.arange", "numpy.empty", "numpy.eye", "numpy.full", "numpy.ones", "numpy.zeros"];

/// A statement that stores a value in an item of a NumPy array.
pub(super) struct Stored<'a> {
    pub(super) array: &'a ast::ExprName,
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
        let array = target.as_subscript_expr()?.value.as_name_expr()?;
        is_created(ctx, array).then_some((statement, Stored { array, value }))
    })
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
    let creates = |call: &ast::ExprCall| {
        let is_object =
            |argument: &Expr| matches!(ctx.text(argument), "object" | "np.object_" | "\"object\"" | "\"O\"");
        let arguments = call.arguments.args.iter();
        ctx.resolve(&call.func).is_some_and(|name| CREATORS.contains(&name.as_str()))
            && !arguments.chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)).any(is_object)
    };
    !definitions.is_empty()
        && definitions.iter().all(|definition| {
            let value = definition.value.and_then(|range| ctx.expression_at(range));
            definition.kind == DefKind::Assign && value.and_then(Expr::as_call_expr).is_some_and(creates)
        })
}
