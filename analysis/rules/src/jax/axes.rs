//! The axes of `jax.vmap` and `jax.pmap`: `in_axes`, `out_axes`, and the shapes of the arguments.

use ruff_python_ast::{self as ast, Expr};

use super::Fault;
use super::abstract_value::Value;
use super::evaluate::{DEEPEST, Evaluator};
use super::transformed::{self, Transformed};
use crate::program::Bound;
use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, sequence};

pub(super) fn fault<'a>(evaluator: &Evaluator<'_, 'a>, transformed: &Transformed<'a>) -> Option<Fault<'a>> {
    let (name, made) = (&transformed.name, transformed.made);
    // The parameters of `jax.pmap` have other positions.
    let at = |position, keyword| match name.as_str() {
        "vmap" => argument(made, position, keyword),
        _ => transformed.keyword(keyword),
    };
    let (in_axes, out_axes) = (at(1, "in_axes"), at(2, "out_axes"));
    for (axes, keyword) in [(in_axes, "in_axes"), (out_axes, "out_axes")] {
        if let Some(wrong) = axes.and_then(not_an_axis) {
            return Some(Fault {
                message: format!(
                    "`{keyword}` of `jax.{name}` holds a value that is neither an integer nor None"
                ),
                help: "pass the positions of axes",
                at: wrong,
            });
        }
    }
    let function = evaluator.function(transformed.scope, transformed.function()?);
    let listed = in_axes.and_then(sequence);
    if let (Some(function), Some(listed), Some(at)) = (function, listed, in_axes)
        && !listed.iter().any(Expr::is_starred_expr)
        && !function.accepts_count(listed.len())
    {
        return Some(Fault {
            message: format!(
                "`in_axes` of `jax.{name}` has {} entries, but {} does not take as many positional arguments",
                listed.len(),
                function.name()
            ),
            help: "pass one entry for each positional argument",
            at,
        });
    }
    if let (Some(function), Some(at)) = (function, out_axes)
        && let Some(axes) = sequence(at)
    {
        let result = evaluator.call(function, Vec::new(), 0);
        let fits = match &result {
            Value::Tuple(results) => results.len() == axes.len(),
            Value::Leaf(_) | Value::Dict(_) => false,
            _ => true,
        };
        if !fits {
            return Some(Fault {
                message: format!(
                    "`out_axes` of `jax.{name}` has {} entries, but the function returns {}",
                    axes.len(),
                    result.noun()
                ),
                help: "pass one entry for each result",
                at,
            });
        }
    }
    applied(evaluator, transformed, in_axes)
}

/// Returns the fault in a call of the function that `jax.vmap` returns.
fn applied<'a>(
    evaluator: &Evaluator<'_, 'a>,
    transformed: &Transformed<'a>,
    in_axes: Option<&'a Expr>,
) -> Option<Fault<'a>> {
    let (name, arguments) = (&transformed.name, transformed.arguments()?);
    let (call, scope) = transformed.applied?;
    let at = in_axes.or(transformed.function())?;
    let by_keyword = !call.arguments.keywords.is_empty();
    let has_size = transformed.sets("axis_size");
    let listed = in_axes.and_then(sequence);
    let whole = in_axes.filter(|_| listed.is_none());
    if arguments.is_empty() && !by_keyword && !has_size {
        return Some(Fault {
            message: format!("the function that `jax.{name}` returns is called without arguments"),
            help: "pass an array, or `axis_size=`",
            at,
        });
    }
    if let Some((name, listed, at)) = all_in_axes(evaluator, transformed, in_axes)
        .into_iter()
        .find(|(_, listed, _)| !listed.iter().any(Expr::is_starred_expr) && listed.len() != arguments.len())
    {
        return Some(Fault {
            message: format!(
                "`in_axes` of `jax.{name}` has {} entries, but the call has {} positional arguments",
                listed.len(),
                arguments.len()
            ),
            help: "pass one entry for each positional argument",
            at,
        });
    }
    let nothing = match (listed, whole) {
        (Some(listed), _) => listed.iter().all(Expr::is_none_literal_expr),
        (None, Some(axis)) => axis.is_none_literal_expr(),
        (None, None) => false,
    };
    if nothing && !by_keyword && !has_size {
        return Some(Fault {
            message: format!("`jax.{name}` maps none of its arguments"),
            help: "pass the axis of at least one argument in `in_axes`",
            at,
        });
    }
    let mut length: Option<u64> = None;
    for (position, argument) in arguments.iter().enumerate() {
        let value = evaluator.value(scope, argument);
        let axes = listed.and_then(|listed| listed.get(position)).or(whole);
        match mapped(&value, axes, &mut length) {
            Ok(()) => {}
            Err(Mismatch::Rank(noun)) => {
                return Some(Fault {
                    message: format!("`jax.{name}` maps over {noun}, which does not have the mapped axis"),
                    help: "pass `None` in `in_axes` for arguments that are not mapped",
                    at: argument,
                });
            }
            Err(Mismatch::Length(one, other)) => {
                return Some(Fault {
                    message: format!("`jax.{name}` maps over axes of the lengths {one} and {other}"),
                    help: "pass arrays of the same length, and `None` in `in_axes` for arguments that are not mapped",
                    at: argument,
                });
            }
            Err(Mismatch::Structure) => {
                return Some(Fault {
                    message: format!(
                        "`in_axes` of `jax.{name}` has a different structure from {}",
                        value.noun()
                    ),
                    help: "pass an axis for each element, or one for all",
                    at,
                });
            }
        }
    }
    None
}

