//! Random number generators that are objects: `np.random.default_rng(0)`, `random.Random(0)`.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_flow::Def;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

/// Methods of random number generators that do not draw a number.
const NOT_DRAWING: [&str; 5] = ["spawn", "seed", "getstate", "setstate", "bit_generator"];

/// Returns whether a call draws from a generator of NumPy or Python: `self.rng.normal()`, where `self.rng` is a
/// `numpy.random.Generator`. Generators that the function itself creates from a seed do not count: they give the same
/// numbers in each call, so it makes no difference that the numbers become constants of the graph
/// (`np.random.RandomState(0).normal()`).
pub(super) fn draws_from_generator(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let Some(method) = call.func.as_attribute_expr() else { return false };
    let is_generator = |alternative: &Alternative| is_of_numpy(alternative) || is_of_python(alternative);
    is_always(ctx, &method.value, is_generator)
        && !NOT_DRAWING.contains(&method.attr.as_str())
        && !is_seeded(ctx, &method.value)
}

/// Returns whether a call is of a method of a generator of NumPy, which is written in C.
pub(super) fn calls_numpy_generator(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    call.func.as_attribute_expr().is_some_and(|method| is_always(ctx, &method.value, is_of_numpy))
}

fn is_always(ctx: &FunctionContext, value: &Expr, holds: impl Fn(&Alternative) -> bool) -> bool {
    let fact = ctx.fact(value);
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(holds)
}

fn is_of_numpy(alternative: &Alternative) -> bool {
    matches!(
        alternative,
        Alternative::Instance { module: Some(module), class }
            if module.starts_with("numpy.random") && matches!(class.as_str(), "Generator" | "RandomState")
    )
}

fn is_of_python(alternative: &Alternative) -> bool {
    matches!(
        alternative,
        Alternative::Instance { module: Some(module), class } if module == "random" && class == "Random"
    )
}

/// Returns whether a generator is created in this function from a seed: `np.random.default_rng(0)`, or a variable that
/// is bound to such a generator.
fn is_seeded(ctx: &FunctionContext, generator: &Expr) -> bool {
    match generator {
        Expr::Call(call) => {
            let is_generator =
                ctx.resolve(&call.func).is_some_and(|name| GENERATORS.contains(&name.as_str()));
            is_generator && seed_of(call).is_some()
        }
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let is_seeded = |definition: &&Def| {
                let value = ctx.value_of(definition);
                value.is_some_and(|value| value.is_call_expr() && is_seeded(ctx, value))
            };
            !definitions.is_empty() && definitions.iter().all(is_seeded)
        }
        _ => false,
    }
}

/// Returns whether a function seeds the global generator from which a call draws: `np.random.seed(0)` before
/// `np.random.normal()`. If it does, each call draws the same numbers.
pub(super) fn seeds_global_generator(ctx: &FunctionContext, drawing: &ast::ExprCall) -> bool {
    let Some(name) = ctx.resolve(&drawing.func) else { return false };
    let Some((module, _)) = name.rsplit_once('.') else { return false };
    let seed = format!("{module}.seed");
    ctx.expressions().into_iter().filter_map(Expr::as_call_expr).any(|call| {
        call.range().end() <= drawing.range().start()
            && ctx.resolve(&call.func).is_some_and(|name| name == seed)
            && seed_of(call).is_some()
    })
}

/// The classes and functions that create a generator.
const GENERATORS: [&str; 3] = ["numpy.random.RandomState", "numpy.random.default_rng", "random.Random"];

/// Returns the seed that a call passes. Without a seed, or with `None`, the operating system provides one.
fn seed_of(call: &ast::ExprCall) -> Option<&Expr> {
    let keyword = call.arguments.keywords.first().map(|keyword| &keyword.value);
    call.arguments.args.first().or(keyword).filter(|seed| !seed.is_none_literal_expr())
}
