//! How long requests wait for the analysis, and how long the analysis waits for a pause between edits.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The time that a request waits for the analysis of the current text. After this time, the request is answered
    /// from the last results; if there are none yet, it waits for the first ones.
    pub(crate) max_wait: Duration,
    /// The time without edits after which the analysis of a large project is completed.
    pub(crate) completion_delay: Duration,
    /// A project counts as small if its value flow is solved in at most this many steps. Small projects are analyzed
    /// completely after every edit.
    pub(crate) small_project_steps: usize,
    /// Before a large folder is loaded, the server waits this long for the client to open a file, because an open file
    /// is analyzed first.
    pub(crate) open_file_wait: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            max_wait: Duration::from_millis(200),
            completion_delay: Duration::from_secs(1),
            small_project_steps: 2_000,
            open_file_wait: Duration::from_millis(50),
        }
    }
}

#[cfg(test)]
impl Timing {
    /// Every request waits for the analysis, so that its answer does not depend on the machine's speed.
    pub(crate) fn always_wait() -> Self {
        Self { max_wait: Duration::from_secs(600), open_file_wait: Duration::ZERO, ..Self::default() }
    }

    /// No request waits.
    pub(crate) fn never_wait() -> Self {
        Self { max_wait: Duration::ZERO, open_file_wait: Duration::ZERO, ..Self::default() }
    }

    /// Every project counts as large.
    pub(crate) fn complete_later() -> Self {
        Self { small_project_steps: 0, completion_delay: Duration::ZERO, ..Self::always_wait() }
    }
}
