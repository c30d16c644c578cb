use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A stretch of work: time, processor and bytes to the disk.
pub(crate) struct Stretch {
    began: Instant,
    cpu: Duration,
    disk: u64,
}

impl Stretch {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), cpu: cpu(), disk: disk() }
    }

    /// One line: the rate, the middle and the slow end of the times, and the cost of each entry.
    pub(crate) fn end(self, name: &str, count: u64, times: &mut [Duration]) {
        let written = disk() - self.disk;
        self.end_writing(name, count, times, written, "B written");
    }

    /// As [`Self::end`], for work whose bytes another process writes.
    pub(crate) fn end_writing(
        self,
        name: &str,
        count: u64,
        times: &mut [Duration],
        written: u64,
        unit: &str,
    ) {
        let (wall, cpu) = (self.began.elapsed(), cpu().saturating_sub(self.cpu));
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let each = |total: f64| total / count as f64;
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let bytes = written as f64;
        println!(
            "{name:<44} {:>9.0}/s  p50 {:>8.3} ms  p99 {:>8.3} ms  {:>6.1} µs CPU  {:>7.0} {unit}",
            1.0 / each(wall.as_secs_f64()),
            quantile(times, 50),
            quantile(times, 99),
            each(cpu.as_secs_f64()) * 1e6,
            each(bytes),
        );
    }
}

/// A quantile in milliseconds.
pub(crate) fn quantile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// The processor time of all threads of this process.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

/// Bytes that this process sent to the disk, where the system counts them.
fn disk() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}
