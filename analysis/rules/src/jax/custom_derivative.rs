//! Derivative rules of `jax.custom_vjp` and `jax.custom_jvp` that do not fit their function.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::abstract_value::Value;
use super::evaluate::Evaluator;
use super::function::Function;
use super::is_of_interest;
use super::jitted_calls::is_traced_parameter;
use crate::program::{Bound, Program, ScopeId};
use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, sequence};

declare_rule! {
    /// ## What it does
    /// Reports functions with custom derivatives whose rules do not fit:
    ///
    /// - a function without a rule: neither `defvjp` nor `defjvp` is called
    /// - a forward rule or a JVP rule that does not return a pair
    /// - a backward rule that does not return a tuple with one cotangent for each argument
    /// - traced values passed for the `nondiff_argnums` of `jax.custom_vjp`
    /// - forward-mode differentiation of a function that has a rule for reverse mode only
    ///
    /// ## Why is this bad?
    /// JAX raises when the function is called or differentiated.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.custom_vjp
    /// def wave(x):
    ///     return jnp.sin(x)
    ///
    /// def forward(x):
    ///     return jnp.sin(x), x
    ///
    /// def backward(x, g):
    ///     return g * jnp.cos(x)
    ///
    /// wave.defvjp(forward, backward)
    /// jax.grad(wave)(1.0)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.custom_vjp
    /// def wave(x):
    ///     return jnp.sin(x)
    ///
    /// def forward(x):
    ///     return jnp.sin(x), x
    ///
    /// def backward(x, g):
    ///     return (g * jnp.cos(x),)
    ///
    /// wave.defvjp(forward, backward)
    /// jax.grad(wave)(1.0)
    /// ```
    ///
    /// ## What jax reports
    /// `TypeError: Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args
    /// tuple of the primal function`
    pub(crate) static JAX_CUSTOM_DERIVATIVE = {
        code: "AG548", name: "jax-custom-derivative",
        summary: "the rule of a custom derivative does not fit its function",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

/// A function with a custom derivative.
struct Custom<'a> {
    def: &'a ast::StmtFunctionDef,
    decorator: &'a Expr,
    is_vjp: bool,
    /// The literal positions in `nondiff_argnums`.
    fixed: Vec<usize>,
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let evaluator = Evaluator::new(ctx, program);
    for (def, _) in &program.functions {
        if let Some(custom) = of(ctx, def) {
            has_rule(ctx, program, &custom);
            calls(ctx, &evaluator, &custom);
        }
    }
}

fn of<'a>(ctx: &FileContext, def: &'a ast::StmtFunctionDef) -> Option<Custom<'a>> {
    let [decorator] = def.decorator_list.as_slice() else { return None };
    let decorator = &decorator.expression;
    let (maker, keywords) = match decorator {
        Expr::Call(call) if ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial") => {
            (call.arguments.args.first()?, &*call.arguments.keywords)
        }
        other => (other, &[][..]),
    };
    let is_vjp = match ctx.resolve(maker)?.as_str() {
        "jax.custom_vjp" => true,
        "jax.custom_jvp" => false,
        _ => return None,
    };
    let mut fixed = Vec::new();
    for keyword in keywords {
        if keyword.arg.as_ref()?.as_str() == "nondiff_argnums" {
            for element in sequence(&keyword.value).unwrap_or(std::slice::from_ref(&keyword.value)) {
                fixed.push(usize::try_from(integer(element)?).ok()?);
            }
        } else if keyword.arg.as_ref()?.as_str() == "nondiff_argnames" {
            return None;
        }
    }
    Some(Custom { def, decorator, is_vjp, fixed })
}

/// Reports a function without a rule. A function has a rule if `f.defvjp(…)` or `@f.defjvp` occurs anywhere in the
/// file, or if the file sets a rule on an object that may be this function.
fn has_rule(ctx: &FileContext, program: &Program, custom: &Custom) {
    let (name, method) = (&custom.def.name, if custom.is_vjp { "defvjp" } else { "defjvp" });
    let mut receivers = ctx.text.match_indices(method).filter_map(|(at, _)| {
        let before = ctx.text[..at].strip_suffix('.')?;
        before.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    });
    let is_other = |receiver: &str| {
        receiver != name.as_str() && program.functions.iter().any(|(def, _)| def.name.as_str() == receiver)
    };
    if receivers.all(is_other) {
        ctx.report(
            &JAX_CUSTOM_DERIVATIVE,
            name,
            format!("`{name}` has no rule for its derivative, which `{}` needs", ctx.text(custom.decorator)),
        )
        .label(ctx.span(custom.decorator.range()), "declared here")
        .help(format!("call `{name}.{method}(…)`, or remove the decorator"))
        .emit();
    }
}

