//! `Trial`: measures whether the calls of a function are faster as graphs or in Python, and settles on the faster way.
//!
//! A graph of few operations may save less time than its guards and the conversion of arguments and results take:
//!
//! ```python
//! @ag.function
//! def add(x, y):
//!     return x + y
//! ```
//!
//! So some calls are measured, in both ways. A call in Python is what an unstaged function does, so it is always correct.
//! Invariants:
//! - Calls that Python runs only for the measurement lose at most `SHARE` of the time of all calls, besides `ALLOWANCE` and
//!   `TRACING_SHARE` of the time of traces.
//! - The lengths of blocks of one way are random, because the kinds of calls may alternate.

use std::time::Duration;

/// The number of calls before the first measurement.
const FIRST_CALLS: u32 = 24;
/// The numbers of calls between measurements: at first, and at most. They double while the faster way is the same. If it is
/// faster by this factor, they grow eightfold.
const INTERVALS: (u32, u32) = (1024, 1 << 20);
const FAR_FASTER: f64 = 1.5;
/// The part of the time of calls that measurements may lose, and the seconds that they may lose besides.
const SHARE: f64 = 0.003;
const ALLOWANCE: f64 = 500e-6;
/// The part of the time of traces that measurements may lose. A trace takes as long as many calls of its graph, so most functions
/// are measured early.
const TRACING_SHARE: f64 = 0.1;
/// The number of calls of graphs after which calls are measured again that were not because Python had to run a call.
const PAUSE: u32 = 64;
/// As long as no call in Python has been measured, it is assumed to take this multiple of the time of a graph.
const PESSIMISM: f64 = 5.0;
/// The least and the greatest number of measured calls of each way.
const SAMPLES: (usize, usize) = (6, 32);
/// The seconds of a block of calls of one way. Its first half is not measured, because it finds other code and data in the caches
/// of the processor: a call of a few microseconds then takes up to three times as long.
const BLOCK: f64 = 200e-6;
/// The way changes if the other one takes less than this part of the time. The second number is for Python if results have a
/// history: the backward pass of a graph, which is not measured, is faster.
const GAIN: (f64, f64) = (0.97, 0.8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Graph,
    Python,
}

impl Way {
    fn other(self) -> Self {
        match self {
            Self::Graph => Self::Python,
            Self::Python => Self::Graph,
        }
    }
}

/// The measured times of the two ways.
#[derive(Default)]
struct Samples {
    graph: Vec<f64>,
    python: Vec<f64>,
}

impl Samples {
    fn of(&self, way: Way) -> &Vec<f64> {
        match way {
            Way::Graph => &self.graph,
            Way::Python => &self.python,
        }
    }

    fn push(&mut self, way: Way, seconds: f64) {
        match way {
            Way::Graph => self.graph.push(seconds),
            Way::Python => self.python.push(seconds),
        }
    }
}

/// Returns the mean of the times without the longest eighth, and its squared error.
fn mean(times: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.truncate(times.len() - times.len() / 8);
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (count > 0.0).then_some((mean, variance / count))
}

/// A block of calls of one way.
struct Block {
    way: Way,
    /// The number of calls left.
    left: u32,
    /// The number of the last ones that are measured.
    measured: u32,
}

/// The measurement of one function.
pub(super) struct Trial {
    /// Whether calls are measured. Otherwise all calls run graphs.
    pub(super) is_enabled: bool,
    /// The number of runs of graphs before calls are measured again.
    pause: u32,
    /// The way that is faster, as far as is known.
    way: Way,
    /// The number of the next calls that are not measured.
    rest: u32,
    interval: u32,
    /// The seconds that the next measurements may lose.
    budget: f64,
    samples: Samples,
    block: Block,
    has_history: bool,
    random: u32,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            is_enabled: false,
            pause: 0,
            way: Way::Graph,
            rest: FIRST_CALLS,
            interval: INTERVALS.0,
            budget: ALLOWANCE,
            samples: Samples::default(),
            block: Block { way: Way::Python, left: 0, measured: 0 },
            has_history: false,
            random: 1,
        }
    }
}

impl Trial {
    /// Returns the way of the next call, and whether the call is measured.
    pub(super) fn next(&mut self) -> (Way, bool) {
        if !self.is_enabled || self.pause > 0 {
            return (Way::Graph, false);
        }
        if self.rest > 0 {
            self.rest -= 1;
            return (self.way, false);
        }
        if self.block.left == 0 && !self.begin_block() {
            return (self.way, false);
        }
        self.block.left -= 1;
        (self.block.way, true)
    }

