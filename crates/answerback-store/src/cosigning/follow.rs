//! A thread that has checkpoints cosigned while the store is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::CosignatureClient;
use crate::Witness;
use crate::stats::StoreCounters;

/// The interval at which the thread looks for a newer checkpoint.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause before the next request to a witness that failed.
const LONGEST: Duration = Duration::from_mins(5);

/// A witness with the time of its next request.
struct WitnessTurn<'a> {
    witness: &'a Witness,
    pause: Duration,
    due: Instant,
    trouble: Option<String>,
}

/// Asks witnesses to cosign checkpoints until the store is closed.
pub(crate) fn follow(client: &CosignatureClient, witnesses: &[Witness], stop: &AtomicBool) {
    let mut turns: Vec<WitnessTurn<'_>> = witnesses
        .iter()
        .map(|witness| WitnessTurn { witness, pause: PAUSE, due: Instant::now(), trouble: None })
        .collect();
    while !stop.load(Ordering::Relaxed) {
        for turn in &mut turns {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            turn.take(client);
        }
        let trouble = turns.iter().filter_map(|turn| turn.trouble.clone()).collect();
        client.counters.set_witness_trouble(trouble);
        std::thread::sleep(PAUSE);
    }
}

impl WitnessTurn<'_> {
    /// Asks the witness if a request is due and there is a newer checkpoint.
    fn take(&mut self, client: &CosignatureClient) {
        if Instant::now() < self.due {
            return;
        }
        // A log without entries has no checkpoint yet. That is not an error.
        let Ok((_, size, seen)) = client.newest(self.witness) else { return };
        if seen >= size {
            return;
        }
        self.trouble = match client.request(self.witness) {
            Ok(_) => {
                self.pause = PAUSE;
                None
            }
            Err(error) => {
                StoreCounters::add(&client.counters.witness_failures, 1);
                self.pause = (self.pause * 2).min(LONGEST);
                Some(format!("witness {}: {error}", self.witness.key().name()))
            }
        };
        self.due = Instant::now() + self.pause;
    }
}
