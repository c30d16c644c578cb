//! The writer thread, of which each process has one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use answerback::Timestamp;

use crate::batch::{BatchFailure, BatchOutcome};
use crate::chain::Chain;
use crate::engine::{Engine, EngineError, EngineFailure, EngineResult, Opener};
use crate::job::WriterJob;
use crate::queue::Queue;
use crate::stats::StoreCounters;
use crate::{Settings, StoreError, StoreHealth};

/// The time that the writer waits for work before it does maintenance.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first and the longest pause before a failed store is reopened.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

pub(crate) struct LogWriter {
    pub(crate) opener: Arc<dyn Opener>,
    pub(crate) settings: Settings,
    pub(crate) queue: Arc<Queue>,
    pub(crate) counters: Arc<StoreCounters>,
    pub(crate) chain: Result<Chain, Poison>,
    pub(crate) swept: Instant,
}

/// The error of a failed store, and the time of the next attempt to open it.
pub(crate) struct Poison {
    reason: StoreError,
    pause: Duration,
    until: Instant,
}

impl Poison {
    fn new(reason: StoreError, pause: Duration) -> Self {
        Self { reason, pause, until: Instant::now() + pause }
    }
}

impl LogWriter {
    /// Writes until the queue is closed.
    pub(crate) fn work(mut self) {
        while let Some(jobs) = self.queue.take(PATIENCE) {
            self.counters.waiting.store(self.queue.len() as u64, Ordering::Relaxed);
            if jobs.is_empty() {
                self.idle();
            } else {
                self.write(jobs);
            }
            self.sweep();
        }
        if let Ok(chain) = &mut self.chain {
            chain.close_anchors(&self.counters);
            // Try a delayed scrub once more. If it fails, the next writer does it.
            let scrubbed = chain.check_for_erased_content().and_then(|()| {
                chain.scrub.hurry();
                chain.scrub_if_due()
            });
            if let Err(EngineError { source, .. }) = scrubbed {
                tracing::warn!(error = %source, "erased content may still be in the store's files");
            }
        }
    }

    fn write(&mut self, mut jobs: Vec<Box<dyn WriterJob>>) {
        if let Err(reason) = self.reopen() {
            return self.refuse(jobs, &StoreError::Poisoned(Arc::new(reason)));
        }
        let Ok(chain) = &mut self.chain else { return };
        match chain.run(&mut jobs, &self.settings, &self.counters) {
            Ok(BatchOutcome { size, root, outcomes, broken }) => {
                let remaining = jobs.split_off(outcomes.len());
                self.queue.put_back(remaining);
                self.counters.set_health(StoreHealth::Good);
                StoreCounters::add(&self.counters.batches, 1);
                StoreCounters::add(&self.counters.units, outcomes.len() as u64);
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    StoreCounters::add(&self.counters.units_failed, u64::from(outcome.is_err()));
                    job.finish(outcome.map(|()| (size, root)));
                }
                if let Some(error) = broken {
                    self.failed(error);
                }
            }
            Err(BatchFailure { error, poisons }) => {
                self.fail(&error, poisons);
                self.refuse(jobs, &error);
            }
        }
    }

    /// Records that writing failed.
    fn fail(&mut self, error: &StoreError, poisons: bool) {
        if poisons {
            self.poison(error.clone(), BACK_OFF.0);
            StoreCounters::add(&self.counters.poisonings, 1);
        } else {
            self.counters.set_health(StoreHealth::Locked);
            StoreCounters::add(&self.counters.lock_timeouts, 1);
        }
    }

    /// Handles a failure outside of any unit.
    fn failed(&mut self, error: EngineError) {
        let poisons = !matches!(error.failure, EngineFailure::Locked | EngineFailure::Conflict);
        if poisons {
            tracing::warn!(error = %error.source, "the store failed: it is opened again");
        }
        self.fail(&error.into(), poisons);
    }

    fn refuse(&self, jobs: Vec<Box<dyn WriterJob>>, error: &StoreError) {
        StoreCounters::add(&self.counters.units_failed, jobs.len() as u64);
        for job in jobs {
            job.finish(Err(error.clone()));
        }
    }

    fn poison(&mut self, reason: StoreError, pause: Duration) {
        self.counters.set_health(StoreHealth::Poisoned { reason: reason.to_string() });
        // Dropping the chain also drops the connection, whose cache cannot be trusted any more.
        self.chain = Err(Poison::new(reason, pause));
    }

    /// Reopens a failed store if its pause is over.
    fn reopen(&mut self) -> Result<(), StoreError> {
        let Err(Poison { reason, pause, until }) = &self.chain else { return Ok(()) };
        if Instant::now() < *until {
            return Err(reason.clone());
        }
        let pause = (*pause * 2).min(BACK_OFF.1);
        match Chain::open(self.opener.as_ref(), &self.settings) {
            Ok(chain) => {
                self.counters.set_warnings(chain.engine.warnings());
                self.chain = Ok(chain);
                Ok(())
            }
            Err(error) => {
                self.poison(error.clone(), pause);
                Err(error)
            }
        }
    }

    /// Writes to a failed store to find out whether it works again, before a caller needs it. A
    /// client that sees the store as not ready sends no requests that would show it. Reading is not
    /// enough, because a full disk can still be read.
    fn probe(&mut self) {
        if self.counters.health() == StoreHealth::Good || self.reopen().is_err() {
            return;
        }
        let Ok(chain) = &mut self.chain else { return };
        match touch(chain.engine.as_mut()) {
            Ok(()) => self.counters.set_health(StoreHealth::Good),
            Err(error) => {
                chain.engine.rollback();
                self.failed(error);
            }
        }
    }

    /// Does maintenance while the queue is empty.
    fn idle(&mut self) {
        self.probe();
        if let Ok(chain) = &mut self.chain {
            chain.close_anchors(&self.counters);
            if let Err(error) = chain.scrub_if_due() {
                self.failed(error);
            }
        }
    }

    /// Removes expired data at the configured interval.
    fn sweep(&mut self) {
        if self.swept.elapsed() < self.settings.sweep_every {
            return;
        }
        self.swept = Instant::now();
        let now = Timestamp::from_unix_micros((self.settings.clock)());
        let most = self.settings.most_attempts;
        if let Ok(chain) = &mut self.chain {
            let swept = sweep(chain.engine.as_mut(), now, most);
            if swept.is_err() {
                chain.engine.rollback();
            }
            if let Err(error) = swept.and_then(|_| chain.check_for_erased_content()) {
                self.failed(error);
            }
        }
    }
}

/// Writes the head unchanged.
fn touch(engine: &mut dyn Engine) -> EngineResult<()> {
    if let Some(head) = engine.begin()? {
        engine.save_head(&head, None)?;
    }
    engine.commit()
}

pub(crate) fn sweep(engine: &mut dyn Engine, now: Timestamp, most: u64) -> EngineResult<u64> {
    engine.begin()?;
    let swept = engine.sweep_attempts(now, most)? + engine.sweep_cases(now)?;
    if swept > 0 {
        engine.request_scrub()?;
        engine.commit()?;
    } else {
        engine.rollback();
    }
    Ok(swept)
}
