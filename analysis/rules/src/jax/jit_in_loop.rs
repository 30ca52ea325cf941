//! Functions that are created and jitted in each iteration of a loop, or in each call by a loop.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use super::jitted_calls::static_arguments;
use crate::names::Names;
use crate::program::{Bound, Program, ScopeId, Site};
use ag_index::callbacks::argument;
use ag_syntax::functions::is_generator;

declare_rule! {
    /// ## What it does
    /// Reports `jax.jit(lambda …)`, `jax.jit(partial(…))` and `@jax.jit` on a function defined in the body of a loop,
    /// if the jitted function does not depend on the iteration. The same holds for a function that a loop calls.
    ///
    /// ## Why is this bad?
    /// JAX caches compiled functions by the function object. A lambda, a `partial` or a function defined in the loop is
    /// a new object in each iteration, so JAX traces and compiles it in each iteration.
    ///
    /// `jax.jit(f)` of a function defined outside the loop is found in the cache, and is not reported.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// x = jnp.ones(3)
    /// for _ in range(100):
    ///     x = jax.jit(lambda v: v * 0.9)(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// shrink = jax.jit(lambda v: v * 0.9)
    /// x = jnp.ones(3)
    /// for _ in range(100):
    ///     x = shrink(x)
    /// ```
    pub(crate) static JAX_JIT_IN_LOOP = {
        code: "AG543", name: "jax-jit-in-loop",
        summary: "a function is compiled again in each iteration of a loop",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    // `jax.jit(lambda …)(x)`, and `f = jax.jit(lambda …)` that is called in the loop.
    for site in &program.calls {
        let Some(repeated) = site.repeated else { continue };
        let jit = match &*site.node.func {
            Expr::Call(inner) if is_jit_of_new(ctx, inner) => inner,
            Expr::Name(name) => {
                let Some(owner) = program.owner(site.scope, &name.id) else { continue };
                let made = program.bindings(owner, &name.id).iter().find_map(|binding| match binding.bound {
                    Bound::Value(Expr::Call(call))
                        if binding.repeated == Some(repeated) && is_jit_of_new(ctx, call) =>
                    {
                        Some(call)
                    }
                    _ => None,
                });
                match made {
                    Some(call) if owner == site.scope => call,
                    _ => continue,
                }
            }
            _ => continue,
        };
        let argument = &jit.arguments.args[0];
        if !depends_on_iteration(program, site.scope, repeated, argument) {
            report(ctx, jit.range());
        }
    }
    for site in &program.calls {
        if let Some(jit) = jitted_here(ctx, program, site)
            && is_called_in_loop(program, site.scope, &jit.arguments.args[0])
        {
            report(ctx, jit.range());
        }
    }
    for (def, scope) in &program.functions {
        let repeated = program
            .bindings(*scope, &def.name)
            .iter()
            .find(|binding| binding.range == def.name.range())
            .and_then(|binding| binding.repeated);
        let Some(repeated) = repeated else { continue };
        let jitted = def.decorator_list.iter().find(|decorator| static_arguments(ctx, decorator).is_some());
        let called = program.calls.iter().any(|site| {
            site.scope == *scope
                && site.repeated == Some(repeated)
                && site.node.func.as_name_expr().is_some_and(|name| name.id == def.name.id)
        });
        if let Some(decorator) = jitted
            && called
        {
            let names = Names::of_body(&def.body);
            if !binds_in_loop(program, *scope, repeated, &names.read)
                && !has_default_of_iteration(program, *scope, repeated, &def.parameters)
            {
                report(ctx, decorator.range());
            }
        }
    }
}

/// Returns the `jax.jit(lambda …)` of a jitted function that the function around it calls at once, in no loop:
///
/// ```python
/// def train(params, batch):
///     step = jax.jit(lambda params, batch: …)
///     return step(params, batch)
/// ```
fn jitted_here<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    site: &Site<'a, ast::ExprCall>,
) -> Option<&'a ast::ExprCall> {
    if site.repeated.is_some() {
        return None;
    }
    let jit = match &*site.node.func {
        Expr::Call(jit) => jit,
        Expr::Name(name) => match program.only_binding(site.scope, &name.id)? {
            Bound::Value(Expr::Call(jit)) => jit,
            _ => return None,
        },
        _ => return None,
    };
    is_jit_of_new(ctx, jit).then_some(jit)
}

