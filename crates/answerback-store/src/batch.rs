//! Runs one transaction: many units of work, one checkpoint, one commit.

use std::error::Error;
use std::iter;
use std::panic::{self, AssertUnwindSafe};

use answerback_ledger::leaf::Subject;
use answerback_ledger::tile::Tile;
use answerback_ledger::tree::Edge;
use answerback_ledger::{Checkpoint, Draft, Hash, Note};

use crate::chain::Chain;
use crate::engine::{EngineError, EngineFailure, EngineResult};
use crate::job::WriterJob;
use crate::running_transaction::{ANSWERS, BatchRows, CLOCK_TOLERANCE, RunningTransaction};
use crate::stats::StoreCounters;
use crate::transaction::Log;
use crate::{LogHead, Settings, StoreError};

/// The size in bytes at which a transaction is full. The remaining jobs go into the next
/// transaction.
const LARGEST: usize = 4 << 20;

/// The maximum number of attempts for a transaction that conflicts or loses its connection.
const TRIES: usize = 5;

/// The result of a committed transaction.
pub(crate) struct BatchOutcome {
    /// The size and root of the checkpoint that covers the transaction.
    pub(crate) size: u64,
    pub(crate) root: Hash,
    /// The outcome of each job that was run, in order.
    pub(crate) outcomes: Vec<Result<(), StoreError>>,
    /// A failure after the commit. It reverts nothing, but this connection must not be used again.
    pub(crate) broken: Option<EngineError>,
}

/// The error of a transaction that was not committed.
pub(crate) struct BatchFailure {
    pub(crate) error: StoreError,
    /// True if the chain must be opened again.
    pub(crate) poisons: bool,
}

impl Chain {
    /// Runs jobs until none are left or the transaction is full, and commits.
    pub(crate) fn run(
        &mut self,
        jobs: &mut [Box<dyn WriterJob>],
        settings: &Settings,
        counters: &StoreCounters,
    ) -> Result<BatchOutcome, BatchFailure> {
        let mut tries = 1;
        loop {
            match self.attempt(jobs, settings, counters) {
                Err((Some(EngineFailure::Conflict | EngineFailure::Disconnected), _))
                    if tries < TRIES =>
                {
                    tries += 1;
                }
                Err((failure, error)) => {
                    // The state of the connection is unknown after a failure. Only a lock or
                    // conflict error leaves it usable.
                    let poisons =
                        !matches!(failure, Some(EngineFailure::Locked | EngineFailure::Conflict));
                    return Err(BatchFailure { error, poisons });
                }
                Ok(done) => return Ok(done),
            }
        }
    }

    fn attempt(
        &mut self,
        jobs: &mut [Box<dyn WriterJob>],
        settings: &Settings,
        counters: &StoreCounters,
    ) -> Result<BatchOutcome, (Option<EngineFailure>, StoreError)> {
        let head = match self.engine.begin() {
            Ok(Some(head)) => head,
            Ok(None) => {
                self.engine.rollback();
                return Err((None, StoreError::Damaged("the log is gone".to_owned())));
            }
            Err(error) => {
                self.engine.rollback();
                return Err((Some(error.failure), error.into()));
            }
        };
        let done = self.fill(&head, jobs, settings, counters);
        if done.is_err() {
            self.engine.rollback();
        }
        done
    }

