//! Keeps the timers of one connection.
//! Every request sets new deadlines, and almost none is reached. So each connection has a single runtime timer. It is
//! moved to the next deadline only when it fires, not at every request.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// Provides deadlines for the task of one connection. Every request has one among its extensions. Use it only in the
/// connection's own task: its timer cannot wake another task.
#[derive(Clone, Debug, Default)]
pub struct ConnectionTimer(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

/// A future that resolves at a point in time.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: tokio::time::Instant,
    timer: ConnectionTimer,
}

impl ConnectionTimer {
    /// Waits for a future, but no longer than `limit`. Returns `None` on timeout.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let (mut future, mut deadline) = (pin!(future), self.deadline_in(limit));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Pin::new(&mut deadline).poll(context).map(|()| None),
        })
        .await
    }

    /// Creates a deadline that is reached after `duration`.
    pub(crate) fn deadline_in(&self, duration: Duration) -> Deadline {
        Deadline { at: tokio::time::Instant::now() + duration, timer: self.clone() }
    }
}

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.deadline_in(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline { at: deadline.into(), timer: self.clone() })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut sleep = self.timer.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.at)));
        if sleep.deadline() > self.at {
            sleep.as_mut().reset(self.at);
        }
        while sleep.as_mut().poll(context).is_ready() {
            if sleep.deadline() >= self.at {
                return Poll::Ready(());
            }
            // The timer was set for an earlier request.
            sleep.as_mut().reset(self.at);
        }
        Poll::Pending
    }
}

impl Sleep for Deadline {}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Measures how long a deadline of `long` takes.
    async fn elapsed(timer: &ConnectionTimer, long: Duration) -> Duration {
        let began = tokio::time::Instant::now();
        timer.sleep(long).await;
        began.elapsed()
    }

    /// Waits for a deadline and drops it after a shorter time.
    async fn abandon(timer: &ConnectionTimer, long: Duration, after: Duration) {
        assert!(tokio::time::timeout(after, timer.sleep(long)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_deadlines_do_not_change_a_later_one() {
        let timer = ConnectionTimer::default();
        assert_eq!(elapsed(&timer, SECOND).await, SECOND);
        // The second deadline begins when the first was reached.
        assert_eq!(elapsed(&timer, SECOND).await, SECOND);
        // One deadline ends later than the dropped one, the other earlier.
        abandon(&timer, 3 * SECOND, SECOND).await;
        assert_eq!(elapsed(&timer, 30 * SECOND).await, 30 * SECOND);
        abandon(&timer, 30 * SECOND, SECOND).await;
        assert_eq!(elapsed(&timer, SECOND).await, SECOND);
        // A deadline of zero has expired already.
        assert_eq!(elapsed(&timer, Duration::ZERO).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn several_deadlines_of_one_task_are_reached() {
        let timer = ConnectionTimer::default();
        let began = tokio::time::Instant::now();
        let inner = timer.timeout(7 * SECOND, std::future::pending::<()>());
        let outer = timer.timeout(3 * SECOND, inner);
        let abandoned = tokio::time::timeout(SECOND, timer.timeout(9 * SECOND, outer));
        assert!(abandoned.await.is_err());
        let inner = timer.timeout(2 * SECOND, std::future::pending::<()>());
        assert_eq!(timer.timeout(5 * SECOND, inner).await, Some(None));
        assert_eq!(began.elapsed(), 3 * SECOND);
        assert_eq!(timer.timeout(SECOND, async { 7 }).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn many_requests_share_one_timer() {
        let timer = ConnectionTimer::default();
        for _ in 0..100 {
            abandon(&timer, 30 * SECOND, SECOND).await;
        }
        let deadline = timer.0.lock().unwrap().as_ref().unwrap().deadline();
        let left = deadline.duration_since(tokio::time::Instant::now());
        // The timer is set, but not for the newest deadline.
        assert!(left > Duration::ZERO && left < 29 * SECOND, "{left:?}");
    }
}
