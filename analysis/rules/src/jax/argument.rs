//! Arguments that cannot be traced.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::jitted_calls::{arguments, static_parameters};
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Reports a string or a function given to an argument of a jitted function of the same file that is
    /// not static, and a jitted method whose `self` is not static, in a class that JAX does not know.
    ///
    /// ## Why is this bad?
    /// `jax.jit` makes a tracer of every argument that is not static. It can do that for numbers,
    /// arrays, and containers of them. Anything else raises at the call.
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
    /// ## What jax says
    /// `TypeError: Error interpreting argument to <function flip> as an abstract array. The
    /// problematic value is of type <class 'str'> and was passed to the function at path mode.`
    pub(crate) static JAX_ARGUMENT = {
        code: "AG510", name: "jax-argument",
        summary: "an argument of a jitted function cannot be traced",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(check),
    }
}

fn check(ctx: &FileContext) {
    for given in arguments(ctx) {
        let kind = match given.value {
            Expr::StringLiteral(_) | Expr::FString(_) => "string",
            Expr::Lambda(_) => "function",
            _ if given.is_function => "function",
            _ => continue,
        };
        if !given.is_static {
            ctx.report(
                &JAX_ARGUMENT,
                given.call,
                format!(
                    "a {kind} cannot be traced; `{}` of `{}` is not static",
                    given.parameter, given.function
                ),
            )
            .label(ctx.span(given.value.range()), format!("a {kind}"))
            .help(format!("Add `static_argnames=\"{}\"` to `jax.jit`", given.parameter))
            .emit();
        }
    }
    methods(ctx);
}

/// `@jax.jit` on a method of a class without bases and decorators: `self` is no pytree, unless the
/// file registers it.
fn methods(ctx: &FileContext) {
    if !ctx.imports.uses("jax") || ctx.text.contains("register_") {
        return;
    }
    let mut classes = Classes(Vec::new());
    classes.visit_body(ctx.parsed.suite());
    for class in classes.0 {
        let bare = class.decorator_list.is_empty()
            && class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty());
        for method in class.body.iter().filter(|_| bare).filter_map(Stmt::as_function_def_stmt) {
            let [decorator] = method.decorator_list.as_slice() else { continue };
            let receiver = method.parameters.iter_non_variadic_params().next().map(|it| &it.parameter.name);
            let (Some(receiver), Some(names)) = (receiver, static_parameters(ctx, decorator)) else {
                continue;
            };
            if !names.iter().any(|name| name == receiver.as_str() || name == "0") {
                ctx.report(
                    &JAX_ARGUMENT,
                    &method.name,
                    format!("`{receiver}` of `{}` cannot be traced; `{}` is no type that JAX knows", method.name, class.name),
                )
                .severity(Severity::Warning)
                .label(ctx.span(decorator.range()), "jitted here")
                .help("Add `static_argnums=0`, or register the class with `jax.tree_util.register_pytree_node_class`")
                .emit();
            }
        }
    }
}

struct Classes<'a>(Vec<&'a ast::StmtClassDef>);

impl<'a> StatementVisitor<'a> for Classes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::ClassDef(class) = statement {
            self.0.push(class);
        }
        statement_visitor::walk_stmt(self, statement);
    }
}
