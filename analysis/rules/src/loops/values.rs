//! Which values a graph can carry from round to round, and which it can start from a placeholder.

use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::facts::{Alternative, TensorKind};

/// What a value is that no staged loop can carry: "a set"; `None` when it can, or may.
pub(super) fn uncarriable(ctx: &FunctionContext, definition: &Def) -> Option<String> {
    described(ctx, definition, |alternative| foreign(ctx, alternative))
}

/// What a value is for which TensorFlow cannot make up a first one: those that cannot be carried, and
/// a few that can.
pub(super) fn unplaceable(ctx: &FunctionContext, definition: &Def) -> Option<String> {
    described(ctx, definition, |alternative| match alternative {
        Alternative::Str(_) => Some("a string".to_owned()),
        Alternative::Tensor { kind: TensorKind::TensorArray, .. } => Some("a TensorArray".to_owned()),
        Alternative::Tensor { kind: TensorKind::Dataset, .. } => Some("a Dataset".to_owned()),
        _ => foreign(ctx, alternative),
    })
}

/// The description that all alternatives of a certain value have.
fn described(
    ctx: &FunctionContext,
    definition: &Def,
    describe: impl Fn(&Alternative) -> Option<String>,
) -> Option<String> {
    match definition.kind {
        DefKind::Function => return Some("a function".to_owned()),
        DefKind::Class => return Some("a class".to_owned()),
        DefKind::Import => return Some("a module".to_owned()),
        _ => {}
    }
    let fact = ctx.fact_of(definition);
    if fact.unknown || fact.never {
        return None;
    }
    let descriptions: Option<Vec<String>> = fact.alternatives.iter().map(describe).collect();
    descriptions?.into_iter().next()
}

fn foreign(ctx: &FunctionContext, alternative: &Alternative) -> Option<String> {
    match alternative {
        Alternative::Callable(_) => Some("a function or class".to_owned()),
        Alternative::Module(_) => Some("a module".to_owned()),
        Alternative::Container { class, .. } if matches!(class.as_str(), "set" | "frozenset") => {
            Some("a set".to_owned())
        }
        // The library models spell generic functions as objects.
        Alternative::Instance { module, .. } if module == "tensorflow._ops" => Some("a function".to_owned()),
        Alternative::Instance { module, class } if ctx.is_plain_class(module, class) => {
            Some(format!("a `{class}`"))
        }
        _ => None,
    }
}
