//! A clock for measurements that decide how something runs.

use std::time::{Duration, Instant};

/// With one thread, the CPU time of the thread, which other programs hardly change. Otherwise, the time.
pub struct Clock {
    start: Instant,
    has_one_thread: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Self { start: Instant::now(), has_one_thread: crate::threads() == 1 }
    }
}

impl Clock {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the time since an arbitrary moment.
    pub fn read(&self) -> Duration {
        #[cfg(unix)]
        if self.has_one_thread {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            return Duration::try_from(time).unwrap_or_default();
        }
        let _ = self.has_one_thread;
        self.start.elapsed()
    }
}
