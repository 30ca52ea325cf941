//! The optimizer: passes that can be switched on and off individually. A pass preserves results, effects and
//! exceptions.
//!
//! This module depends only on the graph. Each pass is one file, and rewrites one function, which must verify
//! afterwards. Gradients are computed before optimization, so passes may merge nodes recorded with and without
//! `torch.no_grad()`.
//!
//! - `constant_folding`: known scalars, branches with a constant condition
//! - `algebraic_simplification`: operators that return their operand
//! - `gradient_accumulation`: sums of gradients of slices and rows
//! - `common_subexpression_elimination`: nodes computed twice
//! - `loop_invariant_code_motion`: nodes computed again in each iteration
//! - `dead_code_elimination`: unused nodes
//! - `early_collectives`: starts of collectives, which move up
//!
//! Values that escape ([`crate::ir::escape`]) are neither merged nor moved.

mod algebraic_simplification;
mod common_subexpression_elimination;
mod constant_folding;
mod dead_code_elimination;
mod early_collectives;
mod gradient_accumulation;
mod loop_invariant_code_motion;
mod rewrite;

use crate::ir::graph::{Function, Graph};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    ConstantFolding,
    AlgebraicSimplification,
    GradientAccumulation,
    CommonSubexpressionElimination,
    LoopInvariantCodeMotion,
    DeadCodeElimination,
    EarlyCollectives,
}

impl Pass {
    /// All passes in the recommended order, in which each pass enables the next.
    pub const ALL: &[Self] = &[
        Self::ConstantFolding,
        Self::AlgebraicSimplification,
        Self::GradientAccumulation,
        Self::CommonSubexpressionElimination,
        Self::LoopInvariantCodeMotion,
        Self::DeadCodeElimination,
        Self::EarlyCollectives,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ConstantFolding => "constant-folding",
            Self::AlgebraicSimplification => "algebraic-simplification",
            Self::GradientAccumulation => "gradient-accumulation",
            Self::CommonSubexpressionElimination => "common-subexpression-elimination",
            Self::LoopInvariantCodeMotion => "loop-invariant-code-motion",
            Self::DeadCodeElimination => "dead-code-elimination",
            Self::EarlyCollectives => "early-collectives",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|pass| pass.name() == name)
    }

    fn run(self, function: &mut Function) {
        match self {
            Self::ConstantFolding => constant_folding::run(function),
            Self::AlgebraicSimplification => algebraic_simplification::run(function),
            Self::GradientAccumulation => gradient_accumulation::run(function),
            Self::CommonSubexpressionElimination => common_subexpression_elimination::run(function),
            Self::LoopInvariantCodeMotion => loop_invariant_code_motion::run(function),
            Self::DeadCodeElimination => dead_code_elimination::run(function),
            Self::EarlyCollectives => early_collectives::run(function),
        }
    }
}

/// Runs passes in the given order.
pub fn optimize(graph: &mut Graph, passes: &[Pass]) {
    for function in &mut graph.functions {
        passes.iter().for_each(|pass| pass.run(function));
    }
}
