//! Decisions of Python on tracers: `if`, conditional expressions, `and`, `or`, `not`, `assert`, `match`, `bool()`.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::comparisons;
use super::super::declare::declare_rule;
use super::super::tracing::{self, Certainty, Decision};
use super::{bool_severity, decision_severity, matched, snippet};
use ag_db::diagnostic::{Applicability, Edit};
use ag_staging::construct::{ConstructKind, ConstructNode};

declare_rule! {
    /// ## What it does
    /// Reports Python decisions on a traced array: `if`, conditional expressions, `and`, `or`, `not`, `assert`, `match`,
    /// conditions of comprehensions, and builtins that need a truth value: `bool`, `any`, `all`, `max` and
    /// `min` of several values, `max`, `min` and `sorted` with a traced key, `in`, `index` and `count` on a list or tuple.
    ///
    /// ## Why is this bad?
    /// `jax.jit` runs the function once with tracers, which have a shape and a dtype but no value. Python
    /// cannot select a branch, so tracing raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def relu(x):
    ///     return x if x.sum() > 0 else jnp.zeros_like(x)
    ///
    /// relu(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def relu(x):
    ///     return jnp.where(x.sum() > 0, x, jnp.zeros_like(x))
    ///
    /// relu(jnp.ones(3))
    /// ```
    /// `jax.lax.cond` evaluates one branch only. If a Python value selects the branch, list the argument in
    /// `static_argnames`.
    ///
    /// ## Fix safety
    /// Unsafe: `jnp.where` and `jnp.logical_and` evaluate all of their operands.
    ///
    /// ## What jax reports
    /// `TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].`
    pub(crate) static JAX_BRANCH = {
        code: "AG501", name: "jax-branch",
        summary: "a Python decision on a traced array",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for decision in tracing::decisions(ctx) {
        if decision.construct.kind != ConstructKind::While
            && !tracing::is_created_before_tracing(ctx, decision.test)
            && !compares_with_text(decision.test)
        {
            report(ctx, &decision);
        }
    }
    for (pattern, subject) in matched::compared(ctx) {
        let subject_text = snippet(ctx, subject);
        let message =
            format!("`case` compares `{subject_text}` in Python, but it is traced and has no value yet");
        ctx.report(&JAX_BRANCH, pattern, message)
            .severity(bool_severity(ctx, subject))
            .why(ctx.why(subject))
            .help("use `jax.lax.switch` or `jnp.where`")
            .emit();
    }
    for expression in ctx.expressions() {
        if let Some((function, values)) =
            expression.as_call_expr().and_then(|call| comparisons::compared_values(ctx, call))
        {
            let message = format!(
                "`{function}` compares the values of `{}` in Python, but they are traced and have no values yet",
                snippet(ctx, values)
            );
            ctx.report(&JAX_BRANCH, expression, message)
                .severity(bool_severity(ctx, values))
                .why(ctx.why(values))
                .help("stack the values, and use `jnp.argmax`, `jnp.argmin` or `jnp.argsort`")
                .emit();
        }
        if let Some((what, value)) = implicit_conversion(ctx, expression) {
            ctx.report(
                &JAX_BRANCH,
                expression,
                format!("{what} converts `{}` to a Python bool, but it is traced and has no value yet", snippet(ctx, value)),
            )
            .severity(bool_severity(ctx, value))
            .why(ctx.why(value))
            .help("use the corresponding function of `jax.numpy`, such as `jnp.maximum`, `jnp.any` or `jnp.isin`")
            .emit();
        }
    }
}

/// Returns whether a test only compares with strings: `for key in batch: if key == "mask": …`. An array is unequal to
/// every string, so the result is not a tracer.
fn compares_with_text(test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(operation) => {
            operation.op == ast::UnaryOp::Not && compares_with_text(&operation.operand)
        }
        Expr::BoolOp(operation) => operation.values.iter().all(compares_with_text),
        Expr::Compare(compare) => {
            let is_equality = matches!(&*compare.ops, [ast::CmpOp::Eq | ast::CmpOp::NotEq]);
            let mut sides = std::iter::once(&*compare.left).chain(&compare.comparators);
            is_equality
                && sides.any(|side| {
                    matches!(side, Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_))
                })
        }
        _ => false,
    }
}

fn report(ctx: &FunctionContext, decision: &Decision) {
    let kind = decision.construct.kind;
    let (is, severity) = decision_severity(ctx, decision);
    let (test, what) = (snippet(ctx, decision.test), tracing::noun_phrase(kind));
    let report = ctx
        .report(
            &JAX_BRANCH,
            decision.test,
            format!("`{test}` {is} traced; {what} cannot convert a tracer to a Python bool"),
        )
        .severity(severity)
        .why(decision.construct.why.clone());
    match fix(ctx, decision) {
        Some((message, edit)) => report.fix(Applicability::Unsafe, message, vec![edit]).emit(),
        None => report.help(help(kind)).emit(),
    }
}

