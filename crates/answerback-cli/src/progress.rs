//! Shows the progress of long work on standard error, if it is a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line that is redrawn a few times a second. It shows nothing during the first second.
pub(crate) struct ProgressLine {
    unit: &'static str,
    shown: bool,
    watched: bool,
    started: Instant,
    next: Instant,
    count: u64,
    bytes: u64,
}

const PERIOD: Duration = Duration::from_millis(250);

impl ProgressLine {
    pub(crate) fn new(unit: &'static str) -> Self {
        let started = Instant::now();
        let watched = std::io::stderr().is_terminal();
        Self {
            unit,
            shown: false,
            watched,
            started,
            next: started + 4 * PERIOD,
            count: 0,
            bytes: 0,
        }
    }

    /// Sets whether the line is shown, provided that standard error is a terminal.
    pub(crate) fn with_watched(mut self, watched: bool) -> Self {
        self.watched &= watched;
        self
    }

    /// Counts several more items, with their total bytes.
    pub(crate) fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
        if self.watched && Instant::now() >= self.next {
            self.draw();
        }
    }

    /// Counts one more item with its bytes.
    pub(crate) fn step(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
        // A step takes only microseconds, so the clock is read rarely.
        if self.watched && self.count.is_multiple_of(256) && Instant::now() >= self.next {
            self.draw();
        }
    }

    /// Clears the line.
    pub(crate) fn finish(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.shown = false;
        }
    }

    fn draw(&mut self) {
        self.next = Instant::now() + PERIOD;
        self.shown = true;
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        #[expect(
            clippy::cast_precision_loss,
            reason = "the numbers are shown with at most one decimal"
        )]
        let (megabytes, rate) = (self.bytes as f64 / 1e6, self.count as f64 / seconds);
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K{} {}, {megabytes:.1} MB, {rate:.0}/s",
            self.count,
            self.unit
        );
    }
}
