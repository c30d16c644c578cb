//! A thread that has checkpoints witnessed while the store is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{CosignatureRequest, Witness};
use crate::stats::Counters;

/// How often it is looked for a newer checkpoint.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause before a witness that failed is asked again.
const LONGEST: Duration = Duration::from_mins(5);

/// A witness, and when it is asked again.
struct WitnessTurn<'a> {
    witness: &'a Witness,
    pause: Duration,
    due: Instant,
    trouble: Option<String>,
}

/// Has checkpoints witnessed until the store is closed.
pub(crate) fn follow(asking: &CosignatureRequest, witnesses: &[Witness], stop: &AtomicBool) {
    let mut turns: Vec<WitnessTurn<'_>> = witnesses
        .iter()
        .map(|witness| WitnessTurn { witness, pause: PAUSE, due: Instant::now(), trouble: None })
        .collect();
    while !stop.load(Ordering::Relaxed) {
        for turn in &mut turns {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            turn.take(asking);
        }
        let trouble = turns.iter().filter_map(|turn| turn.trouble.clone()).collect();
        asking.counters.set_witness_trouble(trouble);
        std::thread::sleep(PAUSE);
    }
}

impl WitnessTurn<'_> {
    /// Asks the witness when it is due and there is something to ask.
    fn take(&mut self, asking: &CosignatureRequest) {
        if Instant::now() < self.due {
            return;
        }
        // A log without an entry yet has no checkpoint; nothing to ask is no trouble.
        let Ok((_, size, seen)) = asking.newest(self.witness) else { return };
        if seen >= size {
            return;
        }
        self.trouble = match asking.ask(self.witness) {
            Ok(_) => {
                self.pause = PAUSE;
                None
            }
            Err(error) => {
                Counters::add(&asking.counters.witness_failures, 1);
                self.pause = (self.pause * 2).min(LONGEST);
                Some(format!("witness {}: {error}", self.witness.key().name()))
            }
        };
        self.due = Instant::now() + self.pause;
    }
}