fn help(kind: ConstructKind) -> &'static str {
    match kind {
        ConstructKind::And | ConstructKind::Or | ConstructKind::Not | ConstructKind::CompareChain => {
            "use `jnp.logical_and`, `jnp.logical_or` or `jnp.logical_not`"
        }
        ConstructKind::Assert => "use `jax.experimental.checkify.check`, or check before the jitted call",
        _ => {
            "use `jnp.where` or `jax.lax.cond`; if a Python value selects the branch, make it a static argument"
        }
    }
}

/// Returns the edit `a if t else b` -> `jnp.where(t, a, b)` or `a and b` -> `jnp.logical_and(a, b)`, with its
/// description.
fn fix(ctx: &FunctionContext, decision: &Decision) -> Option<(&'static str, Edit)> {
    let jnp = ctx.imports.local_name_of("jax.numpy")?;
    let range = decision.construct.range;
    match decision.node {
        ConstructNode::IfExp(node) if decision.certainty == Certainty::Always => {
            let numeric = |value: &Expr| tracing::is_tensor(ctx, value) || value.is_number_literal_expr();
            if !numeric(&node.body) || !numeric(&node.orelse) {
                return None;
            }
            let (test, body, orelse) = match &*node.test {
                // `a if not t else b` is `b if t else a`.
                Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) => {
                    (&**operand, &*node.orelse, &*node.body)
                }
                test => (test, &*node.body, &*node.orelse),
            };
            let chain = test.as_compare_expr().is_some_and(|compare| compare.ops.len() > 1);
            if chain || matches!(test, Expr::BoolOp(_) | Expr::UnaryOp(_)) {
                return None;
            }
            let [test, body, orelse] = [test, body, orelse].map(|part| ctx.text(part));
            Some(("Use `jnp.where`", Edit::replace(range, format!("{jnp}.where({test}, {body}, {orelse})"))))
        }
        ConstructNode::BoolOp(node) => {
            let [left, right] = node.values.as_slice() else { return None };
            if !tracing::is_mask(ctx, left) || !tracing::is_mask(ctx, right) {
                return None;
            }
            let (message, function) = match node.op {
                ast::BoolOp::And => ("Use `jnp.logical_and`", "logical_and"),
                ast::BoolOp::Or => ("Use `jnp.logical_or`", "logical_or"),
            };
            let (left, right) = (ctx.text(left), ctx.text(right));
            Some((message, Edit::replace(range, format!("{jnp}.{function}({left}, {right})"))))
        }
        ConstructNode::Not(node) => {
            let operand = ctx.text(&*node.operand);
            Some(("Use `jnp.logical_not`", Edit::replace(range, format!("{jnp}.logical_not({operand})"))))
        }
        _ => None,
    }
}

/// Returns how an expression implicitly converts a value to bool, and the converted value.
fn implicit_conversion<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let is_tensor = |value: &Expr| tracing::is_tensor(ctx, value);
    match expression {
        Expr::Call(call) if call.func.is_attribute_expr() => {
            if let Some((function, value)) = comparisons::pushed(ctx, call, &is_tensor) {
                return Some((format!("`{function}`"), value));
            }
            let (method, value) = comparisons::searched(ctx, call)?;
            tracing::is_tensor(ctx, value).then(|| (format!("`.{method}()`"), value))
        }
        Expr::Call(call) => {
            let name = ctx.builtin(&call.func)?;
            let arguments = &call.arguments.args;
            let value = match (name, &**arguments) {
                ("bool", [value]) if tracing::is_tensor(ctx, value) => value,
                ("any" | "all", [value]) if tracing::is_tensor(ctx, value) => value,
                ("any" | "all", [Expr::Generator(generator)]) => &*generator.elt,
                ("any" | "all", [Expr::ListComp(comprehension)]) => &*comprehension.elt,
                ("max" | "min", [first, second, ..]) if call.arguments.keywords.is_empty() => {
                    [first, second].into_iter().find(|value| tracing::is_tensor(ctx, value))?
                }
                ("max" | "min" | "sorted", [values]) if call.arguments.keywords.is_empty() => {
                    comparisons::elements(ctx, values).into_iter().find(|element| is_tensor(element))?
                }
                ("max" | "min" | "sorted", _) => comparisons::key(call)?,
                _ => return None,
            };
            tracing::is_tensor(ctx, value).then(|| (format!("`{name}`"), value))
        }
        Expr::Compare(compare) => {
            let (op, container) = (compare.ops.first()?, compare.comparators.first()?);
            let several = match container {
                Expr::List(list) => !list.elts.is_empty(),
                Expr::Tuple(tuple) => !tuple.elts.is_empty(),
                _ => comparisons::is_sequence(ctx.fact(container)),
            };
            let searches = matches!(op, ast::CmpOp::In | ast::CmpOp::NotIn) && several;
            (searches && tracing::is_tensor(ctx, &compare.left)).then(|| ("`in`".to_owned(), &*compare.left))
        }
        _ => None,
    }
    .filter(|(_, value)| !value.range().is_empty())
}
