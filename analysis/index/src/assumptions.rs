//! What is assumed of a staged function: its dialect, how it is reached, and the types of its parameters.
//!
//! Assumptions are inputs of the database. The fixpoint ([`ag_staging::fixpoint`]) moves them; nothing
//! else does. Precedence: annotation > call sites > literal default > assumption.

use ruff_python_ast::name::Name;

use crate::dialect::{Dialect, RootKind};
use crate::facts::Binding;
use ag_db::diagnostic::{Span, Why};

/// A staged function: a root, or one that a root calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub dialect: Dialect,
    pub root: Option<RootKind>,
    /// The kind of the root itself, or of the one that reaches it.
    pub mode: RootKind,
    /// What makes it a root (a decorator, a call), or the call that reaches it.
    pub cause: Option<Span>,
    /// AutoGraph converts it. False for the dialects that trace only, and where `unconverted` says why.
    pub converts: bool,
    /// It is reached where a method of a base class is called on `self`: perhaps on objects of this class.
    pub overriding: bool,
    /// Why AutoGraph leaves it as it is, in a dialect that has AutoGraph: a Tensor that it tests is
    /// an error.
    pub unconverted: Option<Unconverted>,
    /// It is converted for some callers; why not for others.
    pub also_unconverted: Option<Unconverted>,
    /// Its types are asked for; in a large project not of functions that decide on nothing.
    pub typed: bool,
    pub parameters: Vec<Parameter>,
    pub options: RootOptions,
}

/// What keeps AutoGraph from converting a staged function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unconverted {
    /// `autograph=False`.
    Option,
    /// Keras 3 calls its methods as they are.
    Keras,
    /// A library calls it as it is: a body of `tf.cond`.
    Body,
    /// `__init__`: objects are made by Python.
    Constructor,
    /// Python calls it for a `with` or `for`: `__enter__`, `__next__`.
    Protocol,
    /// `@tf.autograph.experimental.do_not_convert`.
    DoNotConvert,
    /// `@functools.lru_cache`, `@functools.cache`.
    Cached,
    /// Its text: see [`ag_syntax::unsupported`].
    Syntax,
    /// It is called from code that is not converted.
    Caller,
}

/// What a root's decorator or call says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootOptions {
    /// `input_signature=` is given: no retracing.
    pub input_signature: bool,
    /// `experimental_autograph_options=Feature.…`: `ALL`, `LISTS`, `ASSERT_STATEMENTS`, …
    pub features: Vec<Name>,
    /// `static_argnums` / `static_argnames` resolved to names.
    pub static_parameters: Vec<Name>,
    /// The variable that names more of them; empty for any other expression.
    pub more_static: Option<Name>,
    /// `fullgraph=True`: a graph break is an error.
    pub full_graph: bool,
}

/// Where the type of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `self`, `cls`.
    Receiver,
    Annotation,
    CallSites,
    Default,
    /// A root's parameter about which nothing speaks: a Tensor of its dialect.
    Assumption,
    Unknown,
}

/// A parameter of a staged function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    /// The assumed type in Python's notation; empty when nothing is known.
    pub shown: Name,
    pub why: Why,
}
