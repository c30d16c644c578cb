//! Sends requests to the server in the caller's own task.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::exchange::Exchange;
use super::http_upstream::HttpUpstream;
use super::link_task::MAX_REQUESTS;
use crate::link::direct_path::{DirectResponse, DirectSender, StreamWatcher};
use crate::wire::{Id, Message, Shape};

/// The number of abandoned requests that are remembered until the server is notified.
const MAX_ABANDONED: usize = 256;

/// Sends direct requests to a server over HTTP.
pub(super) struct HttpDirectSender {
    /// This is a weak reference, so that the link ends when its task does.
    pub(super) server: Weak<HttpUpstream>,
    pub(super) requests: Arc<DirectRequests>,
}

/// Tracks the direct requests of a link.
#[derive(Debug, Default)]
pub(super) struct DirectRequests {
    open: Mutex<DirectRequestTable>,
    /// Notifies waiters that a request has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct DirectRequestTable {
    running: HashMap<Id, Arc<AtomicBool>>,
    /// The requests that were dropped before they were answered.
    abandoned: VecDeque<Id>,
}

impl DirectSender for HttpDirectSender {
    fn send(
        &self,
        request: Message,
        watch: Option<StreamWatcher>,
    ) -> Result<DirectResponse, Message> {
        let Shape::Request { id, method } = request.shape() else { return Err(request) };
        let (id, method) = (id.clone(), method.clone());
        let Some(server) = self.server.upgrade() else { return Err(request) };
        let headers = server.request_headers(&request);
        let is_modern = headers.is_some();
        // A legacy server must have accepted `notifications/initialized` first.
        if !is_modern && !server.is_initialized() {
            return Err(request);
        }
        let Some(is_cancelled) = self.requests.begin(&id) else { return Err(request) };
        let guard = DirectRequestGuard {
            requests: self.requests.clone(),
            id: id.clone(),
            is_answered: false,
        };
        Ok(Box::pin(async move {
            let mut guard = guard;
            let exchange = Exchange { server, id, method, is_modern, is_cancelled, watch };
            let answer = exchange.answer(request, headers).await;
            guard.is_answered = true;
            answer
        }))
    }
}

impl DirectRequests {
    fn lock(&self) -> MutexGuard<'_, DirectRequestTable> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns `None` if too many are pending or the id is already in use.
    fn begin(&self, id: &Id) -> Option<Arc<AtomicBool>> {
        let mut open = self.lock();
        if open.running.len() >= MAX_REQUESTS || open.running.contains_key(id) {
            return None;
        }
        open.abandoned.retain(|other| other != id);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        open.running.insert(id.clone(), is_cancelled.clone());
        Some(is_cancelled)
    }

    /// Cancels a request. Returns true if the server may still be working on it.
    pub(super) fn cancel(&self, id: &Id) -> bool {
        let mut open = self.lock();
        if let Some(is_cancelled) = open.running.get(id) {
            is_cancelled.store(true, Ordering::Relaxed);
            return true;
        }
        let place = open.abandoned.iter().position(|other| other == id);
        place.is_some_and(|place| open.abandoned.remove(place).is_some())
    }

    /// Waits until no direct request is pending.
    pub(super) async fn finished(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().running.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

/// Tracks one direct request, and removes it when dropped.
struct DirectRequestGuard {
    requests: Arc<DirectRequests>,
    id: Id,
    is_answered: bool,
}

impl Drop for DirectRequestGuard {
    fn drop(&mut self) {
        let mut open = self.requests.lock();
        open.running.remove(&self.id);
        if !self.is_answered {
            if open.abandoned.len() == MAX_ABANDONED {
                open.abandoned.pop_front();
            }
            open.abandoned.push_back(self.id.clone());
        }
        drop(open);
        self.requests.ended.notify_waiters();
    }
}
