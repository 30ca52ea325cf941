//! Arguments that cannot be traced.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use super::jitted_calls::{arguments, static_arguments};
use crate::evaluation;
use ag_db::diagnostic::Severity;
use ag_index::ids::ParameterIndex;

declare_rule! {
    /// ## What it does
    /// Reports values that JAX cannot trace (strings, functions, dtypes, devices, sets, ranges, instances of classes
    /// that are not pytrees) passed to a non-static argument of a jitted function of the same file. Also reports jitted
    /// methods with a non-static `self` whose class is not a pytree.
    ///
    /// ## Why is this bad?
    /// `jax.jit` traces every argument that is not static. It can trace numbers, arrays, and containers of
    /// them. Anything else raises at the call.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def flip(x, mode):
    ///     return x[::-1] if mode == "reverse" else x
    ///
    /// flip(jnp.ones(3), "reverse")
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="mode")
    /// def flip(x, mode):
    ///     return x[::-1] if mode == "reverse" else x
    ///
    /// flip(jnp.ones(3), mode="reverse")
    /// ```
    ///
    /// ## What jax reports
    /// `TypeError: Error interpreting argument to <function flip> as an abstract array. The
    /// problematic value is of type <class 'str'> and was passed to the function at path mode.`
    pub(crate) static JAX_ARGUMENT = {
        code: "AG510", name: "jax-argument",
        summary: "an argument of a jitted function cannot be traced",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let mut reported = FxHashSet::default();
    for argument in arguments(ctx) {
        // A call raises an exception at its first argument that cannot be traced, so only that one is reported.
        let at = argument.call.range();
        if argument.is_static || argument.kind.traceable || !reported.insert(at) {
            continue;
        }
        let kind = &argument.kind.noun;
        let help = match argument.kind.hashable {
            true => format!("add `static_argnames=\"{}\"` to `jax.jit`", argument.parameter),
            false if ctx.imports.uses("equinox") => {
                "use `equinox.filter_jit`, which traces only the arrays in an argument".to_owned()
            }
            false => "pass only the arrays in it: a static argument must be hashable".to_owned(),
        };
        ctx.report(
            &JAX_ARGUMENT,
            argument.call,
            format!(
                "{kind} cannot be traced, but `{}` of `{}` is not static",
                argument.parameter, argument.function
            ),
        )
        .label(ctx.span(argument.value.range()), kind.clone())
        .help(help)
        .emit();
    }
    for (call, leaf) in evaluation::leaves_in(ctx.db, ctx.document) {
        let Some(call) = ctx.program().calls.iter().find(|site| site.node.range() == *call) else { continue };
        if reported.contains(&call.node.range()) {
            continue;
        }
        let message =
            format!("`{}` is {}, which cannot be traced by `{}`", leaf.path, leaf.noun, leaf.function);
        let help = match ctx.imports.uses("equinox") {
            true => "use `equinox.filter_jit`, which traces only the arrays in an argument",
            false => "declare the field as static, or pass the value as a static argument",
        };
        ctx.report(&JAX_ARGUMENT, call.node, message).help(help).emit();
    }
    methods(ctx);
}

/// Reports `@jax.jit` on a method of a class without bases, which is no more than a dataclass, because `self` is not a pytree. A class that
/// the file registers as a pytree, or from which it derives other classes, may be a pytree and is not reported. A
/// function whose first parameter is not called `self` may be called through the class, without an instance:
/// `Metrics.normalize(x)`.
fn methods(ctx: &FileContext) {
    if !ctx.imports.uses("jax") || ctx.text.contains("register_") {
        return;
    }
    let classes = &ctx.program().classes;
    let bases = || classes.iter().filter_map(|class| class.arguments.as_ref()).flat_map(|all| &all.args);
    for class in classes {
        let is_derived = bases().any(|base| base.as_name_expr().is_some_and(|it| it.id == class.name.id));
        let bare = !is_derived
            && class.decorator_list.iter().all(|decorator| is_dataclass(ctx, &decorator.expression))
            && class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty());
        for method in class.body.iter().filter(|_| bare).filter_map(Stmt::as_function_def_stmt) {
            let [decorator] = method.decorator_list.as_slice() else { continue };
            let receiver = method.parameters.iter_non_variadic_params().next().map(|it| &it.parameter.name);
            let (Some(receiver), Some(listed)) = (receiver, static_arguments(ctx, decorator)) else {
                continue;
            };
            let first = Some(ParameterIndex::from_u32(0));
            if receiver == "self" && !listed.iter().any(|argument| argument.is_for(first, receiver)) {
                ctx.report(
                    &JAX_ARGUMENT,
                    &method.name,
                    format!("`{receiver}` of `{}` cannot be traced: the class `{}` is not a pytree", method.name, class.name),
                )
                .severity(Severity::Warning)
                .label(ctx.span(decorator.range()), "jitted here")
                .help("add `static_argnums=0`, or register the class with `jax.tree_util.register_pytree_node_class`")
                .emit();
            }
        }
    }
}

/// `@dataclass`, `@dataclass(frozen=True)`
fn is_dataclass(ctx: &FileContext, decorator: &Expr) -> bool {
    let function = decorator.as_call_expr().map_or(decorator, |call| &call.func);
    ctx.resolve(function).is_some_and(|name| name == "dataclasses.dataclass")
}
