//! Sends requests to the server in the caller's own task.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::exchange::Exchange;
use super::server::Server;
use super::task::MOST_REQUESTS;
use crate::link::direct::{Answering, Ask, Watch};
use crate::wire::{Id, Message, Shape};

/// The number of abandoned requests that are remembered until the server is notified.
const LEFT: usize = 256;

/// Sends direct requests to a server over HTTP.
pub(super) struct ToServer {
    /// This is a weak reference, so that the link ends when its task does.
    pub(super) server: Weak<Server>,
    pub(super) asked: Arc<Asked>,
}

/// Tracks the direct requests of a link.
#[derive(Debug, Default)]
pub(super) struct Asked {
    open: Mutex<PendingDirectRequest>,
    /// Notifies waiters that a request has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct PendingDirectRequest {
    under_way: HashMap<Id, Arc<AtomicBool>>,
    /// The requests that were dropped before they were answered.
    left: VecDeque<Id>,
}

impl Ask for ToServer {
    fn ask(&self, request: Message, watch: Option<Watch>) -> Result<Answering, Message> {
        let Shape::Request { id, method } = request.shape() else { return Err(request) };
        let (id, method) = (id.clone(), method.clone());
        let Some(server) = self.server.upgrade() else { return Err(request) };
        let headers = server.mirror(&request);
        let is_modern = headers.is_some();
        // A legacy server must have accepted `notifications/initialized` first.
        if !is_modern && !server.is_greeted() {
            return Err(request);
        }
        let Some(is_given_up) = self.asked.begin(&id) else { return Err(request) };
        let asking = DirectRequest { asked: self.asked.clone(), id: id.clone(), is_done: false };
        Ok(Box::pin(async move {
            let mut asking = asking;
            let exchange = Exchange { server, id, method, is_modern, is_given_up, watch };
            let answer = exchange.answer(request, headers).await;
            asking.is_done = true;
            answer
        }))
    }
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, PendingDirectRequest> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns `None` if too many are pending or the id is already in use.
    fn begin(&self, id: &Id) -> Option<Arc<AtomicBool>> {
        let mut open = self.lock();
        if open.under_way.len() >= MOST_REQUESTS || open.under_way.contains_key(id) {
            return None;
        }
        open.left.retain(|left| left != id);
        let is_given_up = Arc::new(AtomicBool::new(false));
        open.under_way.insert(id.clone(), is_given_up.clone());
        Some(is_given_up)
    }

    /// Cancels a request. Returns true if the server may still be working on it.
    pub(super) fn give_up(&self, id: &Id) -> bool {
        let mut open = self.lock();
        if let Some(is_given_up) = open.under_way.get(id) {
            is_given_up.store(true, Ordering::Relaxed);
            return true;
        }
        let place = open.left.iter().position(|left| left == id);
        place.is_some_and(|place| open.left.remove(place).is_some())
    }

    /// Waits until no direct request is pending.
    pub(super) async fn finished(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().under_way.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

/// Tracks one direct request, and removes it when dropped.
struct DirectRequest {
    asked: Arc<Asked>,
    id: Id,
    is_done: bool,
}

impl Drop for DirectRequest {
    fn drop(&mut self) {
        let mut open = self.asked.lock();
        open.under_way.remove(&self.id);
        if !self.is_done {
            if open.left.len() == LEFT {
                open.left.pop_front();
            }
            open.left.push_back(self.id.clone());
        }
        drop(open);
        self.asked.ended.notify_waiters();
    }
}
