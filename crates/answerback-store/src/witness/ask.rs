//! Asks a witness to cosign the newest checkpoint, with retries.

use std::sync::Arc;

use answerback_ledger::{Checkpoint, Note};

use super::Witness;
use super::client::Answer;
use crate::StoreError;
use crate::engine::Foreseen;
use crate::job::job;
use crate::queue::Queue;
use crate::reading::{self, Readers};
use crate::stats::Counters;

/// The maximum number of attempts if the witness reports another size than expected.
const TRIES: usize = 4;

/// The weight of a signature line in the queue, in bytes.
const WEIGHT: usize = 1024;

/// A checkpoint that a witness cosigned.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Witnessed {
    /// The size of the log in the checkpoint.
    pub size: u64,
    /// The time of the cosignature in seconds since 1970, by the witness's own clock.
    pub time: u64,
    /// The checkpoint with its cosignature.
    pub note: Note,
}

/// Holds the parts of a store that a request to a witness needs. It does not prevent the store from
/// closing.
pub(crate) struct CosignatureRequest {
    pub(crate) readers: Arc<Readers>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) counters: Arc<Counters>,
}

impl CosignatureRequest {
    /// Returns the newest checkpoint with its cosignatures, its size, and the largest size that
    /// this witness cosigned.
    pub(super) fn newest(&self, witness: &Witness) -> Result<(Note, u64, u64), StoreError> {
        let signer = witness.key().signer();
        self.readers.read(|read| {
            let note = reading::newest_checkpoint(read)?;
            let note = note.ok_or_else(|| StoreError::Missing("checkpoint".to_owned()))?;
            let damaged = |error: String| StoreError::Damaged(format!("a checkpoint: {error}"));
            let size = Checkpoint::read(&note).map_err(|error| damaged(error.to_string()))?.size();
            let seen = read.witnessed()?.into_iter().find(|(name, _)| *name == signer);
            Ok((note, size, seen.map_or(0, |(_, size)| size)))
        })
    }

    pub(crate) fn ask(&self, witness: &Witness) -> Result<Witnessed, WitnessError> {
        let (mut note, mut size, mut old) = self.newest(witness)?;
        if let Ok(Some(cosignature)) = witness.key().cosignature(&note) {
            return Ok(Witnessed { size, time: cosignature.time, note });
        }
        for _ in 0..TRIES {
            let proof = match old {
                0 => Vec::new(),
                old => self.readers.read(|read| reading::consistency(read, old, size))?,
            };
            match witness.add_checkpoint(old, &proof, &note)? {
                Answer::Signed(lines) => return self.keep(witness, &note, size, &lines),
                // The witness has seen this size with another root.
                Answer::Seen(seen) if seen == old => {
                    return Err(WitnessError::Inconsistent { seen });
                }
                Answer::Seen(seen) => {
                    // Another process may have sent the witness a newer checkpoint than ours.
                    (note, size, _) = self.newest(witness)?;
                    if seen > size {
                        return Err(WitnessError::Ahead { seen, size });
                    }
                    old = seen;
                }
            }
        }
        Err(WitnessError::Busy)
    }

    /// Verifies the cosignature and stores it with the checkpoint.
    fn keep(
        &self,
        witness: &Witness,
        note: &Note,
        size: u64,
        lines: &str,
    ) -> Result<Witnessed, WitnessError> {
        let key = witness.key();
        let cosigned = note.with_signatures(lines);
        let cosigned = cosigned.map_err(|_| WitnessError::Answer("no signature lines"))?;
        let cosignature = key.cosignature(&cosigned).map_err(|_| WitnessError::Forged)?;
        let cosignature = cosignature.ok_or(WitnessError::Unsigned)?;
        // Store only the verified line of the response.
        let line = cosignature.line;
        let (signer, own) = (key.signer(), note.to_string());
        let note = note.with_signatures(&line).map_err(|_| WitnessError::Forged)?;
        let (job, ticket) = job(Foreseen::default(), move |work| {
            work.write(|engine| {
                // If the note contains another witness's line, the checkpoint is already stored
                // without it.
                engine.keep_checkpoint(size, &own)?;
                engine.put_cosignature(size, &signer, &line)
            })
        });
        self.queue.push(WEIGHT, job)?;
        ticket.wait()?;
        Ok(Witnessed { size, time: cosignature.time, note })
    }
}

/// Explains why there is no cosignature.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The witness does not respond in time.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The witness does not know the log.
    #[error("it does not know this log; give its operator the log's key")]
    UnknownLog,
    /// The witness knows the log by another key.
    #[error(
        "it does not trust the key that signed the checkpoint; give its operator the log's key"
    )]
    Untrusted,
    /// The witness has seen a longer log: this one was rolled back.
    #[error(
        "it has seen {seen} entries and the log has {size}: the log was restored from an older copy"
    )]
    Ahead {
        /// The size that the witness has seen.
        seen: u64,
        /// The size of the log.
        size: u64,
    },
    /// The witness has seen another history.
    #[error(
        "the first {seen} entries of the log are not those that it has seen: history was rewritten"
    )]
    Inconsistent {
        /// The size at which the histories differ.
        seen: u64,
    },
    /// Other processes kept sending newer checkpoints.
    #[error("others show it newer checkpoints all the time; try again later")]
    Busy,
    /// The witness responded with an unexpected HTTP status.
    #[error("it answered with status {0}")]
    Status(u16),
    /// The witness's response is malformed.
    #[error("its answer is not one: {0}")]
    Answer(&'static str),
    /// The witness responded with cosignatures of other keys.
    #[error("it did not sign with the key that is configured for it")]
    Unsigned,
    /// The cosignature is not valid.
    #[error("its cosignature is not one of this checkpoint")]
    Forged,
    /// The store cannot be read, or cannot store the cosignature.
    #[error(transparent)]
    Store(#[from] StoreError),
}
