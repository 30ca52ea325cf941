//! What the evaluation of a program finds in its functions.

use ruff_text_size::TextRange;
use rustc_hash::FxHashMap;

/// How staged code reaches an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Through a function that may not be called.
    #[default]
    Possible,
    /// From a root, if conditions hold that are not known.
    Conditional,
    /// From a root.
    Certain,
}

/// The expressions of a function that are traced arrays, relative to the function.
pub(crate) type Traced = FxHashMap<TextRange, Reach>;

/// What the program does in functions that are traced, as far as the framework rejects it.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// The expressions and targets that store traced arrays, and the text of an expression that uses the array after the
    /// trace.
    pub leaks: Vec<(TextRange, Reach, String)>,
    /// The calls that create variables in a trace of a `tf.function` that is not the first one.
    pub variables: Vec<(TextRange, Reach)>,
    /// The attributes that are constants of a graph, and change before a call that uses the graph again.
    pub captures: Vec<(TextRange, Reach)>,
    /// The operations `text % values` that format traced arrays as numbers.
    pub formats: Vec<(TextRange, Reach)>,
    /// The calls of `next` that advance a Python iterator from outside of the trace.
    pub iterators: Vec<(TextRange, Reach)>,
    /// The calls and assignments that change objects of `flax.nnx`.
    pub states: Vec<(TextRange, Reach, StateFault)>,
}

/// Why a traced function cannot change an object of `flax.nnx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateFault {
    /// The function does not receive the object.
    Outer,
    /// The function receives a copy from this transformation.
    Copied(&'static str),
}

impl Faults {
    /// Returns how staged code reaches a leak in a range.
    pub(crate) fn leak(&self, range: TextRange) -> Option<Reach> {
        let leak = self.leaks.iter().find(|(leak, ..)| leak.intersect(range).is_some());
        leak.map(|(_, reach, _)| *reach)
    }

    /// Returns how staged code reaches a call that creates a variable.
    pub(crate) fn variable(&self, range: TextRange) -> Option<Reach> {
        reach_of(&self.variables, range)
    }

    /// Returns how staged code reaches an attribute that is a constant of a graph.
    pub(crate) fn capture(&self, range: TextRange) -> Option<Reach> {
        reach_of(&self.captures, range)
    }

    /// Returns how staged code reaches a call of `next`.
    pub(crate) fn iterator(&self, range: TextRange) -> Option<Reach> {
        reach_of(&self.iterators, range)
    }

    /// Returns how staged code reaches an operation that formats an array.
    pub(crate) fn format(&self, range: TextRange) -> Option<Reach> {
        reach_of(&self.formats, range)
    }
}

fn reach_of(all: &[(TextRange, Reach)], range: TextRange) -> Option<Reach> {
    all.iter().find(|(known, _)| *known == range).map(|(_, reach)| *reach)
}

/// What changes between the calls of a `tf.function`, which is therefore traced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Changing {
    Number,
    Text,
    /// The length of a list, tuple or dictionary.
    Length,
}
