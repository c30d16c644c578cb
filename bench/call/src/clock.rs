//! CPU time of short work, and what many such times come to.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How often each call is measured. Whatever else runs on the machine can only make a call slower, so
/// the fastest round is nearest to what the call costs.
pub(crate) const ROUNDS: usize = 30;
/// How often the work is done between two looks at the clock, which has a cost of its own.
pub(crate) const BATCH: usize = 8;

/// The microseconds of CPU time that some work takes: the mean of a batch. What it works on is made
/// before the clock starts; what comes of it is dropped while the clock runs.
pub(crate) fn microseconds<I, O>(mut make: impl FnMut() -> I, mut work: impl FnMut(I) -> O) -> f64 {
    let inputs: [I; BATCH] = std::array::from_fn(|_| make());
    let before = now();
    for input in inputs {
        black_box(work(black_box(input)));
    }
    since(before) / count(BATCH)
}

/// The microseconds of this thread's CPU time since then.
pub(crate) fn since(before: Duration) -> f64 {
    now().saturating_sub(before).as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// The CPU time of this thread.
pub(crate) fn now() -> Duration {
    // The clock of a thread starts at zero and does not go back.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// What many times come to, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) calls: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) mean: f64,
}

impl Figures {
    /// Of one time for each call; nothing of none.
    pub(crate) fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        let calls = times.len();
        let at =
            |hundredths: usize| times.get((calls * hundredths).div_ceil(100).max(1) - 1).copied();
        let mean = times.iter().sum::<f64>() / count(calls);
        Some(Self { calls, p50: at(50)?, p99: at(99)?, mean })
    }
}
