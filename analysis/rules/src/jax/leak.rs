//! Traced arrays that are stored in objects that outlive the trace.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::evaluation::STORING;
use super::super::outliving;
use super::super::tracing::{self, Origin};
use super::{is_operation, keeps_tracers, outlives, snippet, targets};
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports traced arrays that are stored where they outlive the trace: in a global or nonlocal name, a list
    /// or dictionary from outside, or an attribute of a `self` that the trace does not replace: a static one, or the object
    /// of a method that is the body of a `jax.lax` loop. The evaluation of the program also finds arrays that are used after
    /// the trace, for example from the cache of a function.
    ///
    /// ## Why is this bad?
    /// The stored object is the tracer, not its value. Its next use raises, far from the code that stored it.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// history = []
    ///
    /// @jax.jit
    /// def step(x):
    ///     y = x * 2
    ///     history.append(y)
    ///     return y
    ///
    /// step(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// history = []
    ///
    /// @jax.jit
    /// def step(x):
    ///     return x * 2
    ///
    /// history.append(step(jnp.ones(3)))
    /// ```
    /// Inside `jax.lax.scan`, return the values to collect as the second result of the body.
    ///
    /// ## What jax reports
    /// `UnexpectedTracerError: Encountered an unexpected tracer. A function transformed by JAX had a
    /// side effect, allowing for a reference to an intermediate value … to escape the scope of the
    /// transformation.`
    pub(crate) static JAX_LEAK = {
        code: "AG506", name: "jax-leak",
        summary: "a traced array is stored outside the traced function",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

const HELP: &str = "return the value instead, and store it in the caller";

fn check(ctx: &FunctionContext) {
    for statement in ctx.statements() {
        for (target, value) in targets(statement) {
            let destination = match target {
                Expr::Subscript(subscript) if is_container(ctx, &subscript.value) => &*subscript.value,
                Expr::Name(_) | Expr::Attribute(_) => target,
                _ => continue,
            };
            // `self.count += x` adds a traced value, whatever the declared type of `self.count` is.
            let is_leaked =
                is_traced(ctx, value) && (statement.is_aug_assign_stmt() || !is_python(ctx, target));
            if outlives(ctx, destination, target.is_subscript_expr()) && is_leaked {
                report(ctx, target, value, destination);
            }
        }
        if let Stmt::Expr(expression) = statement
            && let Expr::Call(call) = &*expression.value
            && let Expr::Attribute(method) = &*call.func
            && STORING.contains(&method.attr.as_str())
            && let Some(container) = outer_container(ctx, &method.value)
            && let Some(value) = call
                .arguments
                .args
                .iter()
                .chain(call.arguments.keywords.iter().map(|keyword| &keyword.value))
                .find(|value| is_traced(ctx, value))
        {
            report(ctx, &expression.value, value, container);
        }
    }
    for leak in outliving::arrays(ctx, JAX_LEAK.code) {
        let (value, place, user) = (snippet(ctx, leak.value), leak.place, leak.user);
        let message = format!("`{value}` is traced, but stored in {place}: `{user}` uses it after the trace");
        ctx.report(&JAX_LEAK, leak.at, message).why(ctx.why(leak.value)).help(HELP).emit();
    }
}

/// Returns the container that outlives the trace and to which a method adds a value: `seen` for `seen.append(x)`,
/// `seen[key].append(x)` and `seen.setdefault(key, []).append(x)`.
fn outer_container<'a>(ctx: &FunctionContext, object: &'a Expr) -> Option<&'a Expr> {
    if is_container(ctx, object) && outlives(ctx, object, true) {
        return Some(object);
    }
    let outer = match object {
        Expr::Subscript(item) if is_container(ctx, object) => &*item.value,
        Expr::Call(call) => {
            let method =
                call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "setdefault")?;
            let is_new = |default: &Expr| {
                default.is_list_expr()
                    || default.is_dict_expr()
                    || default.is_set_expr()
                    || default.is_call_expr()
            };
            call.arguments.args.get(1).is_some_and(is_new).then_some(&*method.value)?
        }
        _ => return None,
    };
    (is_container(ctx, outer) && outlives(ctx, outer, true)).then_some(outer)
}

fn report(ctx: &FunctionContext, at: &Expr, value: &Expr, destination: &Expr) {
    ctx.report(
        &JAX_LEAK,
        at,
        format!(
            "`{}` is traced, but stored in `{}`, which outlives the trace",
            snippet(ctx, value),
            snippet(ctx, destination)
        ),
    )
    .why(ctx.why(value))
    .help(HELP)
    .emit();
}

fn is_traced(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    let holds_tensors = !fact.unknown
        && matches!(fact.alternatives.as_slice(), [Alternative::Container { staged: true, .. }])
        && (!value.is_name_expr() || is_variadic(ctx, value));
    // `x + 1` for a parameter of the jitted function: every number is traced there.
    let is_computed = || match tracing::origin(ctx, value) {
        Origin::Computed => true,
        Origin::Assumed => ctx.root().is_some_and(keeps_tracers) && is_operation(value),
        Origin::Outside => false,
    };
    holds_tensors || tracing::is_tensor(ctx, value) && is_computed()
}

/// Returns whether the value that an assignment unpacks to a target is a Python value: `steps` in `steps, x = 3, x`.
fn is_python(ctx: &FunctionContext, target: &Expr) -> bool {
    let fact = ctx.fact(target);
    let is_number = |alternative: &Alternative| {
        matches!(
            alternative,
            Alternative::Int(_) | Alternative::Float | Alternative::Bool(_) | Alternative::Str(_)
        )
    };
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_number)
}

/// Returns whether an expression is a parameter such as `**values`: each call creates a new container for it.
fn is_variadic(ctx: &FunctionContext, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    let parameters = &ctx.def().parameters;
    let variadic = [&parameters.vararg, &parameters.kwarg];
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    variadic.into_iter().flatten().any(|parameter| parameter.name.id == name.id)
        && definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
}

fn is_container(ctx: &FunctionContext, expression: &Expr) -> bool {
    matches!(ctx.fact(expression).alternatives.as_slice(), [Alternative::Container { .. }])
}
