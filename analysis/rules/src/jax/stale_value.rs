//! Python values that a jitted function read while it was traced, and that the program changes afterwards.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use super::jitted_calls::{Body, Jitted, callee};
use crate::names::Names;
use crate::program::{Bound, Program, ScopeId, Site};
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Reports Python numbers, flags and strings from outside a jitted function that are reassigned between two calls
    /// of the function, and objects passed as static arguments whose attributes are assigned between two calls.
    ///
    /// ## Why is this bad?
    /// The value at the time of tracing is a constant of the compiled function. Assigning it later has no effect,
    /// because JAX traces again only for other shapes, dtypes and static arguments. The cache identifies a static
    /// argument by its hash and equality, so JAX does not notice that the object was changed.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// rate = 0.1
    ///
    /// @jax.jit
    /// def step(x):
    ///     return x - rate * x
    ///
    /// x = step(jnp.ones(3))
    /// rate = 0.01
    /// x = step(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @jax.jit
    /// def step(x, rate):
    ///     return x - rate * x
    ///
    /// x = step(jnp.ones(3), 0.1)
    /// x = step(x, 0.01)
    /// ```
    pub(crate) static JAX_STALE = {
        code: "AG542", name: "jax-stale-value",
        summary: "a Python value changes after a jitted function has read it",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let mut reported = FxHashSet::default();
    let calls: Vec<Call> = program
        .calls
        .iter()
        .filter_map(|site| {
            let (jitted, name, is_method) = callee(ctx, program, site.scope, site.node)?;
            let objects = static_objects(&jitted, site.node, is_method);
            Some(Call { site, jitted, name, objects })
        })
        .collect();
    for call in &calls {
        let same = |other: &&Call| other.site.scope == call.site.scope && other.name == call.name;
        let later: Vec<TextSize> =
            calls.iter().filter(same).map(|other| other.site.node.range().start()).collect();
        let helpers = match call.jitted.body {
            Some(Body::Function(def)) => program.with_helpers(def),
            _ => Vec::new(),
        };
        let helpers = helpers.into_iter().skip(1).map(Body::Function);
        for body in call.jitted.body.into_iter().chain(helpers) {
            captured(ctx, program, call.site, body, &call.name, &later, &mut reported);
        }
        for object in &call.objects {
            let passes = |other: &&Call| same(other) && other.objects.iter().any(|it| it.id == object.id);
            let first = calls.iter().filter(passes).map(|other| other.site.node.range().start()).min();
            // `self.step(x)`: an object may assign its own attributes, if the method does not read them.
            let own = call.name.starts_with("self.").then(|| read_by(&call.jitted)).flatten();
            if let Some(first) = first {
                mutated(ctx, program, call.site, object, (&call.name, own), first, &mut reported);
                mutated_by_method(ctx, program, call, object, first, &mut reported);
            }
        }
    }
}

/// A call of a jitted function.
struct Call<'c, 'a> {
    site: &'c Site<'a, ast::ExprCall>,
    jitted: Jitted<'a>,
    name: String,
    /// The names that the call passes for static parameters.
    objects: Vec<&'a ast::ExprName>,
}

fn static_objects<'a>(
    jitted: &Jitted<'a>,
    call: &'a ast::ExprCall,
    is_method: bool,
) -> Vec<&'a ast::ExprName> {
    let parameter = |position: usize| {
        let mut all = jitted.parameters?.iter_non_variadic_params();
        all.nth(position).map(|parameter| parameter.parameter.name.as_str())
    };
    let is_static = |position: usize, name: &str| {
        jitted.static_arguments.iter().any(|argument| argument.is_for(Some(position.into()), name))
    };
    let receiver = call.func.as_attribute_expr().filter(|_| is_method).map(|method| &*method.value);
    let positional = receiver.into_iter().chain(&call.arguments.args).enumerate();
    let positional = positional
        .filter(|(position, _)| is_static(*position, parameter(*position).unwrap_or_default()))
        .map(|(_, value)| value);
    let named = call.arguments.keywords.iter().filter(|keyword| {
        let name = keyword.arg.as_ref().map(|name| name.as_str());
        let position = (0..).map_while(parameter).position(|it| Some(it) == name);
        name.zip(position).is_some_and(|(name, position)| is_static(position, name))
    });
    positional.chain(named.map(|keyword| &keyword.value)).filter_map(Expr::as_name_expr).collect()
}

