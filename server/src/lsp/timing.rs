//! How long requests wait for the analysis.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// How long a request waits for the analysis of the current text before it is answered from the last results. If
    /// there are none yet, it waits for the first.
    pub(crate) patience: Duration,
    /// How long after an edit the analysis of a large project is completed.
    pub(crate) idle: Duration,
    /// How long the loading of a large folder waits for the client to open a file, which is analyzed first.
    pub(crate) opening: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            patience: Duration::from_millis(200),
            idle: Duration::from_secs(1),
            opening: Duration::from_millis(50),
        }
    }
}

#[cfg(test)]
impl Timing {
    /// Every request waits for the analysis, so that its answer does not depend on the machine's speed.
    pub(crate) fn always_wait() -> Self {
        Self { patience: Duration::from_secs(600), idle: Duration::ZERO, opening: Duration::ZERO }
    }

    /// No request waits.
    pub(crate) fn never_wait() -> Self {
        Self { patience: Duration::ZERO, idle: Duration::ZERO, opening: Duration::ZERO }
    }
}
