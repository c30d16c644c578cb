use std::time::{Duration, Instant};

/// The first and the longest pause before the next attempt to scrub files that a reader still uses.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Schedules the next scrub of files that may contain erased content.
#[derive(Debug)]
pub(crate) struct ScrubSchedule {
    due: Option<Instant>,
    pause: Duration,
}

impl Default for ScrubSchedule {
    fn default() -> Self {
        Self { due: None, pause: BACK_OFF.0 }
    }
}

impl ScrubSchedule {
    /// Schedules a scrub immediately, because this process erased content.
    pub(crate) fn want(&mut self) {
        *self = Self { due: Some(Instant::now()), ..Self::default() };
    }

    /// Schedules a scrub because another process erased content. A scrub that is already scheduled
    /// keeps its time.
    pub(crate) fn remember(&mut self) {
        self.due.get_or_insert_with(Instant::now);
    }

    /// Makes a delayed scrub due immediately.
    pub(crate) fn hurry(&mut self) {
        self.due = self.due.map(|_| Instant::now());
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    /// Updates the schedule with the result of an attempt.
    pub(crate) fn tried(&mut self, is_scrubbed: bool) {
        if is_scrubbed {
            *self = Self::default();
        } else {
            self.due = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(BACK_OFF.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_scrubs_back_off() {
        let mut scrub = ScrubSchedule::default();
        assert!(!scrub.is_due());
        scrub.want();
        assert!(scrub.is_due());
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                let pause = scrub.pause;
                scrub.tried(false);
                assert!(!scrub.is_due());
                pause.as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        scrub.remember();
        assert!(!scrub.is_due());
        scrub.want();
        assert!(scrub.is_due());
        scrub.tried(true);
        assert!(scrub.due.is_none());
        scrub.remember();
        assert!(scrub.is_due());
    }
}
