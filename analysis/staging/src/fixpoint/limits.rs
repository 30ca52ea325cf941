//! How far from the roots is looked.

/// How far from the roots is looked. Nearest first, so that a nearer horizon sees a part of what a
/// farther one sees; a project of many files would else be read as a whole for a few roots.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// Types travel one call a round.
    pub rounds: usize,
    /// How many calls deep from a root functions count as staged.
    pub(super) reach: u8,
    /// How many calls away from staged code evidence is looked for.
    pub(super) distance: u8,
    /// How many scopes of evidence are read.
    pub(super) evidence: usize,
    /// A name called from more scopes than this says too little about each.
    pub(super) callers: usize,
    /// Types are asked only of functions that decide on values ([`ag_index::index::Signature::tests_values`]).
    pub selective: bool,
}

impl Horizon {
    pub(super) fn of(files: usize, thorough: bool) -> Self {
        if thorough && files > 64 {
            let (evidence, callers) = (20_000, 64);
            return Self { rounds: 8, reach: 32, distance: 3, evidence, callers, selective: false };
        }
        match files {
            0..=64 => Self {
                rounds: 8,
                reach: 32,
                distance: 4,
                evidence: 1_500,
                callers: usize::MAX,
                selective: false,
            },
            65..=256 => {
                Self { rounds: 5, reach: 8, distance: 2, evidence: 300, callers: 32, selective: false }
            }
            _ => Self { rounds: 1, reach: 1, distance: 1, evidence: 16, callers: 4, selective: true },
        }
    }
}
