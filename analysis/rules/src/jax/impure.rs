//! Side effects that happen once, while tracing.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing;
use super::{outlives, snippet};
use crate::callers;
use crate::generators::{draws_from_generator, seeds_global_generator};
use ag_index::callbacks;
use ag_index::dialect::RootKind;

declare_rule! {
    /// ## What it does
    /// Reports side effects in traced functions that were probably intended for every call: reading a clock, drawing
    /// random numbers from Python or NumPy, advancing an iterator, incrementing a counter outside the function unless its
    /// name says that it counts traces, `print` of a traced array, unless its text says that the function is being
    /// traced, and f-strings that are passed to `jax.debug.print`. Also reports calls of `jax.pure_callback` whose
    /// results are not used, because JAX removes them.
    ///
    /// ## Why is this bad?
    /// Python code runs while JAX traces: once for each combination of shapes and dtypes. The clock and the
    /// random number become constants of the compiled function, the counter is not incremented again, and
    /// `print` shows a tracer. A function that only `jax.vmap` traces runs at each call, but once for all rows: the
    /// rows share one random number.
    ///
    /// ## Example
    /// ```python
    /// import random
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def jitter(x):
    ///     return x + random.random()
    ///
    /// jitter(jnp.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def jitter(key, x):
    ///     return x + jax.random.uniform(key)
    ///
    /// jitter(jax.random.key(0), jnp.ones(3))
    /// ```
    /// `jax.debug.print` prints on every call; measure time around the jitted call, after
    /// `block_until_ready()`.
    pub(crate) static JAX_IMPURE = {
        code: "AG508", name: "jax-impure",
        summary: "a side effect happens once, while tracing",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: Function(check),
    }
}

const CLOCKS: [&str; 10] = [
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.process_time",
    "time.process_time_ns",
    "time.time",
    "time.time_ns",
];

/// Functions of `random` and `numpy.random` that draw from the global generator.
const DRAWS: [&str; 20] = [
    "betavariate",
    "choice",
    "choices",
    "exponential",
    "gauss",
    "gumbel",
    "normal",
    "normalvariate",
    "permutation",
    "poisson",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "randrange",
    "sample",
    "shuffle",
    "standard_normal",
    "uniform",
];

fn check(ctx: &FunctionContext) {
    if ctx.creates_objects() {
        return;
    }
    let at_each_call = is_traced_at_each_call(ctx);
    let expressions = ctx.expressions();
    let calls = || expressions.iter().copied().filter_map(Expr::as_call_expr);
    // `pure_callback(lambda: rng.normal(), shape)`: the host runs the lambda in each call.
    let on_host: Vec<TextRange> = calls().filter_map(callbacks::host_function).map(Ranged::range).collect();
    for expression in &expressions {
        let Expr::Call(call) = *expression else { continue };
        if on_host.iter().any(|range| range.contains_range(call.range())) {
            continue;
        }
        if let Some((message, help)) = effect(ctx, call, at_each_call) {
            ctx.report(&JAX_IMPURE, *expression, message).help(help).emit();
        }
    }
    if at_each_call {
        return;
    }
    for call in ctx.unreported(&ctx.faults().iterators).into_iter().filter_map(Expr::as_call_expr) {
        let Some(iterator) = call.arguments.args.first() else { continue };
        let (message, help) = consumed(&snippet(ctx, iterator));
        ctx.report(&JAX_IMPURE, call, message).help(help).emit();
    }
    for statement in ctx.statements() {
        if let Some(call) = unused_callback(ctx, statement) {
            let message = "the result of `jax.pure_callback` is not used: JAX removes the call".to_owned();
            ctx.report(&JAX_IMPURE, call, message)
                .help("use `jax.experimental.io_callback` or `jax.debug.callback` for a side effect")
                .emit();
        }
        let Stmt::AugAssign(assign) = statement else { continue };
        let outlives = match &*assign.target {
            // `counts["calls"] += 1`
            Expr::Subscript(item) if item.slice.is_literal_expr() => outlives(ctx, &item.value, true),
            target => outlives(ctx, target, false),
        };
        let counts = outlives
            && !ctx.fact(&assign.value).may_be_tensor()
            && !is_undone(ctx, assign)
            && !counts_traces(ctx.text(&*assign.target));
        if counts {
            ctx.report(
                &JAX_IMPURE,
                &*assign.target,
                format!(
                    "`{}` is updated while tracing, not when the compiled function is called",
                    snippet(ctx, &assign.target)
                ),
            )
            .help(
                "pass the value as an argument and return the new one, or count outside the jitted function",
            )
            .emit();
        }
    }
}

/// Returns whether the name of a counter tells that it counts traces: `num_traces`, `stats.compiles`.
fn counts_traces(target: &str) -> bool {
    let target = target.to_lowercase();
    ["trace", "tracing", "compil"].iter().any(|word| target.contains(word))
}

