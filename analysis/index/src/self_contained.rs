//! Functions whose bodies are their own affair.
//!
//! Without an annotation the inference engine takes a function's result for unknown, and the names that it
//! binds are local. So what stands in the body of an outermost function is seen by nobody else, unless it
//! sets attributes, imports a module, or says `global`:
//!
//! ```python
//! def g(x):
//!     y = x + 1        # seen by `g` alone
//!     self.y = y       # seen by every function that reads `.y`
//! ```
//!
//! From this follow what an edit can have changed ([`ag_staging::difference`]), and what need not be written when
//! only some functions are asked for ([`ag_types::annotate`]).

use ruff_text_size::TextRange;

use crate::index::FileIndex;
use ag_syntax::functions::FunctionPath;

impl FileIndex {
    /// A function, and all functions nested in it.
    pub fn with_nested(&self, function: u32) -> impl Iterator<Item = u32> + '_ {
        let functions = &self.definitions.functions;
        let range = functions.get(function as usize).map_or(TextRange::default(), |entry| entry.range);
        let after = functions.iter().enumerate().skip(function as usize);
        after.take_while(move |(_, entry)| range.contains_range(entry.range)).map(|(number, _)| number as u32)
    }

    /// Whether nothing in the body of an outermost function is seen by others. Whether it is a generator
    /// counts as seen.
    pub fn is_closed(&self, function: u32) -> bool {
        self.with_nested(function).all(|nested| {
            self.signatures.get(nested as usize).is_some_and(|signature| !signature.reaches_out())
        })
    }

    /// The outermost function that a function is, or is nested in.
    pub fn outermost(&self, function: u32) -> u32 {
        let parent = self.definitions.functions.get(function as usize).and_then(|entry| entry.parent);
        parent.map_or(function, |parent| self.outermost(parent))
    }

    /// The bodies that may be left out of the ghost view: those of outermost functions that are not
    /// `needed`, where the text allows it.
    pub fn dispensable(&self, needed: &dyn Fn(u32) -> bool) -> Vec<TextRange> {
        let outermost =
            self.definitions.functions.iter().enumerate().filter(|(_, entry)| entry.parent.is_none());
        let bodies = outermost.filter_map(|(number, entry)| {
            let function = number as u32;
            let signature = self.signatures.get(number)?;
            let broken = self.syntax_errors.iter().any(|(range, _)| entry.range.intersect(*range).is_some());
            // Functions of one name are told apart by counting them.
            let twin = FunctionPath { qualname: entry.path.qualname.clone(), occurrence: 1 };
            let is_dispensable = !broken
                && !signature.is_generator
                && entry.path.occurrence == 0
                && self.definitions.find(&twin).is_none()
                && !needed(function);
            is_dispensable
                .then(|| TextRange::new(signature.body_at.min(entry.range.end()), entry.range.end()))
        });
        bodies.collect()
    }
}
