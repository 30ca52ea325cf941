//! How long requests wait for the analysis, and which part of it waits for a pause between edits.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// How long a request waits for the analysis of the current text before it is answered from the last results. If
    /// there are none yet, it waits for the first.
    pub(crate) patience: Duration,
    /// How long after an edit the analysis of a large project is completed.
    pub(crate) idle: Duration,
    /// A project whose value flow is solved in at most this many steps is analyzed completely after every edit.
    pub(crate) small: usize,
    /// How long the loading of a large folder waits for the client to open a file, which is analyzed first.
    pub(crate) opening: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            patience: Duration::from_millis(200),
            idle: Duration::from_secs(1),
            small: 2_000,
            opening: Duration::from_millis(50),
        }
    }
}

#[cfg(test)]
impl Timing {
    /// Every request waits for the analysis, so that its answer does not depend on the machine's speed.
    pub(crate) fn always_wait() -> Self {
        Self { patience: Duration::from_secs(600), opening: Duration::ZERO, ..Self::default() }
    }

    /// No request waits.
    pub(crate) fn never_wait() -> Self {
        Self { patience: Duration::ZERO, opening: Duration::ZERO, ..Self::default() }
    }

    /// Every project counts as large.
    pub(crate) fn complete_later() -> Self {
        Self { small: 0, idle: Duration::ZERO, ..Self::always_wait() }
    }
}
