//! A type as the fixpoint carries it from file to file: annotation texts, ordered, bounded.
//!
//! An alternative is Python's notation with every class named by where it is defined:
//! `list[{tensorflow:Tensor}]`, `int`, `{model.layers:Config.Mode}`. The ghost view of a file turns
//! the braces into names that resolve there ([`ag_types::annotate`]).

use std::collections::BTreeSet;

use ruff_python_ast::name::Name;

/// More alternatives than this say nothing a person could follow.
const MAX_ALTERNATIVES: usize = 8;
/// Longer notations grow without end (`tuple[tuple[…]]` built in a loop).
const MAX_LENGTH: usize = 240;

/// The types that a parameter or return value is assumed to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssumedType {
    alternatives: BTreeSet<Name>,
    /// Something flows in whose type is not known.
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

    /// Nothing at all is known.
    pub fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    pub fn alternatives(&self) -> impl Iterator<Item = &Name> {
        self.alternatives.iter()
    }

    pub fn contains(&self, alternative: &str) -> bool {
        self.alternatives.iter().any(|known| known == alternative)
    }

    /// For people: `Tensor | None`, classes by their last name.
    pub fn shown(&self) -> String {
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
        shown.replace("ag_tensor_", "Tensor").replace("ag_argument_", "Tensor").replace("ag_array_", "Array")
    }
}

/// Replaces each `{module:qualname}`; `None` when `name` refuses one.
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
