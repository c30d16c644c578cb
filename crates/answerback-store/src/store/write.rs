//! Queues work for the writer.

use std::sync::Arc;

use answerback_ledger::leaf::Basis;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::{Draft, LeafToken, Part, Salt};

use super::Store;
use crate::engine::LookupHint;
use crate::erasure::{ErasureOutcome, PruneOutcome, erase, prune};
use crate::job::job;
use crate::rotation::rotate;
use crate::running_transaction::{RunningTransaction, lookup_hint};
use crate::stats::StoreCounters;
use crate::transaction::{AppendedEntry, Log, Transaction};
use crate::{OnFailure, StoreError, Ticket};

/// The assumed weight of a unit whose size is unknown, in bytes.
const WEIGHT: usize = 4096;

/// Writes to the store.
impl Store {
    /// Queues a unit of work for the writer. The unit fails independently of other units, and may
    /// run more than once. Its changes are durable when the ticket completes.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed. The unit does not run.
    pub fn write<T: Send + 'static>(
        &self,
        unit: impl FnMut(&mut dyn Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.write_weighing(WEIGHT, unit)
    }

    /// Queues a unit of work that holds this many bytes in memory. Otherwise it works as
    /// [`Self::write`].
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed. The unit does not run.
    pub fn write_weighing<T: Send + 'static>(
        &self,
        weight: usize,
        mut unit: impl FnMut(&mut dyn Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.submit(weight, move |work| unit(work))
    }

    /// Appends one entry.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn append(&self, draft: Draft) -> Result<Ticket<AppendedEntry>, StoreError> {
        let (weight, lookup_hint) = (draft.weight(), lookup_hint(&draft));
        self.submit_with_hint(weight, lookup_hint, move |work| work.append(&draft))
    }

    /// Creates a part with its own salt for a draft. The commitment is computed here and not on the
    /// writer thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not a token, or there is no randomness.
    pub fn part(&self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Part, StoreError> {
        let name = LeafToken::new(name).map_err(StoreError::unit)?;
        Ok(Part::new(name, Salt::new(self.0.settings.random()?), bytes))
    }

    /// Erases a part of an entry, and the content of events, cases, blobs and retry states that
    /// reference the entry. When the ticket completes, no file of the store contains the content,
    /// unless a reader still uses an older state. [`Self::is_scrubbed`] reports this. A later
    /// writer then removes it when the reader is done.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn erase(
        &self,
        index: u64,
        part: LeafToken,
        basis: Basis,
    ) -> Result<Ticket<ErasureOutcome>, StoreError> {
        // Remove the text from the index first. The process that fills the index would see the
        // erasure entry, but it may not be running.
        let has_part = self
            .entry(index)?
            .is_some_and(|entry| entry.parts.iter().any(|stored| *stored.name() == part));
        if let Some(mut text) = (self.0.open_text)(false)?.filter(|_| has_part) {
            text.remove(index)?;
            text.scrub()?;
        }
        self.submit(WEIGHT, move |work| erase(work, index, &part, basis))
    }

    /// Removes entries below an index, rounded down to a multiple of 256. The caller should export
    /// them first. All proofs about the remaining entries stay valid.
    ///
    /// It works in steps, so that other units can write in between, and calls `progress` after each
    /// step. An interruption between two steps leaves a valid log. Repeat the call to continue. The
    /// call blocks until all steps are done.
    ///
    /// # Errors
    ///
    /// Returns an error if there is nothing to remove, the queue is full, or the store fails.
    pub fn prune(
        &self,
        below: u64,
        progress: &mut dyn FnMut(PruneOutcome),
    ) -> Result<PruneOutcome, StoreError> {
        let wanted = below - below % WIDTH;
        let mut removed = 0;
        loop {
            let step = self.submit(WEIGHT, move |work| prune(work, below))?.wait()?.value;
            progress(step);
            removed += step.removed;
            if step.below >= wanted {
                return Ok(PruneOutcome { removed, ..step });
            }
        }
    }

    /// Removes events below a sequence number, except those of [our own
    /// streams](crate::OWN_STREAMS). Readers get the range as a [`crate::EventGap`]. The count and
    /// digest of each stream stay. The ticket returns the number of removed events.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn prune_events(&self, below: u64) -> Result<Ticket<u64>, StoreError> {
        self.submit(WEIGHT, move |work| {
            // The newest event stays, so that the sequence never restarts.
            let below = below.min(work.event_seq());
            let minimum = work.read(|engine| engine.event_minimum())?;
            if below <= minimum {
                return Ok(0);
            }
            work.scrub = true;
            work.write(|engine| engine.prune_events(minimum..below))
        })
    }

    /// Rotates to a new key. An entry names the key, and both keys sign the next checkpoint. The
    /// ticket fails if the key cannot be written or another rotation is in the same batch.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn rotate_key(&self) -> Result<Ticket<AppendedEntry>, StoreError> {
        let settings = self.0.settings.clone();
        self.submit(WEIGHT, move |work| rotate(work, &settings))
    }

    /// Decides whether to send a reply whose record failed. With [`OnFailure::Open`] it counts the
    /// reply as unrecorded and returns `Ok`. It never excuses a unit's own error.
    ///
    /// # Errors
    ///
    /// Returns an error if the reply must be withheld. It is the same error that was passed in.
    pub fn apply_failure_policy(&self, error: StoreError) -> Result<(), StoreError> {
        let open = self.0.settings.on_failure == OnFailure::Open;
        if open && error.is_failure_of_the_store() {
            StoreCounters::add(&self.0.counters.unrecorded, 1);
            // The caller reports a withheld reply. A reply that is sent looks normal, so log it
            // here.
            tracing::warn!(reason = %error, "a reply goes on without a record, because on_failure is open");
            return Ok(());
        }
        StoreCounters::add(&self.0.counters.withheld, 1);
        Err(error)
    }

    fn submit<T: Send + 'static>(
        &self,
        weight: usize,
        unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.submit_with_hint(weight, LookupHint::default(), unit)
    }

    fn submit_with_hint<T: Send + 'static>(
        &self,
        weight: usize,
        lookup_hint: LookupHint,
        unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        let (job, ticket) = job(lookup_hint, unit);
        let pushed = self.0.queue.push(weight, job);
        if matches!(pushed, Err(StoreError::Busy)) {
            StoreCounters::add(&self.0.counters.queue_full, 1);
        }
        pushed.map(|()| ticket)
    }
}
