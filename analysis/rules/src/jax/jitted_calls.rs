//! The arguments of calls of jitted functions within their file. A jitted function is a decorated function or method,
//! `g` after `g = jax.jit(f, …)`, or `jax.jit(f)` in `jax.jit(f)(…)`. The calls are found from syntax.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::kinds::{self, Kind};
use crate::program::{Bound, Program, ScopeId};
use ag_index::ids::ParameterIndex;
use ag_index::static_arguments::StaticArgument;

/// An argument that JAX cannot trace or cannot hash.
pub(super) struct Argument<'a> {
    pub call: &'a ast::ExprCall,
    pub function: String,
    /// The parameter that receives it, if the function is known.
    pub parameter: String,
    pub value: &'a Expr,
    /// Whether the parameter is listed in `static_argnums` or `static_argnames`.
    pub is_static: bool,
    pub kind: Kind,
}

/// A jitted function.
#[derive(Clone)]
pub(super) struct Jitted<'a> {
    pub parameters: Option<&'a ast::Parameters>,
    pub static_arguments: Vec<StaticArgument>,
    /// The code of the jitted function: a function of the file, or a lambda.
    pub body: Option<Body<'a>>,
}

#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Function(&'a ast::StmtFunctionDef),
    Lambda(&'a ast::ExprLambda),
}

pub(super) fn arguments<'a>(ctx: &FileContext<'a>) -> Vec<Argument<'a>> {
    let program = ctx.program();
    let mut found = Vec::new();
    for site in &program.calls {
        let (call, scope) = (site.node, site.scope);
        if let Some((jitted, name)) = transformed(ctx, program, scope, call) {
            let own: Vec<StaticArgument> = match &*call.func {
                Expr::Call(made) => listed(&made.arguments.keywords).unwrap_or_default(),
                _ => Vec::new(),
            };
            for (position, value) in call.arguments.args.iter().enumerate() {
                let parameter = jitted.parameters.into_iter().flat_map(|it| it.iter_non_variadic_params());
                let parameter =
                    parameter.map(|it| it.parameter.name.as_str()).nth(position).unwrap_or_default();
                let is_static = |listed: &[StaticArgument]| {
                    listed.iter().any(|argument| argument.is_for(Some(position.into()), parameter))
                };
                if is_static(&jitted.static_arguments) && !is_static(&own) {
                    found.push(Argument {
                        call,
                        function: name.clone(),
                        parameter: parameter.to_owned(),
                        value,
                        is_static: true,
                        kind: Kind { noun: "a tracer".to_owned(), traceable: true, hashable: false },
                    });
                    break;
                }
            }
        }
        if let Some((jitted, name, bound)) = callee(ctx, program, scope, call) {
            add(ctx, program, scope, call, &jitted, &name, usize::from(bound), &mut found);
        }
    }
    found
}

/// Returns the jitted function in `jax.make_jaxpr(g)(…)` or `jax.vmap(g)(…)`. These trace all its arguments.
fn transformed<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
) -> Option<(Jitted<'a>, String)> {
    let made = call.func.as_call_expr()?;
    let name = ctx.resolve(&made.func)?;
    let only = made.arguments.args.len() == 1;
    let traces_all = match name.as_str() {
        "jax.make_jaxpr" => only,
        "jax.vmap" => only && made.arguments.keywords.is_empty(),
        _ => false,
    };
    let function = made.arguments.args.first().filter(|_| traces_all)?.as_name_expr()?;
    let jitted = match program.lookup(scope, &function.id, function.range().start())? {
        (Bound::Function(def), _) => of_def(ctx, def),
        (Bound::Value(value), owner) => of_value(ctx, program, owner, value),
        _ => None,
    }?;
    Some((jitted, function.id.to_string()))
}