/// Returns a statement that calls `jax.pure_callback` and ignores the result.
fn unused_callback<'a>(ctx: &FunctionContext, statement: &'a Stmt) -> Option<&'a ast::ExprCall> {
    let call = statement.as_expr_stmt()?.value.as_call_expr()?;
    ctx.resolve(&call.func).filter(|name| name == "jax.pure_callback").map(|_| call)
}

/// Returns the message and help for `next(iterator)`.
fn consumed(iterator: &str) -> (String, &'static str) {
    (
        format!(
            "`next` runs once, while tracing; the element of `{iterator}` is a constant of the compiled function"
        ),
        "call `next` outside the jitted function, and pass the element",
    )
}

/// Returns whether the function undoes a change: `depth += 1`, then `depth -= 1`. Only the code in between uses the
/// value.
fn is_undone(ctx: &FunctionContext, change: &ast::StmtAugAssign) -> bool {
    let opposite = match change.op {
        ast::Operator::Add => ast::Operator::Sub,
        ast::Operator::Sub => ast::Operator::Add,
        _ => return false,
    };
    ctx.statements().into_iter().filter_map(Stmt::as_aug_assign_stmt).any(|other| {
        other.op == opposite
            && ctx.text(&*other.target) == ctx.text(&*change.target)
            && ctx.text(&*other.value) == ctx.text(&*change.value)
    })
}

/// Returns whether the function is traced again at each call, since only `jax.vmap` traces it:
///
/// ```python
/// def rows(xs):
///     return jax.vmap(clamp)(xs)       # not if `rows` is jitted, or reached from a jitted function
/// ```
fn is_traced_at_each_call(ctx: &FunctionContext) -> bool {
    let callers = callers::of(ctx).map_while(|call| call.stage);
    std::iter::once(ctx.stage).chain(callers).all(|stage| stage.mode == RootKind::JaxVmap)
}

fn effect(ctx: &FunctionContext, call: &ast::ExprCall, at_each_call: bool) -> Option<(String, &'static str)> {
    let is_print = call.func.as_name_expr().is_some_and(|name| name.id == "print");
    if ctx.resolve(&call.func).is_none() && is_print && !tracing::announces_tracing(&call.arguments) {
        let value = call.arguments.args.iter().find_map(|value| printed(ctx, value))?;
        return Some((
            format!("`print` runs once, while tracing, and prints a tracer for `{}`", snippet(ctx, value)),
            "use `jax.debug.print(\"{x}\", x=x)`",
        ));
    }
    if let Some(template) = call.arguments.args.first().filter(|it| it.is_f_string_expr())
        && ctx.resolve(&call.func).is_some_and(|name| name == "jax.debug.print")
    {
        let value = snippet(ctx, printed(ctx, template)?);
        return Some((
            format!("the f-string is formatted once, while tracing, and shows a tracer for `{value}`"),
            "pass the value: `jax.debug.print(\"{x}\", x=x)`",
        ));
    }
    if let Some(iterator) = advanced(ctx, call).filter(|_| !at_each_call) {
        return Some(consumed(iterator));
    }
    let name = match ctx.resolve(&call.func) {
        None if draws_from_generator(ctx, call) => return Some(drawn(ctx.text(&*call.func), at_each_call)),
        name => name?,
    };
    if CLOCKS.contains(&name.as_str()) {
        return (!at_each_call).then(|| {
            (
                format!(
                    "`{name}` runs once, while tracing; its result is a constant of the compiled function"
                ),
                "measure outside the jitted function",
            )
        });
    }
    let (module, function) = name.rsplit_once('.')?;
    let draws = matches!(module, "random" | "numpy.random") && DRAWS.contains(&function);
    (draws && !seeds_global_generator(ctx, call)).then(|| drawn(&name, at_each_call))
}

/// Returns the variable of the module that a call such as `next(batches)` advances.
fn advanced<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Option<&'a str> {
    let name = call.arguments.args.first()?.as_name_expr()?.id.as_str();
    (ctx.builtin(&call.func) == Some("next") && ctx.is_module_variable(name)).then_some(name)
}

/// Returns the message and help for a call that draws a random number.
fn drawn(name: &str, at_each_call: bool) -> (String, &'static str) {
    match at_each_call {
        true => (
            format!("`{name}` runs once for all rows that `jax.vmap` maps, which share its result"),
            "use `jax.random` with a key for each row",
        ),
        false => (
            format!("`{name}` runs once, while tracing; its result is a constant of the compiled function"),
            "use `jax.random` with a key that the caller passes",
        ),
    }
}

/// Returns the traced array that is printed, directly or in an f-string.
fn printed<'a>(ctx: &FunctionContext, value: &'a Expr) -> Option<&'a Expr> {
    match value {
        Expr::FString(string) => string
            .value
            .f_strings()
            .flat_map(|part| part.elements.iter())
            .filter_map(|element| element.as_interpolation())
            .filter(|interpolation| interpolation.format_spec.is_none())
            .map(|interpolation| &*interpolation.expression)
            .find(|value| tracing::is_tensor(ctx, value)),
        _ => Some(value).filter(|value| tracing::is_tensor(ctx, value)),
    }
}
