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

/// How one function is staged: a root, or a function that is reached from a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub dialect: Dialect,
    pub root: Option<RootKind>,
    /// The kind of the root that reaches the function: `root`, if the function is itself a root.
    pub mode: RootKind,
    /// The decorator or call that makes the function a root, or the call that reaches the function.
    pub cause: Option<Span>,
    /// Whether AutoGraph converts it. False in dialects that only trace, and if `unconverted` is set.
    pub converts: bool,
    /// Whether no call or root certainly reaches it: it overrides a method that is called on `self`, or it flows as a
    /// value to a call that other functions may reach, too ([`crate::value_flow`]).
    pub uncertain: bool,
    /// Whether it is reached only if there are objects of a derived class. It overrides a method that is called on
    /// `self`, and its class inherits the code of that call; or such an overriding method calls it.
    pub is_override: bool,
    /// Whether it is only reached because it flows to a call as a value. If it is not `uncertain`, no other function of
    /// the project flows to that call, or only staged code calls the function.
    pub by_value: bool,
    /// Whether other functions of the project flow to that call, too. Then its arguments may be meant for one of them.
    pub several_callees: bool,
    /// Why AutoGraph does not convert it, although its dialect has AutoGraph. Then a test of a Tensor in it is an
    /// error.
    pub unconverted: Option<Unconverted>,
    /// Why AutoGraph does not convert it for some of its callers, if it does for others.
    pub also_unconverted: Option<Unconverted>,
    /// Whether the types of the function are inferred. In a large project, this is so only for functions that test
    /// values.
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
    /// Keras 3 does not convert methods.
    Keras,
    /// A library calls it without conversion: it is a body of `tf.cond`.
    Body,
    /// It is `__init__`: Python constructs objects.
    Constructor,
    /// Python calls it for a `with` or `for`: it is `__enter__` or `__next__`.
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
    /// Whether `input_signature=` is given, so that the function is not retraced.
    pub input_signature: bool,
    /// The features in `experimental_autograph_options=Feature.…`: `ALL`, `LISTS`, `ASSERT_STATEMENTS`, …
    pub features: Vec<Name>,
    /// `fullgraph=True`: whether a graph break is an error.
    pub full_graph: bool,
    /// `randomness="different"`: whether a mapped function may generate random numbers.
    pub randomness: bool,
    /// Whether every argument that is not static becomes a tracer, even a Python number: `jax.jit`.
    pub all_arguments: bool,
    /// Whether the function is a root only if the file compiles other functions: [`crate::callbacks::Tracing::WhenJitted`].
    pub when_jitted: bool,
    /// Whether a class as the argument makes its `__call__` a root: `nn.remat(Block)`.
    pub lifts_classes: bool,
}

/// The parameters that a root does not trace: `static_argnums`, `static_argnames`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticParameters {
    pub known: Vec<ParameterIndex>,
    /// Whether there may be more static parameters, because the root does not list them as literals.
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

/// The source of a parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `self`, `cls`.
    Receiver,
    Annotation,
    CallSites,
    Default,
    /// An assumption: a root's parameter without any other evidence is a Tensor of its dialect.
    Assumption,
    Unknown,
}

/// A parameter of a staged function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    /// The type in Python's notation, if it is known.
    pub shown: Option<Name>,
    /// Whether `partial(f, value)` binds its value, so that the root does not trace it.
    pub bound: bool,
    pub why: Why,
}
