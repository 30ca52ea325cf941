//! Orderings of Tensors in Python: `sorted`, `list.sort`, `min` and `max`.
//!
//! ```python
//! losses = [(loss(view), name) for name, view in views.items()]
//! best = min(losses)                     # compares the Tensors
//! losses.sort(key=lambda pair: pair[0])
//! ```

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::tracing::is_tensor;
use super::super::{FunctionContext, comparisons};
use ag_index::facts::{Alternative, TensorKind};
use ag_index::index::FunctionId;

/// Returns whether a call sorts Tensors: `sorted([x[0], x[1]])`, `sorted(rows, key=lambda row: row.sum())`.
pub(super) fn sorts_tensors(ctx: &FunctionContext, call: &ast::ExprCall, values: &Expr) -> bool {
    if let Some(keyword) = call.arguments.find_keyword("key") {
        return match &keyword.value {
            Expr::Lambda(lambda) => is_tensor(ctx, &lambda.body),
            // `torch.norm`
            key if ctx.resolve(key).is_some_and(|name| name.starts_with("torch.")) => true,
            // A function of the project: Python calls it.
            _ => {
                let site = ctx.types.calls.iter().find(|site| site.location.range == call.range());
                let Some([target]) = site.map(|site| site.targets.as_slice()) else { return false };
                let function = FunctionId::new(ctx.db, target.document, target.path.clone());
                FunctionContext::of(ctx.db, function).is_some_and(|key| returns_tensors(&key))
            }
        };
    }
    is_tensor(ctx, values)
        || compares(ctx, values, &|element| is_tensor(ctx, element) || is_tuple_with_tensor(ctx, element))
}

/// Returns whether a call of the method `sort` of a list sorts Tensors.
pub(super) fn sorts_list_of_tensors(ctx: &FunctionContext, call: &ast::ExprCall, list: &Expr) -> bool {
    let is_list = matches!(
        ctx.fact(list).alternatives.as_slice(),
        [Alternative::Container { class, .. }] if class == "list"
    );
    is_list && sorts_tensors(ctx, call, list)
}

/// Returns whether the elements of a value are tuples with Tensors: `[(loss(x), i) for i, x in enumerate(xs)]`. Python
/// compares the Tensors of such tuples.
pub(super) fn has_tuples_of_tensors(ctx: &FunctionContext, values: &Expr) -> bool {
    compares(ctx, values, &|element| is_tuple_with_tensor(ctx, element))
}

fn is_tuple_with_tensor(ctx: &FunctionContext, element: &Expr) -> bool {
    element.as_tuple_expr().is_some_and(|tuple| tuple.elts.first().is_some_and(|first| is_tensor(ctx, first)))
}

/// Returns whether the elements of a sequence are known, and `test` holds for all of them.
fn compares(ctx: &FunctionContext, values: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    let elements = comparisons::elements(ctx, values);
    !elements.is_empty() && elements.into_iter().all(test)
}

/// Returns the builtin that compares Tensors in Python, and its first argument: `sorted(rows, key=lambda row:
/// row.sum())`, `min((row.sum(), i) for i, row in enumerate(x))`, `rows.sort(key=lambda row: row.sum())`.
pub(super) fn comparing<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<(&'static str, &'a Expr)> {
    let call = expression.as_call_expr()?;
    if let Expr::Attribute(method) = &*call.func
        && method.attr.as_str() == "sort"
        && call.arguments.args.is_empty()
        && sorts_list_of_tensors(ctx, call, &method.value)
    {
        return Some(("sort", &method.value));
    }
    let value = call.arguments.args.first()?;
    let has_key = call.arguments.find_keyword("key").is_some();
    let name = match ctx.builtin(&call.func)? {
        "max" if !has_key && has_tuples_of_tensors(ctx, value) => return Some(("max", value)),
        "min" if !has_key && has_tuples_of_tensors(ctx, value) => return Some(("min", value)),
        "sorted" => "sorted",
        "max" if has_key => "max",
        "min" if has_key => "min",
        _ => return None,
    };
    sorts_tensors(ctx, call, value).then_some((name, value))
}

/// Returns whether a call sorts by a lambda whose result is a Tensor as far as its type is known. The part that is not
/// known may come from a loop that sorts the results of the previous iteration.
pub(super) fn may_sort_tensors(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let lambda = call.arguments.find_keyword("key").and_then(|keyword| keyword.value.as_lambda_expr());
    lambda.is_some_and(|lambda| {
        let alternatives = &ctx.fact(&lambda.body).alternatives;
        matches!(alternatives.as_slice(), [Alternative::Tensor { kind: TensorKind::Tensor, .. }])
    })
}

/// Returns whether all results of a function are Tensors.
fn returns_tensors(function: &FunctionContext) -> bool {
    let mut returned = function.statements().into_iter().filter_map(|it| it.as_return_stmt()).peekable();
    returned.peek().is_some()
        && returned.all(|it| it.value.as_deref().is_some_and(|value| is_tensor(function, value)))
}
