//! The limits of an analysis. They depend on the size of the project.

use crate::options::StagingOptions;

/// The limits of an analysis around its roots. They keep the cost proportional to the roots and not to the size of the
/// project. Code closer to a root is analyzed first, so smaller limits give a subset of the findings.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// The number of rounds. Types propagate by one call per round.
    pub rounds: usize,
    /// The number of additional rounds, for functions that are possibly staged.
    pub possible_rounds: usize,
    /// The maximum length of a call chain from a root to a staged function.
    pub(super) call_depth: u8,
    /// The maximum distance of evidence from staged code, as a number of calls.
    pub(super) evidence_distance: u8,
    /// The maximum number of evidence scopes.
    pub(super) evidence_scopes: usize,
    /// The maximum number of callers of a name. With more callers, the name is ambiguous, and they are ignored.
    pub(super) callers: usize,
    /// Whether types are inferred only for functions that test values ([`ag_index::index::Signature::tests_values`]).
    pub selective: bool,
    /// Whether functions are followed as values, so that functions that are possibly called are staged too.
    pub values: bool,
}

/// In a large project, functions are followed as values only if there are at most this many functions, because the cost
/// grows with their number. [`StagingOptions::follows_values`] overrides this limit.
const MAX_FOLLOWED: usize = 10_000;

impl AnalysisLimits {
    pub(super) fn of(files: usize, functions: usize, options: &StagingOptions) -> Self {
        if options.thorough && files > 64 {
            let (evidence_scopes, callers) = (20_000, 64);
            return Self {
                rounds: 8,
                possible_rounds: 8,
                call_depth: 32,
                evidence_distance: 3,
                evidence_scopes,
                callers,
                selective: false,
                values: true,
            };
        }
        let values = files <= 256 || functions <= MAX_FOLLOWED || options.follows_values;
        match files {
            0..=64 => Self {
                rounds: 8,
                possible_rounds: 8,
                call_depth: 32,
                evidence_distance: 4,
                evidence_scopes: 1_500,
                callers: usize::MAX,
                selective: false,
                values,
            },
            65..=256 => Self {
                rounds: 5,
                possible_rounds: 2,
                call_depth: 8,
                evidence_distance: 2,
                evidence_scopes: 300,
                callers: 32,
                selective: false,
                values,
            },
            _ => Self {
                rounds: 1,
                possible_rounds: 1,
                call_depth: 1,
                evidence_distance: 1,
                evidence_scopes: 16,
                callers: 4,
                selective: true,
                values,
            },
        }
    }
}
