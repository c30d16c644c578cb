use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use answerback_ledger::Hash;

use crate::StoreError;

/// The result of a unit of work after its commit.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Commit<T> {
    /// The value that the unit returned.
    pub value: T,
    /// The size of the log in the checkpoint that covers the unit.
    pub size: u64,
    /// The root in that checkpoint.
    pub root: Hash,
}

type CommitResult<T> = Result<Commit<T>, StoreError>;

/// A future result of a unit of work. A thread can [wait](Self::wait) for it; a task can await it.
///
/// Dropping the ticket does not cancel the unit.
#[must_use = "a unit is durable when its ticket says so"]
#[derive(Debug)]
pub struct Ticket<T>(Arc<TicketState<T>>);

#[derive(Debug)]
struct TicketState<T> {
    slot: Mutex<TicketSlot<T>>,
    filled: Condvar,
}

#[derive(Debug)]
struct TicketSlot<T> {
    answer: Option<CommitResult<T>>,
    waker: Option<Waker>,
    /// True if a thread sleeps until the result arrives. On a busy store most tickets complete
    /// before a caller waits.
    is_waited_for: bool,
}

/// The writer's end of a ticket. If it is dropped without a result, the ticket fails with
/// [`StoreError::Closed`].
pub(crate) struct Promise<T>(Option<Arc<TicketState<T>>>);

pub(crate) fn ticket<T>() -> (Promise<T>, Ticket<T>) {
    let slot = Mutex::new(TicketSlot { answer: None, waker: None, is_waited_for: false });
    let shared = Arc::new(TicketState { slot, filled: Condvar::new() });
    (Promise(Some(Arc::clone(&shared))), Ticket(shared))
}

impl<T> TicketState<T> {
    // A poisoned lock is safe to use: each change of the slot is a single assignment, so a panic
    // leaves it consistent.
    fn lock(&self) -> MutexGuard<'_, TicketSlot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, answer: CommitResult<T>) {
        let mut slot = self.lock();
        slot.answer = Some(answer);
        let (waker, is_waited_for) = (slot.waker.take(), slot.is_waited_for);
        drop(slot);
        if is_waited_for {
            self.filled.notify_one();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Promise<T> {
    pub(crate) fn fulfil(mut self, answer: CommitResult<T>) {
        if let Some(shared) = self.0.take() {
            shared.fill(answer);
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.fill(Err(StoreError::Closed));
        }
    }
}

impl<T> Ticket<T> {
    /// Blocks until the unit is durable or has failed.
    ///
    /// # Errors
    ///
    /// Returns an error if the unit was not written, or it is unknown whether it was.
    pub fn wait(self) -> CommitResult<T> {
        let mut slot = self.0.lock();
        loop {
            if let Some(answer) = slot.answer.take() {
                return answer;
            }
            slot.is_waited_for = true;
            slot = self.0.filled.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks for at most `timeout`. If there is no result yet, it returns the ticket.
    ///
    /// # Errors
    ///
    /// Returns the ticket itself if the timeout expired.
    pub fn wait_for(self, timeout: Duration) -> Result<CommitResult<T>, Self> {
        let until = Instant::now() + timeout;
        let mut slot = self.0.lock();
        loop {
            if let Some(answer) = slot.answer.take() {
                return Ok(answer);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(slot);
                return Err(self);
            }
            slot.is_waited_for = true;
            (slot, _) =
                self.0.filled.wait_timeout(slot, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for Ticket<T> {
    type Output = CommitResult<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CommitResult<T>> {
        let mut slot = self.0.lock();
        match slot.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;
    use std::thread;

    use super::*;

    fn committed(value: u8) -> Commit<u8> {
        Commit { value, size: 1, root: Hash::of_nothing() }
    }

    #[test]
    fn a_thread_waits() {
        let (promise, ticket) = ticket();
        let writer = thread::spawn(move || promise.fulfil(Ok(committed(7))));
        assert_eq!(ticket.wait().unwrap().value, 7);
        writer.join().unwrap();
    }

    #[test]
    fn time_passes() {
        let (promise, ticket) = ticket::<u8>();
        let ticket = ticket.wait_for(Duration::from_millis(1)).unwrap_err();
        drop(promise);
        let answer = ticket.wait_for(Duration::from_secs(5)).unwrap();
        assert!(matches!(answer, Err(StoreError::Closed)));
    }

    #[test]
    fn a_task_is_woken() {
        struct Flag(Mutex<bool>);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                *self.0.lock().unwrap() = true;
            }
        }
        let flag = Arc::new(Flag(Mutex::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut context = Context::from_waker(&waker);
        let (promise, mut ticket) = ticket();
        assert!(Pin::new(&mut ticket).poll(&mut context).is_pending());
        promise.fulfil(Ok(committed(1)));
        assert!(*flag.0.lock().unwrap());
        assert!(Pin::new(&mut ticket).poll(&mut context).is_ready());
    }
}
