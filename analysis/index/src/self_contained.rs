//! Self-contained functions: their bodies do not affect the types of other code.
//!
//! The type engine treats the result of a function without annotation as unknown, and the names that a function binds
//! are local. So other code does not depend on the body of an outermost function, unless the body sets attributes,
//! imports a module, or contains `global` or `nonlocal`:
//!
//! ```python
//! def g(x):
//!     y = x + 1        # visible in `g` only
//!     self.y = y       # visible in every function that reads `.y`
//! ```
//!
//! This determines which types an edit can change (`ag-staging`'s `difference`), and which bodies annotated
//! source may omit when only some functions are queried (`ag-types`' `annotate`).

use ruff_text_size::TextRange;

use crate::ids::FunctionIndex;
use crate::index::FileIndex;
use ag_syntax::functions::FunctionPath;

impl FileIndex {
    /// Returns a function and all functions nested in it.
    pub fn with_nested(&self, function: FunctionIndex) -> impl Iterator<Item = FunctionIndex> + '_ {
        let functions = &self.definitions.functions;
        let range = functions.get(function).map_or(TextRange::default(), |entry| entry.range);
        let after = functions.iter_enumerated().skip(function.as_usize());
        after.take_while(move |(_, entry)| range.contains_range(entry.range)).map(|(nested, _)| nested)
    }

    /// Returns whether an outermost function is self-contained. Other code then depends on its body in one respect
    /// only: whether the function is a generator.
    pub fn is_self_contained(&self, function: FunctionIndex) -> bool {
        self.with_nested(function)
            .all(|nested| self.signatures.get(nested).is_some_and(|signature| !signature.binds_outside()))
    }

    /// Returns whether a function, or one nested in it, returns functions that are nested in it. Other code may then
    /// call these functions.
    pub fn returns_functions(&self, function: FunctionIndex) -> bool {
        self.with_nested(function)
            .any(|nested| self.signatures.get(nested).is_some_and(|signature| !signature.returned.is_empty()))
    }

    /// Returns whether an outermost function contains `global`. `nonlocal` does not matter: such names belong to the
    /// function itself.
    pub fn declares_global(&self, function: FunctionIndex) -> bool {
        self.with_nested(function)
            .any(|nested| self.signatures.get(nested).is_none_or(|signature| signature.declares_global))
    }

    /// Returns the outermost function that contains a function, or the function itself.
    pub fn outermost(&self, function: FunctionIndex) -> FunctionIndex {
        let parent = self.definitions.functions.get(function).and_then(|entry| entry.parent);
        parent.map_or(function, |parent| self.outermost(parent))
    }

    /// Returns the bodies that annotated source may omit. These are the bodies of outermost functions that are not
    /// `needed`, have a unique name, and contain no syntax errors and no `yield`.
    pub fn omittable_bodies(&self, needed: &dyn Fn(FunctionIndex) -> bool) -> Vec<TextRange> {
        let outermost =
            self.definitions.functions.iter_enumerated().filter(|(_, entry)| entry.parent.is_none());
        let bodies = outermost.filter_map(|(function, entry)| {
            let signature = self.signatures.get(function)?;
            let broken = self.syntax_errors.iter().any(|(range, _)| entry.range.intersect(*range).is_some());
            // Functions with the same name are distinguished by their order.
            let twin = FunctionPath { qualname: entry.path.qualname.clone(), occurrence: 1 };
            let is_omittable = !broken
                && !signature.is_generator
                && entry.path.occurrence == 0
                && self.definitions.find(&twin).is_none()
                && !needed(function);
            is_omittable.then(|| TextRange::new(signature.body_at.min(entry.range.end()), entry.range.end()))
        });
        bodies.collect()
    }
}