/// Reports a name that is reassigned between two calls: `rate = 0.1; step(x); rate = 0.01; step(x)`. The finding is at
/// the place where the function reads the name.
fn captured<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    site: &Site<'a, ast::ExprCall>,
    body: Body<'a>,
    function: &str,
    later: &[TextSize],
    reported: &mut FxHashSet<TextRange>,
) {
    let range = match body {
        Body::Function(def) => def.range(),
        Body::Lambda(lambda) => lambda.range(),
    };
    let Some(inside) = program.scope_of(range) else { return };
    let names = match body {
        Body::Function(def) => Names::of_body(&def.body),
        Body::Lambda(lambda) => Names::of_expression(&lambda.body),
    };
    let called = site.node.range().start();
    let mut seen = FxHashSet::default();
    for name in names.read {
        let own = names.bound.contains(name.id.as_str()) || names.parameters.contains(name.id.as_str());
        if own || !seen.insert(&name.id) {
            continue;
        }
        let Some(owner) = program.owner(inside, &name.id).filter(|owner| *owner != inside) else { continue };
        let bindings = program.bindings(owner, &name.id);
        let constant = bindings.first().is_some_and(|first| is_scalar(first.bound));
        let others = bindings.iter().all(|binding| {
            matches!(binding.bound, Bound::Value(value) if !value.is_call_expr())
                || matches!(binding.bound, Bound::Element(_) | Bound::Other | Bound::Import)
                    && !is_parameter(program, owner, binding.range)
        });
        if !constant || !others {
            continue;
        }
        let changed = bindings.iter().skip(1).find(|binding| {
            let at = binding.range.start();
            if binding.by != owner {
                // A function with `global rate` binds the name, unless it is the jitted function itself.
                return binding.by != inside && !range.contains_range(binding.range);
            }
            let between = called < at && later.iter().any(|call| *call > at);
            let repeated = binding.repeated.is_some()
                && binding.repeated == site.repeated
                && !range.contains_range(binding.range);
            owner == site.scope && (between || repeated)
        });
        if let Some(changed) = changed
            && reported.insert(name.range())
        {
            ctx.report(
                &JAX_STALE,
                name.range(),
                format!(
                    "`{}` is a constant of the compiled `{function}`: later assignments do not change it",
                    name.id
                ),
            )
            .label(ctx.span(changed.range), "assigned here")
            .help("pass it as an argument")
            .emit();
        }
    }
}

/// Reports the assignment to an attribute of a static argument: `step(model, x); model.rate = 0.01; step(model, x)`. If
/// `read` is given, only the attributes in it are reported.
fn mutated<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    site: &Site<'a, ast::ExprCall>,
    object: &'a ast::ExprName,
    (function, read): (&str, Option<FxHashSet<&'a str>>),
    first: TextSize,
    reported: &mut FxHashSet<TextRange>,
) {
    let called = site.node.range();
    let owner = program.owner(site.scope, &object.id);
    let bindings = owner.map_or(&[][..], |owner| program.bindings(owner, &object.id));
    let made_anew = bindings.iter().any(|binding| {
        binding.repeated.is_some() || binding.range.start() > first && binding.range.start() < called.start()
    });
    let stores = program.stores.iter().filter(|store| {
        store.scope == site.scope
            && store.node.value.as_name_expr().is_some_and(|it| it.id == object.id)
            && read.as_ref().is_none_or(|read| read.contains(store.node.attr.as_str()))
    });
    for store in stores {
        let at = store.node.range().start();
        let between = first < at && at < called.start();
        let repeated = store.repeated.is_some() && store.repeated == site.repeated;
        if (between || repeated) && !made_anew && reported.insert(store.node.range()) {
            ctx.report(
                &JAX_STALE,
                store.node,
                format!(
                    "`{}` is a static argument of `{function}`, which was compiled with the old value of `{}`",
                    object.id, store.node.attr
                ),
            )
            .label(ctx.span(called), "called again with the changed object")
            .help("pass the changed value as an argument, or make a new object")
            .emit();
        }
    }
}

