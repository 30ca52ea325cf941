//! Random number generators as objects: `np.random.default_rng(0)`, `random.Random(0)`.

use ruff_python_ast as ast;

use crate::FunctionContext;
use ag_index::facts::Alternative;

/// Methods of random number generators that draw no number.
const NOT_DRAWING: [&str; 5] = ["spawn", "seed", "getstate", "setstate", "bit_generator"];

/// Whether a call draws from a generator of NumPy or Python: `self.rng.normal()`, where `self.rng` is a
/// `numpy.random.Generator`.
pub(super) fn draws_from_generator(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let Some(method) = call.func.as_attribute_expr() else { return false };
    let fact = ctx.fact(&method.value);
    let is_generator = |alternative: &Alternative| match alternative {
        Alternative::Instance { module: Some(module), class } => match module.as_str() {
            "random" => class == "Random",
            module => {
                module.starts_with("numpy.random") && matches!(class.as_str(), "Generator" | "RandomState")
            }
        },
        _ => false,
    };
    !fact.unknown
        && !fact.alternatives.is_empty()
        && fact.alternatives.iter().all(is_generator)
        && !NOT_DRAWING.contains(&method.attr.as_str())
}
