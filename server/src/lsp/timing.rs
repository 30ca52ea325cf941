//! How long requests wait for the analysis.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// How long a request waits for the analysis of the current text. After that it is answered from what is known.
    pub(crate) patience: Duration,
    /// How long a workspace may take to load before its open files are analyzed on their own.
    pub(crate) head_start: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { patience: Duration::from_millis(100), head_start: Duration::from_millis(25) }
    }
}

#[cfg(test)]
impl Timing {
    /// Every request waits for the analysis, so that its answer does not depend on the machine's speed.
    pub(crate) fn unhurried() -> Self {
        Self { patience: Duration::from_secs(600), head_start: Duration::from_secs(600) }
    }

    /// No request waits.
    pub(crate) fn impatient() -> Self {
        Self { patience: Duration::ZERO, head_start: Duration::ZERO }
    }
}
