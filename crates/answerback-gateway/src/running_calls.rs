//! Runs calls in the task that reads their response. This avoids a new task per call and its wakeups.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Runs one call to its response.
pub(crate) type BoxedCall = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Holds the running calls of one relay, in tasks of its own and in those of readers.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls {
    state: Mutex<RunningState>,
    /// Notifies waiters that a call in a reader's task has ended.
    has_reader_call_ended: Notify,
}

#[derive(Debug, Default)]
struct RunningState {
    tasks: JoinSet<()>,
    /// The number of calls that run in a reader's task.
    reader_calls: usize,
    /// True while the relay shuts down. It then waits only for the tasks that it already has.
    is_leaving: bool,
    /// True once the relay has shut down and waits for nothing.
    has_left: bool,
}

impl RunningState {
    fn spawn(&mut self, call: impl Future<Output = ()> + Send + 'static) {
        // Finished tasks are removed first.
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(call);
    }
}

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, RunningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call in a task of its own.
    pub(crate) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.lock().spawn(call);
    }

    /// Returns the future that runs a call in the task of its reader.
    pub(crate) fn run_in_reader(self: &Arc<Self>, call: BoxedCall) -> CallFuture {
        self.lock().reader_calls += 1;
        CallFuture { call: Some(call), guard: Some(ReaderCallGuard(Arc::clone(self))) }
    }

    /// Takes the tasks of the calls that run now.
    pub(crate) fn take_tasks(&self) -> JoinSet<()> {
        std::mem::take(&mut self.lock().tasks)
    }

    /// Takes the tasks of the calls that run now, because the relay shuts down.
    pub(crate) fn begin_leaving(&self) -> JoinSet<()> {
        let mut state = self.lock();
        state.is_leaving = true;
        std::mem::take(&mut state.tasks)
    }

    /// Ends the shutdown. A call whose reader leaves after this does not continue.
    pub(crate) fn end_leaving(&self) {
        self.lock().has_left = true;
    }

    /// Waits until at most `limit` calls are running, in these tasks or in those of readers.
    pub(crate) async fn wait_for_at_most(
        &self,
        tasks: &mut JoinSet<()>,
        limit: impl Fn() -> usize,
    ) {
        loop {
            let mut ended = pin!(self.has_reader_call_ended.notified());
            ended.as_mut().enable();
            let limit = limit();
            if tasks.len() + self.lock().reader_calls <= limit {
                return;
            }
            tokio::select! {
                Some(_) = tasks.join_next() => {}
                () = ended => {}
            }
        }
    }
}

/// Runs a call to its response when polled. If it is dropped early, the call continues in its own task, because a
/// reader that leaves has not cancelled the call.
pub(crate) struct CallFuture {
    call: Option<BoxedCall>,
    guard: Option<ReaderCallGuard>,
}

/// Counts a call that runs in a reader's task while it exists.
struct ReaderCallGuard(Arc<RunningCalls>);

impl Drop for ReaderCallGuard {
    fn drop(&mut self) {
        self.0.lock().reader_calls -= 1;
        self.0.has_reader_call_ended.notify_waiters();
    }
}

impl Future for CallFuture {
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

impl Drop for CallFuture {
    fn drop(&mut self) {
        let (Some(call), Some(guard)) = (self.call.take(), self.guard.take()) else { return };
        // Without a runtime the call cannot continue.
        if Handle::try_current().is_err() {
            return;
        }
        let running = Arc::clone(&guard.0);
        let mut state = running.lock();
        if state.has_left {
            return;
        }
        if state.is_leaving {
            // The relay has already collected its tasks, so this call must stay in the count that it waits for.
            drop(state);
            tokio::spawn(async move {
                call.await;
                drop(guard);
            });
        } else {
            state.spawn(call);
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
    use crate::relay::{ConfiguredServer, RelaySession};
    use crate::{Client, Gateway, GatewaySettings};

    const SECOND: Duration = Duration::from_secs(1);

    fn relay() -> Arc<RelaySession> {
        let gateway = Gateway::new(ValidationConfig::default(), GatewaySettings::default());
        let (to_client, to_server) = (mpsc::channel(1).0, mpsc::channel(1).0);
        let server = ConfiguredServer::new("server".to_owned(), "program".to_owned(), None);
        let sink = ClientSink::Queue(to_client);
        let client = Arc::new(Client::stateless("local"));
        Arc::new(RelaySession::new(Arc::new(gateway), client, server, sink, to_server))
    }

    /// Returns a call that takes three seconds, and a flag that it sets when it is done.
    fn call(relay: &Arc<RelaySession>) -> (CallFuture, Arc<AtomicBool>) {
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let call = async move {
            sleep(3 * SECOND).await;
            done.store(true, Ordering::Relaxed);
        };
        (relay.running.run_in_reader(Box::pin(call)), is_done)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_continues_without_its_reader() {
        let relay = relay();
        let (first, is_done) = call(&relay);
        assert!(tokio::time::timeout(SECOND, first).await.is_err());
        assert!(!is_done.load(Ordering::Relaxed));
        let began = Instant::now();
        relay.leave().await;
        assert!(is_done.load(Ordering::Relaxed));
        assert_eq!(began.elapsed(), 2 * SECOND);
        assert_eq!(relay.running.lock().reader_calls, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_calls_in_reader_tasks() {
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
        assert_eq!(relay.running.lock().reader_calls, 0);
    }
}
