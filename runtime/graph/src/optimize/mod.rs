//! The graph made smaller and faster, in passes that can each be switched on and off. What it computes, what it does
//! beside that, and which exceptions it raises stay as they are.
//!
//! This room knows the graph alone. A pass is a file; all of them take a function and leave one that verifies.
//! Gradients are made before: a pass need not keep apart what has a gradient and what has none.
//!
//! - [`constants`]: registers that are known; branches that are never or always taken
//! - [`identities`]: operators that change nothing
//! - [`parts`]: gradients of parts, added up
//! - [`common`]: what is computed twice
//! - [`invariants`]: what every round of a loop computes again
//! - [`dead`]: what nobody uses
//!
//! What [`escape`](crate::ir::escape)s is neither merged nor moved.

mod common;
mod constants;
mod dead;
mod identities;
mod invariants;
mod parts;
mod rewrite;

use crate::ir::graph::{Function, Graph};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    Constants,
    Identities,
    Parts,
    Common,
    Invariants,
    Dead,
}

impl Pass {
    /// In the order in which they are best run: each leaves something to the next.
    pub const ALL: &[Self] =
        &[Self::Constants, Self::Identities, Self::Parts, Self::Common, Self::Invariants, Self::Dead];

    pub fn name(self) -> &'static str {
        match self {
            Self::Constants => "constants",
            Self::Identities => "identities",
            Self::Parts => "parts",
            Self::Common => "common",
            Self::Invariants => "invariants",
            Self::Dead => "dead",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|pass| pass.name() == name)
    }

    fn run(self, function: &mut Function) {
        match self {
            Self::Constants => constants::run(function),
            Self::Identities => identities::run(function),
            Self::Parts => parts::run(function),
            Self::Common => common::run(function),
            Self::Invariants => invariants::run(function),
            Self::Dead => dead::run(function),
        }
    }
}

/// Runs passes in the order in which they are given.
pub fn optimize(graph: &mut Graph, passes: &[Pass]) {
    for function in &mut graph.functions {
        passes.iter().for_each(|pass| pass.run(function));
    }
}
