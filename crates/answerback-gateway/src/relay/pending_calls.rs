use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use answerback_mcp::wire::{Id, Message};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::pending_requests::RequestActivity;

/// Describes how a forwarded call ended.
pub(super) enum ForwardOutcome {
    Message(Message),
    /// The client cancelled the call. `was_sent` is true if the server had received it.
    Cancelled {
        was_sent: bool,
    },
}

/// Reports why a call cannot be registered.
pub(super) enum CallConflict {
    /// A call with this id is already running.
    Repeated,
    /// Too many calls are running.
    Busy,
}

enum CallStage {
    /// The call is being checked.
    Checking { is_cancelled: bool },
    /// The call was forwarded to the server.
    Forwarded { response: oneshot::Sender<ForwardOutcome>, activity: RequestActivity },
}

/// Names the stage in which a call was cancelled.
pub(super) enum CancelledStage {
    /// The call was being checked and will not be forwarded.
    Checking,
    /// The call was forwarded.
    Forwarded,
    /// There is no such call.
    Unknown,
}

/// Holds the running calls of a client by request id.
#[derive(Default)]
pub(super) struct PendingCalls {
    calls: Mutex<HashMap<Id, CallStage>>,
    /// Notifies waiters that the client cancelled a call.
    has_cancelled: Notify,
}

impl PendingCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CallStage>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call that is being checked, unless `limit` calls are running.
    pub(super) fn register(&self, id: &Id, limit: usize) -> Result<(), CallConflict> {
        let mut calls = self.lock();
        if calls.contains_key(id) {
            return Err(CallConflict::Repeated);
        }
        if calls.len() >= limit {
            return Err(CallConflict::Busy);
        }
        calls.insert(id.clone(), CallStage::Checking { is_cancelled: false });
        Ok(())
    }

    /// Marks a call as forwarded and sets the sender for its response. Returns false if the client has cancelled
    /// it before.
    pub(super) fn mark_forwarded(
        &self,
        id: &Id,
        response: oneshot::Sender<ForwardOutcome>,
        activity: RequestActivity,
    ) -> bool {
        let previous = self.lock().insert(id.clone(), CallStage::Forwarded { response, activity });
        !matches!(previous, Some(CallStage::Checking { is_cancelled: true }))
    }

    /// Removes a call. Returns true if the client has cancelled it before it was forwarded.
    pub(super) fn remove(&self, id: &Id) -> bool {
        matches!(self.lock().remove(id), Some(CallStage::Checking { is_cancelled: true }))
    }

    /// Passes the server's response to a forwarded call. Returns the message if there is no such call.
    pub(super) fn respond(&self, id: &Id, message: Message) -> Result<(), Message> {
        match self.take_forwarded(id) {
            Some(response) => {
                let _ = response.send(ForwardOutcome::Message(message));
                Ok(())
            }
            None => Err(message),
        }
    }

    fn take_forwarded(&self, id: &Id) -> Option<oneshot::Sender<ForwardOutcome>> {
        let mut calls = self.lock();
        if !matches!(calls.get(id), Some(CallStage::Forwarded { .. })) {
            return None;
        }
        match calls.remove(id) {
            Some(CallStage::Forwarded { response, .. }) => Some(response),
            _ => None,
        }
    }

    /// Removes the forwarded calls and returns the senders for their responses.
    pub(super) fn take_all_forwarded(&self) -> Vec<(Id, oneshot::Sender<ForwardOutcome>)> {
        let ids: Vec<Id> = self.lock().keys().cloned().collect();
        ids.into_iter().filter_map(|id| self.take_forwarded(&id).map(|it| (id, it))).collect()
    }

    /// Removes the forwarded calls, because the server answers nothing from now on.
    pub(super) fn drop_forwarded(&self) {
        self.lock().retain(|_, stage| matches!(stage, CallStage::Checking { .. }));
    }

    /// Cancels a call for the client.
    pub(super) fn cancel(&self, id: &Id, was_sent: bool) -> CancelledStage {
        let mut calls = self.lock();
        match calls.get_mut(id) {
            Some(CallStage::Checking { is_cancelled }) => {
                *is_cancelled = true;
                self.has_cancelled.notify_waiters();
                CancelledStage::Checking
            }
            Some(CallStage::Forwarded { .. }) => {
                if let Some(CallStage::Forwarded { response, .. }) = calls.remove(id) {
                    let _ = response.send(ForwardOutcome::Cancelled { was_sent });
                }
                CancelledStage::Forwarded
            }
            None => CancelledStage::Unknown,
        }
    }

    /// Cancels the calls that were not forwarded yet. Returns the ids of those that the client still waits for.
    pub(super) fn cancel_unforwarded(&self) -> Vec<Id> {
        let mut calls = self.lock();
        let cancelled = calls.iter_mut().filter_map(|(id, stage)| match stage {
            CallStage::Checking { is_cancelled } => {
                (!std::mem::replace(is_cancelled, true)).then(|| id.clone())
            }
            CallStage::Forwarded { .. } => None,
        });
        cancelled.collect()
    }

    /// Returns the number of calls that were not forwarded yet.
    pub(super) fn unforwarded(&self) -> usize {
        let calls = self.lock();
        calls.values().filter(|stage| matches!(stage, CallStage::Checking { .. })).count()
    }

    /// Returns true if the client has cancelled a call that was not forwarded yet.
    pub(super) fn is_cancelled(&self, id: &Id) -> bool {
        matches!(self.lock().get(id), Some(CallStage::Checking { is_cancelled: true }))
    }

    /// Waits until the client cancels a call that was not forwarded yet.
    pub(super) async fn wait_for_cancellation(&self, id: &Id) {
        loop {
            let mut cancelled = std::pin::pin!(self.has_cancelled.notified());
            // A cancellation from now on wakes this task.
            cancelled.as_mut().enable();
            if self.is_cancelled(id) {
                return;
            }
            cancelled.await;
        }
    }

    /// Returns the time of the last message about a forwarded call.
    pub(super) fn last_activity(&self, id: &Id) -> Option<Instant> {
        match self.lock().get(id) {
            Some(CallStage::Forwarded { activity, .. }) => Some(activity.last_message()),
            _ => None,
        }
    }

    /// Sets the time of the last message for the forwarded calls that a message belongs to.
    pub(super) fn record_activity(&self, about: Option<&Id>, token: Option<&Id>, now: Instant) {
        for (id, stage) in self.lock().iter_mut() {
            if let CallStage::Forwarded { activity, .. } = stage {
                activity.record(id, about, token, now);
            }
        }
    }
}