/// Returns whether a value is a parameter of a jitted function that is not static, that every call passes, and that is
/// never rebound.
pub(super) fn is_traced_parameter(
    ctx: &FileContext,
    program: &Program,
    scope: ScopeId,
    value: &Expr,
) -> bool {
    let Some(name) = value.as_name_expr() else { return false };
    let Some(owner) = program.owner(scope, &name.id) else { return false };
    let [binding] = program.bindings(owner, &name.id) else { return false };
    let range = program.range(owner);
    let Some((def, _)) = program.functions.iter().find(|(def, _)| def.range() == range) else { return false };
    let mut positional = def.parameters.posonlyargs.iter().chain(&def.parameters.args);
    let Some(position) = positional.position(|it| it.parameter.name.range() == binding.range) else {
        return false;
    };
    // If a call omits the argument, the default stays a Python value.
    let has_default =
        def.parameters.iter_non_variadic_params().nth(position).is_none_or(|it| it.default.is_some());
    let jitted = of_def(ctx, def).filter(|_| !has_default);
    jitted.is_some_and(|jitted| {
        !jitted.static_arguments.iter().any(|it| it.is_for(Some(position.into()), &name.id))
    })
}

/// Returns the jitted function that is called, its name, and whether its first parameter (`self`) is bound.
pub(super) fn callee<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
) -> Option<(Jitted<'a>, String, bool)> {
    match &*call.func {
        Expr::Name(name) => match program.lookup(scope, &name.id, name.range().start())? {
            (Bound::Function(def), _) => Some((of_def(ctx, def)?, name.id.to_string(), false)),
            (Bound::Value(value), owner) => {
                Some((of_value(ctx, program, owner, value)?, name.id.to_string(), false))
            }
            _ => None,
        },
        value @ Expr::Call(inner) => {
            let jitted = of_value(ctx, program, scope, value)?;
            let name = inner.arguments.args.first().and_then(Expr::as_name_expr);
            Some((jitted, name.map_or("the jitted function".to_owned(), |name| name.id.to_string()), false))
        }
        // `self.step(x)` of a decorated method
        Expr::Attribute(method) if let Some(def) = program.method(scope, method) => {
            Some((of_def(ctx, def)?, format!("self.{}", def.name), true))
        }
        // `model.step(x)` of a decorated method
        Expr::Attribute(method) => {
            let (Bound::Value(Expr::Call(made)), owner) = program.value(scope, &method.value) else {
                return None;
            };
            let class = made.func.as_name_expr()?;
            let Some((Bound::Class(class), _)) = program.lookup(owner, &class.id, class.range().start())
            else {
                return None;
            };
            let mut methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
            let def = methods.find(|def| def.name.id == method.attr.id)?;
            Some((of_def(ctx, def)?, format!("{}.{}", class.name, def.name), true))
        }
        _ => None,
    }
}

/// Returns the jitted function that a decorated `def` defines.
fn of_def<'a>(ctx: &FileContext, def: &'a ast::StmtFunctionDef) -> Option<Jitted<'a>> {
    let [decorator] = def.decorator_list.as_slice() else { return None };
    let static_arguments = static_arguments(ctx, decorator)?;
    Some(Jitted { parameters: Some(&def.parameters), static_arguments, body: Some(Body::Function(def)) })
}

/// Returns a jitted function that a call creates: `jax.jit(f, static_argnums=0)`,
/// `partial(jax.jit, static_argnums=0)(f)`, `jax.jit(jax.grad(f))`.
pub(super) fn of_value<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    value: &'a Expr,
) -> Option<Jitted<'a>> {
    let call = value.as_call_expr()?;
    let is_jit = |expression: &Expr| ctx.resolve(expression).is_some_and(|name| name == "jax.jit");
    let (function, keywords) = if is_jit(&call.func) {
        (call.arguments.args.first()?, &*call.arguments.keywords)
    } else {
        let maker = call.func.as_call_expr()?;
        let partial = ctx.resolve(&maker.func).is_some_and(|name| name == "functools.partial")
            && maker.arguments.args.first().is_some_and(is_jit);
        if !(partial || is_jit(&maker.func) && maker.arguments.args.is_empty()) {
            return None;
        }
        (call.arguments.args.first()?, &*maker.arguments.keywords)
    };
    let static_arguments = listed(keywords)?;
    let mut function = function;
    while let Expr::Call(call) = function
        && ctx.resolve(&call.func).is_some_and(|name| {
            matches!(name.as_str(), "jax.grad" | "jax.value_and_grad" | "jax.checkpoint" | "jax.remat")
        })
    {
        function = call.arguments.args.first()?;
    }
    let (parameters, body) = match program.value(scope, function).0 {
        Bound::Function(def) if def.decorator_list.is_empty() => {
            (Some(&*def.parameters), Some(Body::Function(def)))
        }
        Bound::Value(Expr::Lambda(lambda)) => (lambda.parameters.as_deref(), Some(Body::Lambda(lambda))),
        _ => (None, None),
    };
    Some(Jitted { parameters, static_arguments, body })
}

