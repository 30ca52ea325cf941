//! Python numbers that are read from Tensors in other functions, and arrive as arguments or results.
//!
//! ```python
//! @property
//! def level(self):
//!     return self.peak.item()
//!
//! def clip(tensors, norm):
//!     if norm > 1.0: …                   # `norm` is `total(tensors).item()` of the caller
//! ```

use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::path_certainty::{self, Passed};
use super::super::tracing::is_tensor;
use ag_index::facts::Alternative;
use ag_index::index::FunctionId;
use ag_staging::host_numbers::HostNumbers;

/// The maximum number of calls and returns that are followed.
const MAX_CALLS: usize = 3;

/// Returns the conversion of a Tensor on which the value of `expression` depends: `x.item()`, or the parameter, call or
/// property that has such a value.
pub(super) fn number<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<&'a Expr> {
    within(ctx, expression, MAX_CALLS)
}

fn within<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr, calls: usize) -> Option<&'a Expr> {
    let fact = |expression: &Expr| Some(ctx.fact(expression));
    let outside = |expression: &'a Expr| {
        let Some(calls) = calls.checked_sub(1) else { return false };
        match expression {
            Expr::Name(name) => match path_certainty::passed(ctx, &name.id) {
                Some((caller, Passed::Argument(value))) => within(&caller, value, calls).is_some(),
                _ => false,
            },
            Expr::Call(call) => {
                ctx.callee_context(call).is_some_and(|(callee, _)| is_returned(&callee, calls))
            }
            Expr::Attribute(_) => getter(ctx, expression).is_some_and(|getter| is_returned(&getter, calls)),
            _ => false,
        }
    };
    HostNumbers { def: ctx.def(), flow: ctx.flow, fact: &fact, outside: &outside }.find(expression)
}

/// Returns the operations that need the value of such a number: the operation, its name in messages, and the number
/// (verified with torch 2.11).
///
/// ```python
/// table[x.argmax().item()]
/// [x] * n
/// range(n)
/// weights[0, n]
/// "%d rows" % n
/// ```
pub(super) fn uses<'a>(ctx: &FunctionContext<'a>) -> Vec<(&'a Expr, &'static str, &'a Expr)> {
    let find = |expression: &'a Expr| match expression {
        Expr::Call(call) => {
            let what = match &*call.func {
                Expr::Attribute(method)
                    if matches!(method.attr.as_str(), "get" | "index")
                        && is_container(ctx, &method.value) =>
                {
                    "a lookup"
                }
                callee => match ctx.builtin(callee) {
                    Some("range") => "a `range`",
                    Some("str") => "`str()`",
                    Some("divmod") => "`divmod()`",
                    Some(_) => return None,
                    None => match ctx.resolve(callee)?.strip_prefix("math.")? {
                        "exp" | "fabs" | "isfinite" | "isnan" | "log" | "pow" => "a function of `math`",
                        _ => return None,
                    },
                },
            };
            Some((what, call.arguments.args.iter().find_map(|value| number(ctx, value))?))
        }
        Expr::Subscript(item) if is_container(ctx, &item.value) || is_module_list(ctx, &item.value) => {
            let index = match &*item.slice {
                Expr::Slice(slice) => {
                    let bounds = [&slice.lower, &slice.upper].into_iter().flatten();
                    bounds.into_iter().find_map(|bound| number(ctx, bound))?
                }
                index => number(ctx, index)?,
            };
            Some(("a lookup", index))
        }
        Expr::BinOp(operation)
            if operation.op == Operator::Mod
                && operation.left.is_string_literal_expr()
                && !is_message(ctx, expression) =>
        {
            let values = match &*operation.right {
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                value => std::slice::from_ref(value),
            };
            Some(("`%`", values.iter().find_map(|value| number(ctx, value))?))
        }
        // `x[0, n]`
        Expr::Subscript(item) if is_tensor(ctx, &item.value) => {
            let indices = item.slice.as_tuple_expr()?.elts.iter().filter(|index| !index.is_slice_expr());
            Some((
                "an index in several dimensions",
                indices.into_iter().find_map(|index| number(ctx, index))?,
            ))
        }
        Expr::BinOp(operation) if operation.op == Operator::Mult => {
            let sides = [(&*operation.left, &*operation.right), (&*operation.right, &*operation.left)];
            let (_, count) = sides.into_iter().find(|(sequence, _)| is_container(ctx, sequence))?;
            Some(("a repetition", number(ctx, count)?))
        }
        _ => None,
    };
    let found = ctx.expressions().into_iter().filter_map(|expression| Some((expression, find(expression)?)));
    found.map(|(expression, (what, number))| (expression, what, number)).collect()
}

/// Returns whether an expression is in a `raise` or an `assert`, which may not evaluate it.
fn is_message(ctx: &FunctionContext, expression: &Expr) -> bool {
    ctx.statements().into_iter().any(|statement| {
        matches!(statement, Stmt::Raise(_) | Stmt::Assert(_))
            && statement.range().contains_range(expression.range())
    })
}

fn is_container(ctx: &FunctionContext, value: &Expr) -> bool {
    matches!(
        ctx.fact(value).alternatives.as_slice(),
        [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "tuple" | "dict")
    )
}

fn is_module_list(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    !fact.unknown
        && matches!(
            fact.alternatives.as_slice(),
            [Alternative::Instance { module: Some(module), class }]
                if module.starts_with("torch.nn") && class == "ModuleList"
        )
}

/// Returns whether all results of a function are such numbers. A function that also returns other values may do so in
/// every call.
fn is_returned(callee: &FunctionContext, calls: usize) -> bool {
    let mut returned = callee.statements().into_iter().filter_map(|it| it.as_return_stmt()).peekable();
    returned.peek().is_some()
        && returned.all(|it| it.value.as_deref().is_some_and(|value| within(callee, value, calls).is_some()))
}

/// Returns the getter that reading an attribute runs, if it is a property of a class of the project.
fn getter<'a>(ctx: &FunctionContext<'a>, attribute: &Expr) -> Option<FunctionContext<'a>> {
    let mut sites = ctx.types.calls.iter();
    let site = sites.find(|site| site.location.range == attribute.range() && site.implicit)?;
    let [target] = site.targets.as_slice() else { return None };
    FunctionContext::of(ctx.db, FunctionId::new(ctx.db, target.document, target.path.clone()))
}