/// Returns whether a loop calls the function with this scope, and what `jitted` reads from the function is the same in all
/// iterations.
fn is_called_in_loop<'a>(program: &Program<'a>, scope: ScopeId, jitted: &'a Expr) -> bool {
    let range = program.range(scope);
    let Some((def, _)) = program.functions.iter().find(|(def, _)| def.range() == range) else { return false };
    if !def.decorator_list.is_empty() || is_generator(def) {
        return false;
    }
    let read = read_from_outside(jitted);
    program.calls_of(range).any(|call| {
        let Some(repeated) = call.repeated.filter(|_| call.scope != scope) else { return false };
        read.iter().all(|name| match program.owner(scope, &name.id) {
            Some(owner) if owner == scope => {
                let mut parameters = def.parameters.iter().enumerate();
                let parameter = parameters.find(|(_, parameter)| parameter.name().id == name.id);
                parameter.filter(|_| program.bindings(scope, &name.id).len() == 1).is_some_and(
                    |(position, parameter)| {
                        let passed = argument(call.node, position, parameter.name());
                        passed.is_none_or(|passed| {
                            let names = Names::of_expression(passed).read;
                            !binds_in_loop(program, call.scope, repeated, &names)
                        })
                    },
                )
            }
            _ => true,
        })
    })
}

/// Returns the variables that a lambda or `partial(…)` reads from the code around it.
fn read_from_outside(function: &Expr) -> Vec<&ast::ExprName> {
    let Expr::Lambda(lambda) = function else { return Names::of_expression(function).read };
    let parameters = lambda.parameters.as_deref();
    let mut read = Names::of_expression(&lambda.body).read;
    read.retain(|name| !parameters.is_some_and(|parameters| parameters.includes(&name.id)));
    read
}

fn report(ctx: &FileContext, range: TextRange) {
    let mut reported = ctx.diagnostics.borrow().iter().map(|it| (it.code, it.span.range)).collect::<Vec<_>>();
    reported.retain(|it| *it == (JAX_JIT_IN_LOOP.code, range));
    if reported.is_empty() {
        ctx.report(
            &JAX_JIT_IN_LOOP,
            range,
            "each iteration of the loop creates a new function, which JAX traces and compiles again",
        )
        .help("create the jitted function once, before the loop")
        .emit();
    }
}

/// Returns whether a call jits a new function object: `jax.jit(lambda …)`, `jax.jit(partial(…))`.
fn is_jit_of_new(ctx: &FileContext, call: &ast::ExprCall) -> bool {
    let is_jit = ctx.resolve(&call.func).is_some_and(|name| name == "jax.jit");
    is_jit
        && call.arguments.args.first().is_some_and(|function| match function {
            Expr::Lambda(_) => true,
            Expr::Call(call) => ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial"),
            _ => false,
        })
}

fn depends_on_iteration(program: &Program, scope: ScopeId, repeated: TextRange, function: &Expr) -> bool {
    binds_in_loop(program, scope, repeated, &read_from_outside(function))
        || function
            .as_lambda_expr()
            .and_then(|lambda| lambda.parameters.as_deref())
            .is_some_and(|parameters| has_default_of_iteration(program, scope, repeated, parameters))
}

/// Returns whether the default of a parameter depends on the iteration: `lambda x, size=size: …`.
fn has_default_of_iteration(
    program: &Program,
    scope: ScopeId,
    repeated: TextRange,
    parameters: &ast::Parameters,
) -> bool {
    let mut defaults = parameters.iter_non_variadic_params().filter_map(|parameter| parameter.default());
    defaults.any(|default| binds_in_loop(program, scope, repeated, &Names::of_expression(default).read))
}

fn binds_in_loop(program: &Program, scope: ScopeId, repeated: TextRange, names: &[&ast::ExprName]) -> bool {
    names.iter().any(|name| {
        program
            .bindings(scope, &name.id)
            .iter()
            .any(|binding| repeated.contains_range(binding.range) || binding.repeated == Some(repeated))
    })
}