/// Returns the static arguments if the decorator is `jax.jit` and lists them as literals.
pub(super) fn static_arguments(ctx: &FileContext, decorator: &ast::Decorator) -> Option<Vec<StaticArgument>> {
    let is_jit = |expression: &Expr| ctx.resolve(expression).is_some_and(|name| name == "jax.jit");
    match &decorator.expression {
        Expr::Call(call) => {
            let partial = ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
                && call.arguments.args.first().is_some_and(is_jit);
            (partial || is_jit(&call.func)).then(|| listed(&call.arguments.keywords)).flatten()
        }
        other => is_jit(other).then(Vec::new),
    }
}

fn listed(keywords: &[ast::Keyword]) -> Option<Vec<StaticArgument>> {
    let mut listed = Vec::new();
    for keyword in keywords {
        let name = keyword.arg.as_ref()?;
        if matches!(name.as_str(), "static_argnums" | "static_argnames") {
            let elements = match &keyword.value {
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                Expr::List(list) => list.elts.as_slice(),
                Expr::Set(set) => set.elts.as_slice(),
                other => std::slice::from_ref(other),
            };
            for element in elements {
                listed.push(StaticArgument::of(element)?);
            }
        }
    }
    Some(listed)
}

#[expect(clippy::too_many_arguments, reason = "a call, its callee, and the output")]
fn add<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
    target: &Jitted<'a>,
    function: &str,
    skip: usize,
    found: &mut Vec<Argument<'a>>,
) {
    let parameters = target.parameters;
    let positional: Vec<&ast::ParameterWithDefault> = parameters
        .iter()
        .flat_map(|parameters| parameters.posonlyargs.iter().chain(&parameters.args))
        .collect();
    let mut add = |parameter: &str, position: Option<usize>, value: &'a Expr| {
        let position = position.map(ParameterIndex::from);
        // If the signature is unknown, an argument passed by position may match a static name, and vice versa.
        let by_other =
            parameters.is_none() && !target.static_arguments.iter().all(|it| it.is_for(position, parameter));
        let is_static = target.static_arguments.iter().any(|argument| argument.is_for(position, parameter));
        if by_other {
            return;
        }
        let traced = || is_static && is_traced_parameter(ctx, program, scope, value);
        let kind = match kinds::of(ctx, program, scope, value, 0) {
            Some(kind) => kind,
            None if traced() => {
                Kind { noun: format!("the tracer `{}`", ctx.text(value)), traceable: true, hashable: false }
            }
            None => return,
        };
        found.push(Argument {
            call,
            function: function.to_owned(),
            parameter: parameter.to_owned(),
            value,
            is_static,
            kind,
        });
    };
    for (position, value) in call.arguments.args.iter().enumerate() {
        if value.is_starred_expr() {
            break;
        }
        let position = position + skip;
        match positional.get(position) {
            Some(parameter) => add(parameter.parameter.name.as_str(), Some(position), value),
            None if parameters.is_none() => add(&format!("argument {position}"), Some(position), value),
            None => {}
        }
    }
    for keyword in &call.arguments.keywords {
        let Some(name) = &keyword.arg else { continue };
        let position = positional.iter().position(|it| it.parameter.name.as_str() == name.as_str());
        let known = position.is_some()
            || parameters.is_some_and(|parameters| {
                parameters.kwonlyargs.iter().any(|it| it.parameter.name.as_str() == name.as_str())
            });
        if known {
            add(name.as_str(), position, &keyword.value);
        }
    }
}
