//! How a function is staged: its dialect, its root, and the assumed types of its parameters.
//!
//! These are inputs of the database, and only the fixpoint (`ag-staging`'s `fixpoint`) sets them. Precedence of
//! types: annotation > call sites > literal default > assumption.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;

use crate::dialect::{Dialect, RootKind};
use crate::facts::Binding;
use crate::ids::ParameterIndex;
use ag_db::diagnostic::{Span, Why};

/// A staged function: a root, or one that a root calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub dialect: Dialect,
    pub root: Option<RootKind>,
    /// The kind of this root, or of the root that reaches the function.
    pub mode: RootKind,
    /// The decorator or call that makes the function a root, or the call that reaches the function.
    pub cause: Option<Span>,
    /// AutoGraph converts it. False in the dialects that only trace, and if `unconverted` is set.
    pub converts: bool,
    /// No call or root certainly reaches it: it overrides a method that is called on `self`, or it flows to a call as
    /// a value ([`crate::value_flow`]).
    pub uncertain: bool,
    /// It flows to a call as a value, and no other function of the project flows to that call.
    pub by_value: bool,
    /// Why AutoGraph does not convert it, in a dialect with AutoGraph. A test of a Tensor in it is an error.
    pub unconverted: Option<Unconverted>,
    /// If it is converted for only some of its callers: why it is not converted for the others.
    pub also_unconverted: Option<Unconverted>,
    /// The types of the function are inferred. In a large project, this is done only for functions that test values.
    pub typed: bool,
    pub parameters: IndexVec<ParameterIndex, Parameter>,
    pub static_parameters: StaticParameters,
    pub options: RootOptions,
}

/// Why AutoGraph does not convert a staged function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unconverted {
    /// `autograph=False`.
    Option,
    /// Keras 3 does not convert its methods.
    Keras,
    /// A library calls it without conversion: a body of `tf.cond`.
    Body,
    /// `__init__`: Python constructs objects.
    Constructor,
    /// Python calls it for a `with` or `for`: `__enter__`, `__next__`.
    Protocol,
    /// `@tf.autograph.experimental.do_not_convert`.
    DoNotConvert,
    /// `@functools.lru_cache`, `@functools.cache`.
    Cached,
    /// It contains unsupported syntax: see [`ag_syntax::unsupported`].
    Syntax,
    /// It is called from code that is not converted.
    Caller,
}

/// The options in a root's decorator or call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootOptions {
    /// `input_signature=` is given, so the function is not retraced.
    pub input_signature: bool,
    /// `experimental_autograph_options=Feature.…`: `ALL`, `LISTS`, `ASSERT_STATEMENTS`, …
    pub features: Vec<Name>,
    /// `fullgraph=True`: a graph break is an error.
    pub full_graph: bool,
    /// `randomness="different"`: a mapped function may generate random numbers.
    pub randomness: bool,
    /// Every argument that is not static becomes a tracer, also a Python number: `jax.jit`.
    pub all_arguments: bool,
}

/// The parameters that a root does not trace: `static_argnums`, `static_argnames`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticParameters {
    pub known: Vec<ParameterIndex>,
    /// There may be more static parameters, because the root does not list them as literals.
    pub more: bool,
}

impl StaticParameters {
    /// Returns whether a parameter is certainly static.
    pub fn contains(&self, parameter: ParameterIndex) -> bool {
        self.known.contains(&parameter)
    }

    /// Returns the parameters that two roots of a function do not trace.
    pub fn in_all(&self, other: &Self) -> Self {
        let is_in = |of: &Self, parameter| of.more || of.contains(parameter);
        let mut known: Vec<ParameterIndex> = self.known.iter().chain(&other.known).copied().collect();
        known.retain(|parameter| is_in(self, *parameter) && is_in(other, *parameter));
        known.sort_unstable();
        known.dedup();
        Self { known, more: self.more && other.more }
    }
}

/// Where the type of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `self`, `cls`.
    Receiver,
    Annotation,
    CallSites,
    Default,
    /// A root's parameter without any other evidence: a Tensor of its dialect.
    Assumption,
    Unknown,
}

/// A parameter of a staged function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    /// The type in Python's notation, if known.
    pub shown: Option<Name>,
    pub why: Why,
}