fn calls<'a>(ctx: &FileContext<'a>, evaluator: &Evaluator<'_, 'a>, custom: &Custom<'a>) {
    for site in &evaluator.program.calls {
        let call = site.node;
        let is_custom = |expression: &'a Expr| {
            let found = expression
                .as_name_expr()
                .and_then(|name| evaluator.program.lookup(site.scope, &name.id, name.range().start()));
            matches!(found, Some((Bound::Function(def), _)) if std::ptr::eq(def, custom.def))
        };
        let fault = match &*call.func {
            Expr::Name(_) if is_custom(&call.func) => direct(ctx, evaluator, custom, call, site.scope),
            Expr::Attribute(method) if is_custom(&method.value) => {
                rules(evaluator, custom, call, site.scope, method.attr.as_str())
            }
            _ => forward_mode(ctx, call, custom, &is_custom),
        };
        if let Some((message, help)) = fault {
            ctx.report(&JAX_CUSTOM_DERIVATIVE, call, message)
                .label(ctx.span(custom.def.name.range()), "the function")
                .help(help)
                .emit();
        }
    }
    // `@f.defjvp`
    for (rule, scope) in &evaluator.program.functions {
        let Some(Expr::Attribute(method)) = rule.decorator_list.first().map(|it| &it.expression) else {
            continue;
        };
        let target = method
            .value
            .as_name_expr()
            .and_then(|name| evaluator.program.lookup(*scope, &name.id, name.range().start()));
        if method.attr.as_str() == "defjvp"
            && matches!(target, Some((Bound::Function(def), _)) if std::ptr::eq(def, custom.def))
            && let Some((message, help)) = jvp_rule(evaluator, custom, Function::Def(rule))
        {
            ctx.report(&JAX_CUSTOM_DERIVATIVE, &rule.name, message)
                .label(ctx.span(custom.def.name.range()), "the function")
                .help(help)
                .emit();
        }
    }
}

type Found = Option<(String, &'static str)>;

/// Returns the fault in a call of the function itself: `f(x, limit)`.
fn direct<'a>(
    ctx: &FileContext<'a>,
    evaluator: &Evaluator<'_, 'a>,
    custom: &Custom<'a>,
    call: &'a ast::ExprCall,
    scope: ScopeId,
) -> Found {
    let arguments = &call.arguments;
    let name = &custom.def.name;
    if !arguments.args.iter().any(Expr::is_starred_expr)
        && arguments.keywords.is_empty()
        && !Function::Def(custom.def).accepts(arguments.args.len())
    {
        return Some((
            format!("`{name}` does not take {} positional arguments", arguments.args.len()),
            "pass the arguments of the function",
        ));
    }
    let traced = arguments.args.iter().enumerate().find(|(position, value)| {
        custom.is_vjp
            && custom.fixed.contains(position)
            && is_traced_parameter(ctx, evaluator.program, scope, value)
    })?;
    Some((
        format!("`{}` is traced, but `nondiff_argnums` of `{name}` lists it", ctx.text(traced.1)),
        "make it an ordinary argument, with the cotangent `None`, or a static argument of the traced function",
    ))
}

/// Returns the fault in the rules of the function: `f.defvjp(forward, backward)`, `f.defjvps(…)`.
fn rules<'a>(
    evaluator: &Evaluator<'_, 'a>,
    custom: &Custom<'a>,
    call: &'a ast::ExprCall,
    scope: ScopeId,
    method: &str,
) -> Found {
    match method {
        "defjvps" if !custom.fixed.is_empty() => Some((
            "`defjvps` does not support `nondiff_argnums`".to_owned(),
            "use `defjvp` with one rule for all arguments",
        )),
        "defjvp" => {
            let rule = evaluator.function(scope, argument(call, 0, "jvp")?)?;
            jvp_rule(evaluator, custom, rule)
        }
        "defvjp" => {
            let forward = argument(call, 0, "fwd").and_then(|it| evaluator.function(scope, it));
            let result = forward.map_or(Value::Unknown, |forward| evaluator.call(forward, Vec::new(), 0));
            if !may_be_pair(&result) {
                return Some((
                    format!(
                        "the forward rule of `{}` returns {}, not a pair",
                        custom.def.name,
                        result.noun()
                    ),
                    "return the result of the function and the residuals: `return y, (x, y)`",
                ));
            }
            let backward = argument(call, 1, "bwd").and_then(|it| evaluator.function(scope, it))?;
            backward_rule(evaluator, custom, backward)
        }
        _ => None,
    }
}

