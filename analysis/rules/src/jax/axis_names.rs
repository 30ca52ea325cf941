//! Collective operations over an axis that is not bound: `lax.pmean(x, "batch")` without `axis_name="batch"`.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::evaluate::Evaluator;
use super::function::Function;
use super::transformed;
use ag_index::callbacks::argument;

/// The collective operations, each with the position of its argument for the axis name.
const COLLECTIVE: &[(&str, usize)] = &[
    ("all_gather", 1),
    ("all_to_all", 1),
    ("axis_index", 0),
    ("pmax", 1),
    ("pmean", 1),
    ("pmin", 1),
    ("ppermute", 1),
    ("psum", 1),
    ("psum_scatter", 1),
];

/// Returns the collective operations in functions that the file maps without an axis name, each with a message. An axis
/// name that occurs elsewhere in the file is skipped, because it may be bound there.
pub(super) fn unbound<'a>(evaluator: &Evaluator<'_, 'a>) -> Vec<(&'a ast::ExprCall, String)> {
    let (ctx, program) = (evaluator.ctx, evaluator.program);
    let mut collectives = Vec::new();
    for site in &program.calls {
        let Some(name) = ctx.resolve(&site.node.func) else { continue };
        let function = name.strip_prefix("jax.lax.").unwrap_or_default();
        let Some((_, position)) = COLLECTIVE.iter().find(|(known, _)| *known == function) else { continue };
        if let Some(Expr::StringLiteral(axis)) = argument(site.node, *position, "axis_name") {
            collectives.push((site.node, axis.value.to_str(), function.to_owned()));
        }
    }
    if collectives.is_empty() {
        return Vec::new();
    }
    let mut mapped: Vec<_> = transformed::all(ctx, program)
        .into_iter()
        .filter(|it| matches!(it.name.as_str(), "vmap" | "pmap") && it.keyword("axis_name").is_none())
        .filter_map(|it| evaluator.function(it.scope, it.function()?))
        .map(Function::range)
        .collect();
    let is_mapping = |decorator: &ast::Decorator| {
        ctx.resolve(&decorator.expression)
            .is_some_and(|name| matches!(name.as_str(), "jax.vmap" | "jax.pmap"))
    };
    let decorated =
        program.functions.iter().filter(|(def, _)| def.decorator_list.last().is_some_and(is_mapping));
    mapped.extend(decorated.map(|(def, _)| def.range()));
    let written = |axis: &str| {
        let quoted = [format!("\"{axis}\""), format!("'{axis}'")];
        quoted.iter().map(|text| ctx.text.matches(text.as_str()).count()).sum::<usize>()
    };
    let uses = |axis: &str| collectives.iter().filter(|(_, other, _)| *other == axis).count();
    collectives
        .iter()
        .filter(|(call, axis, _)| {
            mapped.iter().any(|range| range.contains_range(call.range())) && written(axis) == uses(axis)
        })
        .map(|(call, axis, function)| {
            (*call, format!("`lax.{function}` uses the axis `{axis}`, which no transformation defines"))
        })
        .collect()
}
