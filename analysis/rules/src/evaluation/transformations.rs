//! Transformed functions, and what they may do with objects of `flax.nnx`: see `nnx.rs`.

use std::cell::Cell;

use ag_db::Document;
use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;

use super::faults::Reach;

/// The package of the objects, with the dot after it.
pub(super) const NNX: &str = "flax.nnx.";

/// What a function does with the function that it receives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transformation {
    /// `jax.grad(f)`
    Gradient,
    /// `jax.value_and_grad(f)`
    ValueAndGradient,
    /// A transform of `torch.func`, and whether it maps the function: `torch.func.vmap(f)`.
    Functional { name: &'static str, maps: bool },
    /// `functools.cache(f)`
    Cached,
    /// `tf.custom_gradient(f)`, where `f` returns its result and a function that computes the gradient.
    CustomGradient,
    /// `contextlib.contextmanager(f)`
    Manager,
    /// The result of calling such a function: the function with its arguments.
    Entered,
}

/// An object of a class of `flax.nnx`.
pub(super) struct Stateful {
    pub kind: StateKind,
    /// The number of transformed functions in which it was created.
    pub level: usize,
    /// Whether a call changes it; `None` if this is not known.
    pub is_active: Cell<Option<bool>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StateKind {
    Variable,
    Layer,
    /// A layer without state of its own.
    Plain,
    Optimizer,
    Metric,
    Rngs,
}

/// How a transformed function receives objects of `flax.nnx`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// The transformation of JAX, with this name, passes copies.
    Copied(&'static str),
    /// The caller gets the changes: `nnx.jit`.
    Kept,
    /// A function of a library decides.
    Unknown,
}

/// A transformed function that is being evaluated.
pub(super) struct Level {
    pub passing: Passing,
    /// The objects that it receives, by their addresses.
    pub received: FxHashSet<*const ()>,
    /// The number of calls that are being evaluated outside of the function.
    pub calls: usize,
    /// The calls that change copies.
    pub changes: Vec<((Document, TextRange), Reach)>,
    /// Whether the function reads the state of an object: `nnx.state(model)`.
    pub is_read: bool,
}

impl Stateful {
    /// Records that unknown code may have changed the object.
    pub(super) fn forget(&self) {
        if self.kind == StateKind::Layer {
            self.is_active.set(None);
        }
    }
}

/// Returns how a transformation passes the arguments of its function.
pub(super) fn passing(transformation: &str) -> Passing {
    match transformation {
        "jax.jit" => Passing::Copied("jax.jit"),
        "jax.vmap" => Passing::Copied("jax.vmap"),
        "jax.grad" => Passing::Copied("jax.grad"),
        "jax.value_and_grad" => Passing::Copied("jax.value_and_grad"),
        name if name.starts_with(NNX) => Passing::Kept,
        _ => Passing::Unknown,
    }
}