fn backward_rule<'a>(evaluator: &Evaluator<'_, 'a>, custom: &Custom<'a>, rule: Function<'a>) -> Found {
    let parameters = &custom.def.parameters;
    if parameters.vararg.is_some() || parameters.kwarg.is_some() {
        return None;
    }
    let count = (parameters.posonlyargs.len() + parameters.args.len()).checked_sub(custom.fixed.len())?;
    let defaults = parameters.posonlyargs.iter().chain(&parameters.args).any(|it| it.default.is_some());
    let result = evaluator.call(rule, Vec::new(), 0);
    let fits = match &result {
        Value::Unknown | Value::Other | Value::Function(_) | Value::Object(_) | Value::Record(_) => true,
        Value::Tuple(elements) | Value::List(elements) => elements.len() == count || defaults,
        _ => false,
    };
    (!fits).then(|| {
        (
            format!(
                "the backward rule of `{}` returns {}, not a tuple of {count}",
                custom.def.name,
                result.noun()
            ),
            "return a tuple with a cotangent, or None, for each argument: `return (g,)`",
        )
    })
}

fn jvp_rule<'a>(evaluator: &Evaluator<'_, 'a>, custom: &Custom<'a>, rule: Function<'a>) -> Found {
    let result = evaluator.call(rule, Vec::new(), 0);
    if !may_be_pair(&result) {
        return Some((
            format!("the JVP rule of `{}` returns {}, not a pair", custom.def.name, result.noun()),
            "return the result of the function and its tangent: `return y, t`",
        ));
    }
    let (Value::Tuple(pair) | Value::List(pair)) = &result else { return None };
    let [primal, tangent] = pair.as_slice() else { return None };
    // `prefix_difference` finds no difference if the prefix is a single array, so both directions are checked.
    let differs = primal.prefix_difference(tangent).or_else(|| {
        let (tangent, primal) = tangent.prefix_difference(primal)?;
        Some((primal, tangent))
    });
    let (primal, tangent) = differs.or_else(|| shapes_differ(primal, tangent))?;
    Some((
        format!("the JVP rule of `{}` returns the tangent {tangent} for {primal}", custom.def.name),
        "return a tangent of the same structure and shape as the result",
    ))
}

fn shapes_differ(primal: &Value, tangent: &Value) -> Option<(String, String)> {
    let (one, other) = (primal.leaf()?.shape.as_ref()?, tangent.leaf()?.shape.as_ref()?);
    (one != other).then(|| (primal.noun(), tangent.noun()))
}

fn may_be_pair(value: &Value) -> bool {
    match value {
        Value::Unknown | Value::Other | Value::Function(_) | Value::Object(_) => true,
        Value::Tuple(elements) | Value::List(elements) => elements.len() == 2,
        Value::Record(record) => record.fields.len() == 2,
        Value::Leaf(_) | Value::None | Value::Dict(_) => false,
    }
}

/// Returns the fault in `jax.jvp(f, …)` or `jax.jacfwd(f)` if the function has a rule for reverse mode only.
fn forward_mode<'a>(
    ctx: &FileContext,
    call: &'a ast::ExprCall,
    custom: &Custom,
    is_custom: &dyn Fn(&'a Expr) -> bool,
) -> Found {
    let function = call.arguments.args.first().filter(|function| custom.is_vjp && is_custom(function))?;
    let name = ctx.resolve(&call.func).filter(|name| matches!(name.as_str(), "jax.jvp" | "jax.jacfwd"))?;
    Some((
        format!(
            "`{name}` cannot differentiate `{}`, which has a rule for reverse mode only",
            ctx.text(function)
        ),
        "use `jax.vjp` or `jax.jacrev`, or define the function with `jax.custom_jvp`",
    ))
}
