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
    /// Expressions with other faults.
    pub places: Vec<(TextRange, Reach, Fault)>,
    /// The arguments that JAX cannot trace, by the calls that pass them.
    pub leaves: Vec<(TextRange, Leaf)>,
}

/// A fault of an expression in a traced function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The expression changes an object of `flax.nnx` that the function does not receive.
    OuterState,
    /// The expression changes an object of `flax.nnx` of which the function receives a copy from this transformation.
    CopiedState(&'static str),
    /// An array is the index of a Python list or tuple.
    Index,
    /// `isinstance(rate, float)`, where the caller passes a Python number for `rate`, and the function receives a tracer.
    NumberType,
}

/// A leaf of an argument that JAX cannot trace: the text in `State(params, "adam")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The jitted function.
    pub function: String,
    /// The parameter, and the attributes and items that lead to the leaf: `state.name`.
    pub path: String,
    /// The kind of value, as a noun phrase: "a string".
    pub noun: &'static str,
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

    /// Returns how staged code reaches an expression with another fault.
    pub(crate) fn place(&self, range: TextRange) -> Option<Reach> {
        self.places.iter().find(|(known, ..)| *known == range).map(|(_, reach, _)| *reach)
    }

    /// Returns whether an expression is an item of a Python sequence, with an array as index.
    pub(crate) fn is_index(&self, range: TextRange) -> bool {
        self.places.iter().any(|(known, _, fault)| *known == range && *fault == Fault::Index)
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