    /// Called when Python had to run a call: all calls are staged until graphs have run `PAUSE` calls.
    pub(super) fn pause(&mut self) {
        self.pause = PAUSE;
    }

    /// Called when a cached graph has run a call.
    pub(super) fn note_run(&mut self) {
        self.pause = self.pause.saturating_sub(1);
    }

    /// Called after a trace that took this time.
    pub(super) fn note_trace(&mut self, seconds: f64) {
        self.budget += TRACING_SHARE * seconds;
    }

    /// Records a measured call of this way.
    pub(super) fn record(&mut self, way: Way, time: Duration, has_history: bool) {
        let seconds = time.as_secs_f64();
        self.has_history |= has_history;
        if way != self.way
            && let Some((usual, _)) = mean(self.samples.of(self.way))
        {
            self.budget -= (seconds - usual).max(0.0);
        }
        if self.block.left < self.block.measured {
            self.samples.push(way, seconds);
        }
    }

    /// A measured call has traced a graph in this time. The next measurements are delayed accordingly.
    pub(super) fn traced(&mut self, time: Duration) {
        if self.way == Way::Python {
            self.budget -= time.as_secs_f64();
        }
    }

    /// Begins the next block of measured calls. Returns false if the measurement has ended.
    fn begin_block(&mut self) -> bool {
        let own = mean(self.samples.of(self.way));
        let way = if own.is_none() { self.way } else { self.block.way.other() };
        let least = self.samples.graph.len().min(self.samples.python.len());
        if least >= SAMPLES.0
            && let Some(faster) = self.faster(least >= SAMPLES.1)
        {
            self.settle(faster);
            return false;
        }
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let measured = 2 + (self.random >> 16) % 4;
        let usual = mean(self.samples.of(way)).map(|(time, _)| time);
        let (measured, length) = match usual {
            Some(usual) => (measured, measured.max((BLOCK / usual).min(100.0) as u32) + measured / 2),
            None if way == self.way => (measured, measured),
            // Nothing is known about the time.
            None if own.is_some_and(|(own, _)| own > BLOCK) => (1, 1),
            None => (1, 2),
        };
        if way != self.way
            && let Some((own, _)) = own
        {
            let other = usual.unwrap_or(PESSIMISM * own);
            let loss = f64::from(length) * (other - own).max(0.0);
            if loss > self.budget {
                self.wait((loss - self.budget) / (SHARE * own), own);
                return false;
            }
        }
        self.block = Block { way, left: length, measured };
        true
    }

    /// Returns the faster way. `None` if more samples are needed; `is_last`: there are no more.
    fn faster(&self, is_last: bool) -> Option<Way> {
        let other = self.way.other();
        let ((own, own_error), (new, new_error)) =
            (mean(self.samples.of(self.way))?, mean(self.samples.of(other))?);
        let gain = match (self.has_history, other) {
            (true, Way::Python) => GAIN.1,
            (true, Way::Graph) => 1.0 / GAIN.1,
            _ => GAIN.0,
        };
        let difference = gain * own - new;
        let is_certain = difference.abs() > 3.0 * (gain * gain * own_error + new_error).sqrt();
        (is_certain || is_last).then_some(if difference > 0.0 { other } else { self.way })
    }

    fn settle(&mut self, faster: Way) {
        if faster != self.way {
            self.interval = INTERVALS.0;
            self.way = faster;
        } else if let (Some((own, _)), Some((new, _))) =
            (mean(self.samples.of(faster)), mean(self.samples.of(faster.other())))
            && new > FAR_FASTER * own
        {
            self.interval = (4 * self.interval).min(INTERVALS.1);
        }
        self.delay();
    }

    /// Interrupts the measurement until this number of calls, which take the time `own` each, allows the next block. If there is
    /// no sample of the other way yet, the measurement begins anew.
    fn wait(&mut self, calls: f64, own: f64) {
        self.rest = calls.min(f64::from(INTERVALS.1)) as u32 + 1;
        self.budget += SHARE * own * f64::from(self.rest);
        if self.samples.of(self.way.other()).is_empty() {
            self.reset();
        }
    }

    /// Ends the measurement. The next one begins after `interval` calls.
    fn delay(&mut self) {
        self.rest = self.interval;
        self.interval = (2 * self.interval).min(INTERVALS.1);
        if let Some((own, _)) = mean(self.samples.of(self.way)) {
            self.budget += SHARE * own * f64::from(self.rest);
        }
        self.reset();
    }

    fn reset(&mut self) {
        self.samples = Samples::default();
        self.block = Block { way: self.way.other(), left: 0, measured: 0 };
    }
}
