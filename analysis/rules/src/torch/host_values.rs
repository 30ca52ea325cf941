//! Python numbers that are read from Tensors in other functions, and arrive as arguments or results. So do random
//! numbers of NumPy: they are computed in the graph.
//!
//! ```python
//! @property
//! def level(self):
//!     return self.peak.item()
//!
//! def clip(tensors, norm):
//!     if norm > 1.0: …                   # `norm` is `total(tensors).item()` of the caller
//! ```

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::path_certainty::{self, Passed};
use super::super::tracing::is_tensor;
use ag_index::facts::Alternative;
use ag_index::index::FunctionId;
use ag_staging::host_numbers::HostNumbers;
use ag_syntax::expressions::formatted_values;

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
            // In the function itself, the call of `np.random` is already reported.
            Expr::Call(call) if calls + 1 < MAX_CALLS && is_random_number(ctx, call) => true,
            Expr::Call(call) => {
                let callee = ctx.callee_context(call).map(|(callee, _)| callee);
                let callee = callee.or_else(|| implicit_callee(ctx, expression));
                callee.is_some_and(|callee| is_returned(&callee, calls))
            }
            Expr::Attribute(_) => {
                implicit_callee(ctx, expression).is_some_and(|getter| is_returned(&getter, calls))
            }
            _ => false,
        }
    };
    HostNumbers { def: ctx.def(), flow: ctx.flow, fact: &fact, outside: &outside }.find(expression)
}

/// Functions of `numpy.random` that return one number if no size is given, and the position of the size.
const RANDOM_NUMBERS: [(&str, usize); 8] = [
    ("choice", 1),
    ("normal", 2),
    ("rand", 0),
    ("randint", 2),
    ("randn", 0),
    ("random", 0),
    ("random_sample", 0),
    ("uniform", 2),
];

/// Returns whether a call draws one random number with NumPy: `np.random.rand()`, `np.random.normal(0, 1)`. The
/// compiler computes it in the graph, so Python code cannot use it (verified with torch 2.11).
pub(super) fn is_random_number(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let Some(name) = ctx.resolve(&call.func) else { return false };
    let Some(function) = name.strip_prefix("numpy.random.") else { return false };
    let size = RANDOM_NUMBERS.iter().find(|(known, _)| *known == function).map(|(_, size)| *size);
    size.is_some_and(|size| {
        let has_star = call.arguments.args.iter().any(Expr::is_starred_expr);
        !has_star && call.arguments.find_argument_value("size", size).is_none_or(Expr::is_none_literal_expr)
    })
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
            if let Some(values) = formatted_values(operation)
                && !is_message(ctx, expression) =>
        {
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
pub(super) fn is_message(ctx: &FunctionContext, expression: &Expr) -> bool {
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

/// Returns the method that an expression runs implicitly, if it belongs to a class of the project: the getter of a
/// property, `__len__` in `len(batch)`.
fn implicit_callee<'a>(ctx: &FunctionContext<'a>, expression: &Expr) -> Option<FunctionContext<'a>> {
    let mut sites = ctx.types.calls.iter();
    let site = sites.find(|site| site.location.range == expression.range() && site.implicit)?;
    let [target] = site.targets.as_slice() else { return None };
    FunctionContext::of(ctx.db, FunctionId::new(ctx.db, target.document, target.path.clone()))
}