    /// Does everything between taking the lock and the acknowledgment.
    fn fill(
        &mut self,
        head: &LogHead,
        jobs: &mut [Box<dyn WriterJob>],
        settings: &Settings,
        counters: &StoreCounters,
    ) -> Result<BatchOutcome, (Option<EngineFailure>, StoreError)> {
        self.catch_up(head).map_err(other_failure)?;
        if let Some(to) = self.engine.moved().map_err(engine_failure)? {
            return Err(other_failure(StoreError::Moved(to)));
        }
        let shared = self.engine.now().filter(|_| settings.is_system_clock);
        let now = shared.unwrap_or_else(|| (settings.clock)());
        let hints: Vec<_> = jobs.iter().map(|job| job.lookup_hint()).collect();
        self.engine.look_up_ahead(ANSWERS, &hints).map_err(engine_failure)?;
        let mut work = RunningTransaction::new(self.engine.as_mut(), settings, head, now);
        if head.size == 0 {
            let start = Draft::config(Subject::Start).with_verifier_key(&head.signer);
            work.append(&start).map_err(other_failure)?;
        }
        // The clock entry is logged when the clock falls behind, and again when it steps back
        // further.
        let set_back_at = work.is_clock_set_back().then_some(now);
        let is_step = set_back_at.is_some_and(|now| {
            self.set_back_at.is_none_or(|before| now < before.saturating_sub(CLOCK_TOLERANCE))
        });
        if is_step {
            work.append_clock().map_err(other_failure)?;
            StoreCounters::add(&counters.clock_steps, 1);
        }
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            work.begin_unit();
            // A unit is a caller's code. A panic fails only that unit.
            let run = panic::catch_unwind(AssertUnwindSafe(|| job.run(&mut work)));
            let outcome =
                run.unwrap_or_else(|_| Err(StoreError::unit("the unit of work panicked")));
            let outcome = outcome.and_then(|()| work.record_effects());
            let ended = work.end_unit(outcome.is_ok());
            if let Some(broken) = work.broken.take().or(ended.err()) {
                return Err(engine_failure(broken));
            }
            outcomes.push(outcome);
            if work.weight >= LARGEST {
                break;
            }
        }
        let rows = work.rows();
        let staged = self.stage(head, &rows).map_err(other_failure)?;
        self.save(head, &rows, &staged).map_err(engine_failure)?;
        if staged.head == *head && !rows.is_dirty {
            self.engine.rollback();
        } else {
            self.engine.commit().map_err(|error| match error.failure {
                EngineFailure::Locked | EngineFailure::Conflict => engine_failure(error),
                failure => (Some(failure), StoreError::InDoubt(error.source)),
            })?;
        }
        let (size, root) = (staged.head.size, staged.head.root);
        (self.edge, self.frontier) = (staged.edge, staged.head.frontier);
        self.set_back_at = set_back_at;
        StoreCounters::add(&counters.entries, rows.entries.len() as u64);
        if let Some(key) = rows.next_key {
            self.key = key;
            self.install_next_key();
        }
        if let Some(note) = staged.note {
            self.anchor(&note, now, counters);
        }
        if rows.scrub {
            self.scrub.want();
        }
        let broken = self.scrub_if_due().err();
        Ok(BatchOutcome { size, root, outcomes, broken })
    }

    /// Moves a new key, which the log now names, into the key file. The lock ensures that no other
    /// process uses `FILE.next`. If this fails, the next start or the next rotation moves it.
    fn install_next_key(&mut self) {
        if let Ok(Some(head)) = self.engine.begin() {
            let _ = self.key_file.holding(&head.signer);
        }
        self.engine.rollback();
    }

    /// Computes the tree that includes the new entries, and signs its checkpoint.
    fn stage(&self, head: &LogHead, rows: &BatchRows) -> Result<StagedBatch, StoreError> {
        let mut head = LogHead {
            last_ts: rows.last_ts,
            event_seq: rows.event_seq,
            minimum: rows.minimum,
            ..head.clone()
        };
        let (mut edge, mut tiles) = (self.edge.clone(), Vec::new());
        for row in &rows.entries {
            edge.append(row.hash, &mut |tile| tiles.push(tile));
            head.frontier.append(row.hash);
        }
        head.size = head.frontier.size();
        head.root = head.frontier.root();
        // The old and the new key both sign the checkpoint that introduces the new key.
        let keys: Vec<_> = iter::once(&self.key).chain(&rows.next_key).collect();
        if let Some(key) = &rows.next_key {
            head.signer = key.verifier();
        }
        let note = if rows.entries.is_empty() {
            None
        } else {
            let damaged = |error: &dyn Error| StoreError::Damaged(error.to_string());
            let checkpoint = Checkpoint::new(&self.origin, head.size, head.root);
            let checkpoint = checkpoint.map_err(|error| damaged(&error))?;
            Some(checkpoint.sign(&keys).map_err(|error| damaged(&error))?)
        };
        Ok(StagedBatch { head, edge, tiles, note })
    }

    fn save(&mut self, old: &LogHead, rows: &BatchRows, staged: &StagedBatch) -> EngineResult<()> {
        let engine = &mut self.engine;
        engine.append_entries(&rows.entries)?;
        engine.append_tiles(&staged.tiles)?;
        engine.append_events(&rows.events)?;
        for (name, stream) in &rows.streams {
            engine.save_stream(name, stream)?;
        }
        let note = staged.note.as_ref().map(ToString::to_string);
        // The newest checkpoint covers all earlier ones. Store permanently only those that complete
        // a tile or introduce a key.
        let is_permanent = !staged.tiles.is_empty() || rows.next_key.is_some();
        if let Some(note) = note.as_ref().filter(|_| is_permanent) {
            engine.store_checkpoint(staged.head.size, note)?;
        }
        if rows.scrub {
            engine.request_scrub()?;
        }
        if staged.head == *old {
            return Ok(());
        }
        engine.save_head(&staged.head, note.as_deref())
    }
}

/// The tree, the head and the checkpoint that a commit will make valid.
struct StagedBatch {
    head: LogHead,
    edge: Edge,
    tiles: Vec<Tile>,
    note: Option<Note>,
}

/// Wraps an error that does not come from the engine.
fn other_failure(error: StoreError) -> (Option<EngineFailure>, StoreError) {
    (None, error)
}

fn engine_failure(error: EngineError) -> (Option<EngineFailure>, StoreError) {
    (Some(error.failure), error.into())
}
