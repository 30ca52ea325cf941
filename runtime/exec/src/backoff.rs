//! Skips a native step that fails again and again. When a native step stops early (`topk` stops at equal elements, for
//! example), libtorch runs its nodes.

use std::sync::atomic::{AtomicU32, Ordering};

/// After this many consecutive stops, runs of the step are skipped. The number of skipped runs doubles with each
/// further stop.
const STOPS: u32 = 2;
/// The number of skipped runs doubles at most this many times.
const MAX_DOUBLINGS: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// The number of consecutive stops.
    stops: AtomicU32,
    /// The number of further runs to skip.
    skips: AtomicU32,
}

impl Backoff {
    /// Returns whether the step runs this time. Otherwise, counts a skipped run. Threads that run the same plan may
    /// count imprecisely.
    pub(super) fn should_run(&self) -> bool {
        let skips = self.skips.load(Ordering::Relaxed);
        if skips > 0 {
            self.skips.store(skips - 1, Ordering::Relaxed);
        }
        skips == 0
    }

    /// Records a run of the step, and whether it stopped early.
    pub(super) fn count(&self, has_stopped: bool) {
        if !has_stopped {
            self.stops.store(0, Ordering::Relaxed);
            return;
        }
        let stops = (self.stops.load(Ordering::Relaxed) + 1).min(STOPS + MAX_DOUBLINGS);
        self.stops.store(stops, Ordering::Relaxed);
        if stops > STOPS {
            self.skips.store(1 << (stops - STOPS), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_skipped_ever_longer() {
        let backoff = Backoff::default();
        let runs = (0..10_000).filter(|_| {
            let is_run = backoff.should_run();
            if is_run {
                backoff.count(true);
            }
            is_run
        });
        assert_eq!(runs.count(), 20);
        while !backoff.should_run() {}
        backoff.count(false);
        assert!(backoff.should_run() && backoff.should_run());
    }
}
