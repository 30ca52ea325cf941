//! Types that the fixpoint propagates between files: bounded, ordered sets of type expressions.

use crate::type_expression::TypeExpression;

/// The maximum number of alternatives. A type with more alternatives becomes unknown.
const MAX_ALTERNATIVES: usize = 8;
/// The maximum length of an alternative. It bounds recursive types, such as a `tuple[tuple[…]]` that a loop builds.
const MAX_LENGTH: usize = 240;

/// The types that a parameter or return value is assumed to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssumedType {
    /// The known alternatives, sorted.
    alternatives: Vec<TypeExpression>,
    /// Whether some values have an unknown type.
    pub unknown: bool,
}

impl AssumedType {
    pub fn of(alternative: TypeExpression) -> Self {
        let mut assumed = Self::default();
        assumed.insert(alternative);
        assumed
    }

    pub fn unknown() -> Self {
        Self { alternatives: Vec::new(), unknown: true }
    }

    pub fn insert(&mut self, alternative: TypeExpression) {
        if alternative.length() > MAX_LENGTH {
            self.unknown = true;
            return;
        }
        let Err(position) = self.alternatives.binary_search(&alternative) else { return };
        if self.alternatives.len() == MAX_ALTERNATIVES {
            self.alternatives = Vec::new();
            self.unknown = true;
            return;
        }
        self.alternatives.reserve_exact(1);
        self.alternatives.insert(position, alternative);
    }

    pub fn join(&mut self, other: &Self) {
        self.unknown |= other.unknown;
        for alternative in &other.alternatives {
            self.insert(alternative.clone());
        }
    }

    /// Returns whether a value is assumed to be a Tensor, and may be a structure of Tensors.
    pub fn has_placeholder(&self) -> bool {
        self.alternatives.iter().any(|alternative| matches!(alternative, TypeExpression::Placeholder(_)))
    }

    /// Returns whether all types are known, and some value is not an instance of a builtin class.
    pub fn is_beyond_builtins(&self) -> bool {
        !self.unknown && self.alternatives.iter().any(|it| !matches!(it, TypeExpression::Builtin(_)))
    }

    /// Returns whether all values are `True`, `False` or `None`, and at least one is a `bool`.
    pub fn is_flag(&self) -> bool {
        let is_bool = |alternative: &TypeExpression| *alternative == TypeExpression::builtin("bool");
        !self.unknown
            && self.alternatives.iter().any(is_bool)
            && self.alternatives.iter().all(|alternative| is_bool(alternative) || alternative.is_none())
    }

    /// Returns whether all values are lists or tuples, and there is at least one.
    pub fn is_sequence(&self) -> bool {
        let is_sequence = |alternative: &TypeExpression| {
            let TypeExpression::Generic(generic) = alternative else { return false };
            matches!(&generic.0, TypeExpression::Builtin(class) if matches!(class.as_str(), "list" | "tuple"))
        };
        !self.unknown && !self.is_empty() && self.alternatives.iter().all(is_sequence)
    }

    /// Returns whether no alternative is known.
    pub fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    pub fn alternatives(&self) -> &[TypeExpression] {
        &self.alternatives
    }

    /// Returns the union of the alternatives, with `Any` if some values have an unknown type; `None` if it would be
    /// empty.
    pub fn union(&self) -> Option<TypeExpression> {
        let any = self.unknown.then(TypeExpression::any);
        let is_empty = self.alternatives.is_empty() && any.is_none();
        (!is_empty).then(|| TypeExpression::union(self.alternatives.iter().cloned().chain(any)))
    }

    /// Returns the type for display: `Tensor | None`. Returns `None` if no alternative is known. An assumed Tensor has no
    /// known dtype, so `Tensor[Any]` would add nothing.
    pub fn shown(&self) -> Option<String> {
        let is_assumed = self.has_placeholder();
        let shown = self.alternatives.iter().filter(|it| !(is_assumed && it.is_untyped_tensor()));
        let shown: Vec<String> = shown.map(TypeExpression::shown).collect();
        (!shown.is_empty()).then(|| shown.join(" | "))
    }
}
