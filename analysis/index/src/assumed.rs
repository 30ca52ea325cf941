//! Types that the fixpoint propagates between files: a bounded, ordered set of annotations.
//!
//! An alternative is an annotation in which every class is qualified by its module:
//! `list[{tensorflow:Tensor}]`, `int`, `{model.layers:Config.Mode}`. Annotated source replaces the braces by
//! names that resolve in the file (`ag-types`' `annotate`).

use std::collections::BTreeSet;

use ruff_python_ast::name::Name;

/// A type with more alternatives than this becomes unknown.
const MAX_ALTERNATIVES: usize = 8;
/// The maximum length of an annotation. It bounds recursive types (`tuple[tuple[…]]`, built in a loop).
const MAX_LENGTH: usize = 240;

/// The types that a parameter or return value is assumed to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssumedType {
    alternatives: BTreeSet<Name>,
    /// Some values have an unknown type.
    pub unknown: bool,
}

impl AssumedType {
    pub fn of(alternative: impl AsRef<str>) -> Self {
        let mut assumed = Self::default();
        assumed.insert(alternative);
        assumed
    }

    pub fn unknown() -> Self {
        Self { alternatives: BTreeSet::new(), unknown: true }
    }

    /// `module` and a dotted name in it.
    pub fn class(module: &str, qualname: &str) -> Self {
        Self::of(format!("{{{module}:{qualname}}}"))
    }

    pub fn insert(&mut self, alternative: impl AsRef<str>) {
        let alternative = alternative.as_ref();
        if alternative.len() > MAX_LENGTH {
            self.unknown = true;
            return;
        }
        self.alternatives.insert(Name::new(alternative));
        if self.alternatives.len() > MAX_ALTERNATIVES {
            self.alternatives.clear();
            self.unknown = true;
        }
    }

    pub fn join(&mut self, other: &Self) {
        self.unknown |= other.unknown;
        for alternative in &other.alternatives {
            self.insert(alternative);
        }
    }

    /// There are no known alternatives.
    pub fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    pub fn alternatives(&self) -> impl Iterator<Item = &Name> {
        self.alternatives.iter()
    }

    pub fn contains(&self, alternative: &str) -> bool {
        self.alternatives.iter().any(|known| known == alternative)
    }

    /// The type for display, with classes by their last names: `Tensor | None`; `None` without known alternatives.
    pub fn shown(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut shown = String::new();
        for alternative in &self.alternatives {
            if !shown.is_empty() {
                shown.push_str(" | ");
            }
            shown.push_str(
                &resolve_classes(alternative, &mut |_, qualname| Some(qualname.to_owned()))
                    .unwrap_or_default(),
            );
        }
        Some(
            shown
                .replace("ag_tensor_", "Tensor")
                .replace("ag_argument_", "Tensor")
                .replace("ag_array_", "Array"),
        )
    }
}

/// Replaces each `{module:qualname}` by `name(module, qualname)`; `None` if that returns `None` for one of them.
pub fn resolve_classes(
    alternative: &str,
    name: &mut dyn FnMut(&str, &str) -> Option<String>,
) -> Option<String> {
    let mut resolved = String::with_capacity(alternative.len());
    let mut rest = alternative;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        let close = after.find('}')?;
        let (module, qualname) = after[1..close].rsplit_once(':')?;
        resolved.push_str(before);
        resolved.push_str(&name(module, qualname)?);
        rest = &after[close + 1..];
    }
    resolved.push_str(rest);
    Some(resolved)
}
