//! A progress bar on terminals, shown after one second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const DELAY: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    bar: ProgressBar,
    /// `None` disables the bar.
    start: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}") {
            bar.set_style(style);
        }
        Self { bar, start: (!quiet).then(Instant::now) }
    }

    pub(crate) fn update(&self, what: &'static str, done: usize, total: usize) {
        let due = self.start.is_some_and(|start| start.elapsed() > DELAY);
        if due && self.bar.is_hidden() {
            // Only draws if standard error is a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(what);
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
