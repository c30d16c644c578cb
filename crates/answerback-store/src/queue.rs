//! The bounded queue in front of the writer. A push to a full queue fails instead of waiting.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::StoreError;
use crate::job::WriterJob;

/// The maximum number of units in one transaction.
const BATCH: usize = 1024;

pub(crate) struct Queue {
    waiting: Mutex<QueuedJob>,
    filled: Condvar,
    most_units: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct QueuedJob {
    jobs: VecDeque<(usize, Box<dyn WriterJob>)>,
    bytes: usize,
    is_closed: bool,
    /// True if the writer thread is asleep. Waking a running thread would waste a system call.
    is_asleep: bool,
}

impl Queue {
    pub(crate) fn new(most_units: usize, most_bytes: usize) -> Self {
        let waiting = Mutex::new(QueuedJob::default());
        Self { waiting, filled: Condvar::new(), most_units, most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, QueuedJob> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, weight: usize, job: Box<dyn WriterJob>) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return Err(StoreError::Closed);
        }
        // An empty queue accepts a unit of any weight.
        let is_full = waiting.jobs.len() >= self.most_units
            || !waiting.jobs.is_empty() && waiting.bytes + weight > self.most_bytes;
        if is_full {
            return Err(StoreError::Busy);
        }
        waiting.bytes += weight;
        waiting.jobs.push_back((weight, job));
        let wakes = std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if wakes {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Puts jobs that did not fit into a transaction back at the front of the queue.
    pub(crate) fn put_back(&self, jobs: Vec<Box<dyn WriterJob>>) {
        let mut waiting = self.lock();
        for job in jobs.into_iter().rev() {
            waiting.jobs.push_front((0, job));
        }
    }

    /// Takes at most one batch of waiting jobs. The batch is empty if no job arrived within
    /// `patience`. Returns `None` if the queue is closed and empty.
    pub(crate) fn take(&self, patience: Duration) -> Option<Vec<Box<dyn WriterJob>>> {
        let mut waiting = self.lock();
        if waiting.jobs.is_empty() && !waiting.is_closed {
            waiting.is_asleep = true;
            let waited = self.filled.wait_timeout(waiting, patience);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
            waiting.is_asleep = false;
        }
        if waiting.jobs.is_empty() && waiting.is_closed {
            return None;
        }
        let count = waiting.jobs.len().min(BATCH);
        let taken: Vec<_> = waiting.jobs.drain(..count).collect();
        waiting.bytes -= taken.iter().map(|(weight, _)| weight).sum::<usize>();
        Some(taken.into_iter().map(|(_, job)| job).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.filled.notify_all();
    }
}
