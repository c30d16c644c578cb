//! Runs the task of a link, which sends the client's messages to the server.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::Instant;

use super::direct_requests::DirectRequests;
use super::exchange::Exchange;
use super::fault::Fault;
use super::http_upstream::HttpUpstream;
use super::server_stream::listen;
use crate::link::{Incoming, WAITING};
use crate::wire::{Id, Message, Object, Shape};

/// The largest number of pending requests.
pub(super) const MAX_REQUESTS: usize = 256;
/// The time that pending requests have to be answered after the link was closed. A child process has as long to
/// end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Forwards messages until the link is closed or the server no longer knows the session.
pub(super) async fn run(
    server: Arc<HttpUpstream>,
    mut from_client: mpsc::Receiver<Message>,
    direct_requests: Arc<DirectRequests>,
) {
    let mut tasks = LinkTasks::new(server.clone(), direct_requests);
    // Each of these futures registers itself when it is first polled, so it is created only once.
    let mut client_left = pin!(server.to_client.closed());
    let mut session_gone = pin!(server.session_gone.notified());
    let mut closing_idle = pin!(server.close_idle());
    loop {
        tokio::select! {
            message = from_client.recv() => match message {
                Some(message) => tasks.handle(message).await,
                None => return tasks.end().await,
            },
            Some(ended) = tasks.exchanges.join_next_with_id() => {
                if let Ok((task, request)) = ended {
                    tasks.forget(task, &request);
                }
            }
            () = client_left.as_mut() => return tasks.end().await,
            never = closing_idle.as_mut() => match never {},
            () = session_gone.as_mut() => {
                tracing::info!(upstream = %server.name, "the server does not know the session any more");
                return tasks.abandon();
            }
        }
    }
}

/// Holds the running work of a link.
struct LinkTasks {
    server: Arc<HttpUpstream>,
    exchanges: JoinSet<Id>,
    running: HashMap<Id, RunningRequest>,
    /// The direct requests, which run in the tasks of their callers.
    direct_requests: Arc<DirectRequests>,
    /// Sends all messages without a response from one task, which preserves their order.
    notifying: JoinHandle<()>,
    notifications: mpsc::Sender<Message>,
    listening: Option<JoinHandle<()>>,
}

/// Tracks a request in progress.
struct RunningRequest {
    task: AbortHandle,
    is_modern: bool,
    is_subscription: bool,
    is_cancelled: Arc<AtomicBool>,
}

impl LinkTasks {
    fn new(server: Arc<HttpUpstream>, direct_requests: Arc<DirectRequests>) -> Self {
        let (notifications, mut notifying) = mpsc::channel(WAITING);
        let sender = server.clone();
        let notifying = tokio::spawn(async move {
            while let Some(message) = notifying.recv().await {
                sender.notify(message).await;
            }
        });
        let (exchanges, running) = (JoinSet::new(), HashMap::new());
        Self {
            server,
            exchanges,
            running,
            direct_requests,
            notifying,
            notifications,
            listening: None,
        }
    }

    async fn handle(&mut self, message: Message) {
        match message.shape() {
            Shape::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                self.send_request(message, id, method).await;
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                self.cancel(message).await;
            }
            Shape::Notification { method } if method == "notifications/initialized" => {
                // Later requests must reach a server that has already accepted this notification.
                self.server.notify(message).await;
                self.server.set_initialized();
                // An open stream would belong to an earlier session.
                self.stop_listening();
                let server = self.server.clone();
                self.listening = Some(tokio::spawn(async move { listen(&server).await }));
            }
            Shape::Notification { .. } | Shape::Response { .. } => self.notify(message).await,
            Shape::Batch => {
                tracing::warn!(upstream = %self.server.name, "a batch of messages was not sent");
            }
        }
    }

    async fn send_request(&mut self, message: Message, id: Id, method: String) {
        if self.exchanges.len() >= MAX_REQUESTS {
            let fault =
                Fault::new(format!("{MAX_REQUESTS} requests to the server are under way already"))
                    .unsent();
            let _ = self.server.to_client.send(Incoming::about(fault.answer(&id), id)).await;
            return;
        }
        let headers = self.server.request_headers(&message);
        let is_modern = headers.is_some();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let exchange = Exchange {
            server: self.server.clone(),
            id: id.clone(),
            method,
            is_modern,
            is_cancelled: is_cancelled.clone(),
            watch: None,
        };
        let is_subscription = exchange.is_subscription();
        // Spawning moves a future and so does its end. Boxing avoids copying a large one.
        let task = self.exchanges.spawn(Box::pin(exchange.run(message, headers)));
        self.running.insert(id, RunningRequest { task, is_modern, is_subscription, is_cancelled });
    }

    async fn notify(&self, message: Message) {
        // The receiving task lives at least as long as this one.
        let _ = self.notifications.send(message).await;
    }

    /// Cancels a request. A modern server notices that its stream is closed. A legacy server must be notified,
    /// and may answer nevertheless. A request that was already answered needs no notification.
    async fn cancel(&mut self, message: Message) {
        let Some(request) = cancelled_request(&message) else { return };
        let Some(running) = self.running.get(&request) else {
            // The caller of a direct request has already closed the stream, which is enough for a modern server.
            if self.direct_requests.cancel(&request) && self.server.is_initialized() {
                self.notify(message).await;
            }
            return;
        };
        if running.is_modern {
            running.task.abort();
            self.running.remove(&request);
        } else {
            running.is_cancelled.store(true, Ordering::Relaxed);
            self.notify(message).await;
        }
    }

    fn forget(&mut self, task: tokio::task::Id, request: &Id) {
        // The id may belong to a newer request by now.
        if self.running.get(request).is_some_and(|running| running.task.id() == task) {
            self.running.remove(request);
        }
    }

    /// Ends the running work and then the session. Pending requests have some time to be answered if the client
    /// still listens.
    async fn end(mut self) {
        self.stop_listening();
        for running in self.running.values().filter(|running| running.is_subscription) {
            running.task.abort();
        }
        let Self { server, mut exchanges, direct_requests, mut notifying, notifications, .. } =
            self;
        drop(notifications);
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let finishing = async {
            while exchanges.join_next().await.is_some() {}
            direct_requests.finished().await;
        };
        tokio::select! {
            _ = tokio::time::timeout_at(deadline, finishing) => {}
            () = server.to_client.closed() => {}
        }
        exchanges.shutdown().await;
        if tokio::time::timeout_at(deadline, &mut notifying).await.is_err() {
            notifying.abort();
        }
        server.leave().await;
    }

    /// Ends the running work at once. Callers notice it by the end of the link.
    fn abandon(mut self) {
        self.stop_listening();
        self.notifying.abort();
    }

    fn stop_listening(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }
}

/// Returns the id of the request that a message cancels.
fn cancelled_request(message: &Message) -> Option<Id> {
    let message = Object::read(message.text()).ok()?;
    let params = Object::read(message.get("params")?).ok()?;
    Id::read(params.get("requestId")?)
}