enum Mismatch {
    Rank(String),
    Length(u64, u64),
    Structure,
}

/// Compares the lengths of an argument's mapped axes with `length`, the length found so far. If `axes` is `None`, the
/// first axis of each array is mapped.
fn mapped(value: &Value, axes: Option<&Expr>, length: &mut Option<u64>) -> Result<(), Mismatch> {
    if let Some(axes) = axes
        && let Some(listed) = sequence(axes)
    {
        return match value {
            Value::Tuple(elements) if elements.len() == listed.len() => elements
                .iter()
                .zip(listed)
                .try_for_each(|(element, axes)| mapped(element, Some(axes), length)),
            Value::Tuple(_) | Value::Leaf(_) | Value::Dict(_) if axes.is_tuple_expr() => {
                Err(Mismatch::Structure)
            }
            _ => Ok(()),
        };
    }
    let axis = match axes {
        None => 0,
        Some(axes) => match integer(axes) {
            Some(axis) => axis,
            None => return Ok(()),
        },
    };
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    for leaf in leaves {
        let Some(shape) = &leaf.shape else { continue };
        let rank = shape.len() as i64;
        let position = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok();
        let Some(size) = position.and_then(|position| shape.get(position)) else {
            return Err(Mismatch::Rank(leaf.noun()));
        };
        match length {
            Some(known) if known != size => return Err(Mismatch::Length(*known, *size)),
            _ => *length = Some(*size),
        }
    }
    Ok(())
}

/// Returns the first string or float among the axes.
fn not_an_axis(axes: &Expr) -> Option<&Expr> {
    match axes {
        Expr::StringLiteral(_) => Some(axes),
        Expr::NumberLiteral(literal) => (!matches!(literal.value, ast::Number::Int(_))).then_some(axes),
        _ => sequence(axes)?.iter().find_map(not_an_axis),
    }
}

/// Returns the entries of `in_axes` of a transformation, and of the `jax.vmap`s inside it, which receive the same
/// positional arguments:
///
/// ```python
/// rows = jax.vmap(kernel, in_axes=(None, 0))
/// matrix = jax.vmap(rows, in_axes=(0, None))
/// ```
fn all_in_axes<'a>(
    evaluator: &Evaluator<'_, 'a>,
    transformed: &Transformed<'a>,
    in_axes: Option<&'a Expr>,
) -> Vec<(&'static str, &'a [Expr], &'a Expr)> {
    let name = if transformed.name == "pmap" { "pmap" } else { "vmap" };
    let own = in_axes.and_then(|axes| Some((name, sequence(axes)?, axes)));
    let mut found: Vec<_> = own.into_iter().collect();
    let mut inner = transformed.function().map(|function| (transformed.scope, function));
    for _ in 0..DEEPEST {
        let Some((scope, function)) = inner else { break };
        let (Bound::Value(Expr::Call(made)), scope) = evaluator.program.value(scope, function) else { break };
        if transformed::name(evaluator.ctx, made).is_none_or(|name| name != "vmap") {
            break;
        }
        if let Some(axes) = argument(made, 1, "in_axes")
            && let Some(listed) = sequence(axes)
        {
            found.push(("vmap", listed, axes));
        }
        inner = made.arguments.args.first().map(|function| (scope, function));
    }
    found
}
