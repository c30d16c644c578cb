//! Runs calls in the task that reads their response. This avoids a new task per call and its wakeups.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::{Relay, lock};

/// Holds the running calls, in tasks of the relay and in those of readers.
#[derive(Debug, Default)]
pub(super) struct RunningCalls {
    pub(super) tasks: JoinSet<()>,
    /// The number of calls that run in a reader's task.
    pub(super) elsewhere: usize,
    /// True while the relay shuts down. It then waits only for the tasks that it already has.
    pub(super) is_leaving: bool,
    /// True once the relay has shut down and waits for nothing.
    pub(super) has_left: bool,
}

impl RunningCalls {
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        // Finished tasks are removed first.
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task);
    }
}

/// Runs a call to its response when polled. If it is dropped early, the call continues in its own task, because a
/// reader that leaves has not cancelled the call.
pub(crate) struct CarriedCall {
    call: Option<CallFuture>,
    counted: Option<CarriedGuard>,
}

type CallFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Counts a call that runs in a reader's task while it exists.
struct CarriedGuard(Arc<Relay>);

impl Drop for CarriedGuard {
    fn drop(&mut self) {
        lock(&self.0.under_way).elsewhere -= 1;
        self.0.has_ended_elsewhere.notify_waiters();
    }
}

impl CarriedCall {
    pub(super) fn new(relay: &Arc<Relay>, call: CallFuture) -> Self {
        lock(&relay.under_way).elsewhere += 1;
        Self { call: Some(call), counted: Some(CarriedGuard(Arc::clone(relay))) }
    }
}

impl Future for CarriedCall {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(call) = &mut self.call else { return Poll::Ready(()) };
        let done = call.as_mut().poll(context);
        if done.is_ready() {
            self.call = None;
        }
        done
    }
}

impl Drop for CarriedCall {
    fn drop(&mut self) {
        let (Some(call), Some(counted)) = (self.call.take(), self.counted.take()) else { return };
        // Without a runtime the call cannot continue.
        if Handle::try_current().is_err() {
            return;
        }
        let relay = Arc::clone(&counted.0);
        let mut under_way = lock(&relay.under_way);
        if under_way.has_left {
            return;
        }
        if under_way.is_leaving {
            // The relay has already collected its tasks, so this call must stay in the count that it waits for.
            drop(under_way);
            tokio::spawn(async move {
                call.await;
                drop(counted);
            });
        } else {
            under_way.spawn(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use answerback::config::ValidationConfig;
    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::client_sink::ClientSink;
    use crate::relay::Served;
    use crate::{Client, Gateway, GatewaySettings};

    const SECOND: Duration = Duration::from_secs(1);

    fn relay() -> Arc<Relay> {
        let gateway = Gateway::new(ValidationConfig::default(), GatewaySettings::default());
        let (to_client, to_server) = (mpsc::channel(1).0, mpsc::channel(1).0);
        let served = Served::new("server".to_owned(), "program".to_owned(), None);
        let outlet = ClientSink::Queue(to_client);
        let who = Arc::new(Client::stateless("somebody"));
        Arc::new(Relay::new(Arc::new(gateway), who, served, outlet, to_server))
    }

    /// Returns a call that takes three seconds, and a flag that it sets when it is done.
    fn call(relay: &Arc<Relay>) -> (CarriedCall, Arc<AtomicBool>) {
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let call = async move {
            sleep(3 * SECOND).await;
            done.store(true, Ordering::Relaxed);
        };
        (CarriedCall::new(relay, Box::pin(call)), is_done)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_reader_goes_away_goes_on() {
        let relay = relay();
        let (carried, is_done) = call(&relay);
        assert!(tokio::time::timeout(SECOND, carried).await.is_err());
        assert!(!is_done.load(Ordering::Relaxed));
        let began = Instant::now();
        relay.leave().await;
        assert!(is_done.load(Ordering::Relaxed));
        assert_eq!(began.elapsed(), 2 * SECOND);
        assert_eq!(lock(&relay.under_way).elsewhere, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_waits_for_a_call_that_is_carried_elsewhere() {
        let relay = relay();
        let (first, first_is_done) = call(&relay);
        let (second, second_is_done) = call(&relay);
        let reading = tokio::spawn(first);
        let giving_up = tokio::spawn(tokio::time::timeout(SECOND, second));
        relay.leave().await;
        assert!(first_is_done.load(Ordering::Relaxed) && second_is_done.load(Ordering::Relaxed));
        assert!(reading.await.is_ok() && giving_up.await.is_ok());
        // The relay no longer waits for this call.
        let (late, is_done) = call(&relay);
        drop(late);
        sleep(9 * SECOND).await;
        assert!(!is_done.load(Ordering::Relaxed));
        assert_eq!(lock(&relay.under_way).elsewhere, 0);
    }
}
