//! Values that a graph cannot carry through a loop, and values for which TensorFlow has no zero as an initial value.

use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::facts::{Alternative, TensorKind};

/// Returns a description of a value that a staged loop certainly cannot carry: "a set".
pub(super) fn uncarriable(ctx: &FunctionContext, definition: &Def) -> Option<String> {
    described(ctx, definition, |alternative| unsupported(ctx, alternative))
}

/// Returns a description of a value that TensorFlow cannot initialize with a zero. This includes every value that a
/// loop cannot carry, and a few that it can carry.
pub(super) fn without_zero(ctx: &FunctionContext, definition: &Def) -> Option<String> {
    described(ctx, definition, |alternative| match alternative {
        Alternative::Str(_) => Some("a string".to_owned()),
        Alternative::Tensor { kind: TensorKind::TensorArray, .. } => Some("a TensorArray".to_owned()),
        Alternative::Tensor { kind: TensorKind::Dataset, .. } => Some("a Dataset".to_owned()),
        _ => unsupported(ctx, alternative),
    })
}

/// Returns the description that all alternatives of a value have in common; `None` if the value is uncertain.
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

fn unsupported(ctx: &FunctionContext, alternative: &Alternative) -> Option<String> {
    match alternative {
        Alternative::Callable(_) => Some("a function or class".to_owned()),
        Alternative::Module(_) => Some("a module".to_owned()),
        Alternative::Container { class, .. } if matches!(class.as_str(), "set" | "frozenset") => {
            Some("a set".to_owned())
        }
        // The library models declare generic functions as objects.
        Alternative::Instance { module: Some(module), .. } if module == "tensorflow._ops" => {
            Some("a function".to_owned())
        }
        Alternative::Instance { module, class } if ctx.is_plain_class(module.as_deref(), class) => {
            Some(format!("a `{class}`"))
        }
        _ => None,
    }
}
