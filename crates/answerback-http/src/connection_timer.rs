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
pub struct Alarm(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

/// A future that resolves at a point in time.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: tokio::time::Instant,
    alarm: Alarm,
}

impl Alarm {
    /// Waits for a future, but no longer than `limit`. Returns `None` on timeout.
    pub async fn within<F: Future>(&self, limit: Duration, waits: F) -> Option<F::Output> {
        let (mut waits, mut deadline) = (pin!(waits), self.after(limit));
        poll_fn(|context| match waits.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Pin::new(&mut deadline).poll(context).map(|()| None),
        })
        .await
    }

    /// Returns a deadline that begins now and lasts for `duration`.
    pub(crate) fn after(&self, duration: Duration) -> Deadline {
        Deadline { at: tokio::time::Instant::now() + duration, alarm: self.clone() }
    }
}

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.after(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline { at: deadline.into(), alarm: self.clone() })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut set = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = set.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.at)));
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
    async fn waited(alarm: &Alarm, long: Duration) -> Duration {
        let began = tokio::time::Instant::now();
        alarm.sleep(long).await;
        began.elapsed()
    }

    /// Waits for a deadline and drops it after a shorter time.
    async fn given_up(alarm: &Alarm, long: Duration, after: Duration) {
        assert!(tokio::time::timeout(after, alarm.sleep(long)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_kept_whatever_was_waited_for_before() {
        let alarm = Alarm::default();
        assert_eq!(waited(&alarm, SECOND).await, SECOND);
        // The second deadline begins when the first was reached.
        assert_eq!(waited(&alarm, SECOND).await, SECOND);
        // One deadline ends later than the dropped one, the other earlier.
        given_up(&alarm, 3 * SECOND, SECOND).await;
        assert_eq!(waited(&alarm, 30 * SECOND).await, 30 * SECOND);
        given_up(&alarm, 30 * SECOND, SECOND).await;
        assert_eq!(waited(&alarm, SECOND).await, SECOND);
        // A deadline of zero has expired already.
        assert_eq!(waited(&alarm, Duration::ZERO).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn several_deadlines_of_a_task_are_kept() {
        let alarm = Alarm::default();
        let began = tokio::time::Instant::now();
        let inner = alarm.within(7 * SECOND, std::future::pending::<()>());
        let outer = alarm.within(3 * SECOND, inner);
        let beside = tokio::time::timeout(SECOND, alarm.within(9 * SECOND, outer));
        assert!(beside.await.is_err());
        let inner = alarm.within(2 * SECOND, std::future::pending::<()>());
        assert_eq!(alarm.within(5 * SECOND, inner).await, Some(None));
        assert_eq!(began.elapsed(), 3 * SECOND);
        assert_eq!(alarm.within(SECOND, async { 7 }).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn many_requests_leave_one_alarm_behind() {
        let alarm = Alarm::default();
        for _ in 0..100 {
            given_up(&alarm, 30 * SECOND, SECOND).await;
        }
        let set = alarm.0.lock().unwrap().as_ref().unwrap().deadline();
        let left = set.duration_since(tokio::time::Instant::now());
        // The timer is set, but not for the newest deadline.
        assert!(left > Duration::ZERO && left < 29 * SECOND, "{left:?}");
    }
}