/// Reports a method call that assigns an attribute which a jitted method of the same object reads:
/// `model.step(x); model.cool(0.1); model.step(x)`. `read` has the attributes that the jitted method reads.
fn mutated_by_method<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    call: &Call<'_, 'a>,
    object: &'a ast::ExprName,
    first: TextSize,
    reported: &mut FxHashSet<TextRange>,
) {
    let Some(Body::Function(jitted)) = call.jitted.body else { return };
    let Some(read) = read_by(&call.jitted) else { return };
    let class =
        program.functions.iter().find(|(def, _)| def.range() == jitted.range()).map(|(_, class)| *class);
    let called = call.site.node.range();
    let is_one_object = program
        .owner(call.site.scope, &object.id)
        .is_some_and(|owner| program.bindings(owner, &object.id).len() == 1);
    // JAX notices the change if the object's hash or equality depends on it.
    let compares = program
        .functions
        .iter()
        .any(|(def, around)| Some(*around) == class && matches!(def.name.as_str(), "__hash__" | "__eq__"));
    if !is_one_object || compares {
        return;
    }
    for other in program.calls.iter().filter(|other| other.scope == call.site.scope) {
        let at = other.node.range().start();
        let Some(attribute) = other.node.func.as_attribute_expr() else { continue };
        let is_between = first < at && at < called.start();
        if !is_between || attribute.value.as_name_expr().is_none_or(|name| name.id != object.id) {
            continue;
        }
        let mut methods = program.functions.iter().filter(|(def, _)| def.name.id == attribute.attr.id);
        let Some((method, around)) = methods.next().filter(|_| methods.next().is_none()) else { continue };
        let first_parameter = method.parameters.posonlyargs.iter().chain(&method.parameters.args).next();
        let (Some(scope), Some(receiver)) = (program.scope_of(method.range()), first_parameter) else {
            continue;
        };
        let store = program.stores.iter().find(|store| {
            store.scope == scope
                && store.node.value.as_name_expr().is_some_and(|name| name.id == receiver.parameter.name.id)
                && read.contains(store.node.attr.as_str())
        });
        let Some(store) = store.filter(|_| Some(*around) == class) else { continue };
        if reported.insert(other.node.range()) {
            let message = format!(
                "`{}` is a static argument of `{}`, which was compiled with the old value of `{}`",
                object.id, call.name, store.node.attr
            );
            ctx.report(&JAX_STALE, other.node, message)
                .label(ctx.span(store.node.range()), "assigned here")
                .label(ctx.span(called), "called again with the changed object")
                .help("pass the changed value as an argument, or make a new object")
                .emit();
        }
    }
}

/// Returns the attributes that a jitted function reads.
fn read_by<'a>(jitted: &Jitted<'a>) -> Option<FxHashSet<&'a str>> {
    let Some(Body::Function(def)) = jitted.body else { return None };
    let attributes = expressions::of_function(def).into_iter().filter_map(Expr::as_attribute_expr);
    Some(attributes.filter(|it| it.ctx.is_load()).map(|it| it.attr.as_str()).collect())
}

fn is_parameter(program: &Program, owner: ScopeId, range: TextRange) -> bool {
    program
        .functions
        .iter()
        .any(|(def, _)| def.range() == program.range(owner) && def.parameters.range().contains_range(range))
}

fn is_scalar(bound: Bound) -> bool {
    matches!(bound, Bound::Value(value) if expressions::is_scalar_literal(value))
}
