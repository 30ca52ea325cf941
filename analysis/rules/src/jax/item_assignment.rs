//! Assignment to an item of an array.

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::declare::declare_rule;
use super::super::tracing::{self, Origin, is_mask, is_tensor};
use super::super::{FunctionContext, parts};
use super::snippet;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_flow::DefKind;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports `x[i] = value` and `x[i] += value` on a JAX array.
    ///
    /// ## Why is this bad?
    /// JAX arrays are immutable, traced or not. The assignment raises.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def clear(x):
    ///     x[0] = 0.0
    ///     return x
    ///
    /// clear(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def clear(x):
    ///     x = x.at[0].set(0.0)
    ///     return x
    ///
    /// clear(jnp.ones(3))
    /// ```
    ///
    /// ## Fix safety
    /// Safe for a plain name that certainly holds an array: the assignment always raised, and other names for the
    /// array keep its old value.
    ///
    /// ## What jax reports
    /// `TypeError: JAX arrays are immutable and do not support in-place item assignment. Instead of
    /// x[idx] = y, use x = x.at[idx].set(y) or another .at[] method`
    pub(crate) static JAX_SETITEM = {
        code: "AG505", name: "jax-setitem",
        summary: "an assignment to an item of a JAX array",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for statement in ctx.statements() {
        match statement {
            Stmt::Assign(assign) => {
                let only = assign.targets.len() == 1;
                for target in &assign.targets {
                    report(ctx, statement, target, only.then_some(("set", &*assign.value)));
                }
            }
            Stmt::AugAssign(assign) => {
                let method = match assign.op {
                    Operator::Add => Some("add"),
                    Operator::Mult => Some("multiply"),
                    Operator::Div => Some("divide"),
                    Operator::Pow => Some("power"),
                    _ => None,
                };
                report(ctx, statement, &assign.target, method.map(|method| (method, &*assign.value)));
            }
            _ => {}
        }
    }
}

fn report(ctx: &FunctionContext, statement: &Stmt, target: &Expr, update: Option<(&str, &Expr)>) {
    let subscript = match target {
        Expr::Subscript(subscript) => subscript,
        Expr::Tuple(tuple) => {
            return tuple.elts.iter().for_each(|target| report(ctx, statement, target, None));
        }
        Expr::List(list) => return list.elts.iter().for_each(|target| report(ctx, statement, target, None)),
        _ => return,
    };
    // `state["speed"] = v` shows that `state` is a dict. `count[...] += 1` is how a `Ref` is updated.
    let other = match &*subscript.slice {
        Expr::StringLiteral(_) => true,
        Expr::EllipsisLiteral(_) => tracing::origin(ctx, &subscript.value) == Origin::Assumed,
        Expr::Name(index) => is_key(ctx, index),
        _ => false,
    };
    if other || !is_tensor(ctx, &subscript.value) || may_be_ref(ctx, &subscript.value) {
        return;
    }
    let severity = severity(ctx, &subscript.value);
    let report = ctx
        .report(
            &JAX_SETITEM,
            target,
            format!(
                "`{}` is a JAX array, which does not support item assignment",
                snippet(ctx, &subscript.value)
            ),
        )
        .severity(severity)
        .why(ctx.why(&subscript.value));
    if is_mask(ctx, &subscript.slice) {
        return report.help("use `jnp.where(mask, value, x)`").emit();
    }
    match update {
        Some((method, value)) if is_assignable(&subscript.value) => {
            let is_certain =
                severity == Severity::Error && tracing::origin(ctx, &subscript.value) == Origin::Computed;
            let applicability = match &*subscript.value {
                Expr::Name(_) if is_certain => Applicability::Safe,
                _ => Applicability::Unsafe,
            };
            let text = rewritten(ctx, subscript, method, value);
            let edit = Edit::replace(statement.range(), text);
            report.fix(applicability, format!("Use `.at[…].{method}(…)`"), vec![edit]).emit();
        }
        _ => report.help("use `x = x.at[i].set(value)`").emit(),
    }
}

/// Returns whether an index is a key of a dictionary: `for name, f in self.fns.items(): state[name] = f(state)`.
fn is_key(ctx: &FunctionContext, index: &ast::ExprName) -> bool {
    let definitions = ctx.flow.definitions_of(index.range(), &QName::from(&index.id));
    !definitions.is_empty()
        && definitions.iter().all(|definition| {
            let iterable = definition.value.filter(|_| definition.kind == DefKind::ForTarget);
            let iterable = iterable.and_then(|range| ctx.expression_at(range)).and_then(Expr::as_call_expr);
            let method = iterable.and_then(|call| call.func.as_attribute_expr());
            method.is_some_and(|method| matches!(method.attr.as_str(), "items" | "keys"))
        })
}

/// Returns whether the array may be a `Ref`, which is written in place: Pallas kernels pass `Ref`s to the functions
/// that they call and define, whose parameters are often annotated as arrays. The result of an operation is never a
/// `Ref`.
fn may_be_ref(ctx: &FunctionContext, array: &Expr) -> bool {
    let has_refs = ctx.imports.uses("jax.experimental.pallas")
        || ctx.imports.dotted_names().any(|name| REF_MAKERS.iter().any(|maker| name.starts_with(maker)))
        || tracing::uses(ctx, &REF_MAKERS);
    has_refs && (tracing::origin(ctx, array) != Origin::Computed || is_parameter(ctx, array))
}

/// Returns whether an expression is the name of a parameter that no earlier statement has bound to another value.
fn is_parameter(ctx: &FunctionContext, expression: &Expr) -> bool {
    let Expr::Name(name) = expression else { return false };
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    !definitions.is_empty()
        && definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
}

/// The modules and functions that create `Ref`s.
const REF_MAKERS: [&str; 4] =
    ["jax.experimental.pallas", "jax.experimental.mutable_array", "jax.new_ref", "jax.ref"];

/// Returns the severity: info for a part of an argument of unknown structure, which may be a list or another object that
/// supports item assignment.
fn severity(ctx: &FunctionContext, array: &Expr) -> Severity {
    if parts::is_unknown_part(ctx, array) { Severity::Info } else { Severity::Error }
}

/// `x[i] = v` -> `x = x.at[i].set(v)`.
fn rewritten(ctx: &FunctionContext, subscript: &ast::ExprSubscript, method: &str, value: &Expr) -> String {
    let array = ctx.text(&*subscript.value);
    let index = ctx.text(&*subscript.slice);
    let text = ctx.text(value);
    let value = match value {
        // `x[0] = a, b`
        Expr::Tuple(tuple) if !tuple.parenthesized => format!("({text})"),
        _ => text.to_owned(),
    };
    format!("{array} = {array}.at[{index}].{method}({value})")
}

/// Returns whether an expression is a name, or an attribute of a name, that can be reassigned.
fn is_assignable(expression: &Expr) -> bool {
    match expression {
        Expr::Name(_) => true,
        Expr::Attribute(attribute) => is_assignable(&attribute.value),
        _ => false,
    }
}
