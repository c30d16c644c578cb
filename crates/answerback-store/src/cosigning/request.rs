//! Asks a witness to cosign the newest checkpoint, with retries.

use std::sync::Arc;

use answerback_ledger::{Checkpoint, Note};

use super::WitnessError;
use super::client::{WitnessReply, add_checkpoint};
use crate::engine::LookupHint;
use crate::job::job;
use crate::queue::Queue;
use crate::reading::{self, Readers};
use crate::stats::StoreCounters;
use crate::{StoreError, Witness};

/// The maximum number of attempts if the witness reports another size than expected.
const TRIES: usize = 4;

/// The weight of a signature line in the queue, in bytes.
const WEIGHT: usize = 1024;

/// A checkpoint that a witness cosigned.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CosignedCheckpoint {
    /// The size of the log in the checkpoint.
    pub size: u64,
    /// The time of the cosignature in seconds since 1970, by the witness's own clock.
    pub time: u64,
    /// The checkpoint with its cosignature.
    pub note: Note,
}

/// Requests cosignatures for the checkpoints of a store. It holds only the parts of the store that it
/// needs, so it does not prevent the store from closing.
pub(crate) struct CosignatureClient {
    pub(crate) readers: Arc<Readers>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) counters: Arc<StoreCounters>,
}

impl CosignatureClient {
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

    /// Returns the newest checkpoint with a cosignature of this witness, and requests the cosignature
    /// if the witness has not signed this checkpoint yet.
    pub(crate) fn request(&self, witness: &Witness) -> Result<CosignedCheckpoint, WitnessError> {
        let (mut note, mut size, mut old) = self.newest(witness)?;
        if let Ok(Some(cosignature)) = witness.key().cosignature(&note) {
            return Ok(CosignedCheckpoint { size, time: cosignature.time, note });
        }
        for _ in 0..TRIES {
            let proof = match old {
                0 => Vec::new(),
                old => self.readers.read(|read| reading::consistency(read, old, size))?,
            };
            match add_checkpoint(witness, old, &proof, &note)? {
                WitnessReply::Signed(lines) => {
                    return self.store_cosignature(witness, &note, size, &lines);
                }
                // The witness has seen this size with another root.
                WitnessReply::Seen(seen) if seen == old => {
                    return Err(WitnessError::Inconsistent { seen });
                }
                WitnessReply::Seen(seen) => {
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
    fn store_cosignature(
        &self,
        witness: &Witness,
        note: &Note,
        size: u64,
        lines: &str,
    ) -> Result<CosignedCheckpoint, WitnessError> {
        let key = witness.key();
        let cosigned = note.with_signatures(lines);
        let cosigned = cosigned.map_err(|_| WitnessError::Answer("no signature lines"))?;
        let cosignature = key.cosignature(&cosigned).map_err(|_| WitnessError::Forged)?;
        let cosignature = cosignature.ok_or(WitnessError::Unsigned)?;
        // Store only the verified line of the response.
        let line = cosignature.line;
        let (signer, own) = (key.signer(), note.to_string());
        let note = note.with_signatures(&line).map_err(|_| WitnessError::Forged)?;
        let (job, ticket) = job(LookupHint::default(), move |work| {
            work.write(|engine| {
                // If the note contains another witness's line, the checkpoint is already stored
                // without it.
                engine.store_checkpoint(size, &own)?;
                engine.put_cosignature(size, &signer, &line)
            })
        });
        self.queue.push(WEIGHT, job)?;
        ticket.wait()?;
        Ok(CosignedCheckpoint { size, time: cosignature.time, note })
    }
}
