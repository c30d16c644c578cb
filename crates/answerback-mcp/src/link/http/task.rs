//! Runs the task of a link, which sends the client's messages to the server.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::Instant;

use super::direct::Asked;
use super::exchange::Exchange;
use super::fault::Fault;
use super::listening::listen;
use super::server::Server;
use crate::link::{Incoming, WAITING};
use crate::wire::{Id, Message, Object, Shape};

/// The largest number of pending requests.
pub(super) const MOST_REQUESTS: usize = 256;
/// The time that pending requests have to be answered after the link was closed. A child process has as long to
/// end.
const GRACE: Duration = Duration::from_secs(3);

/// Forwards messages until the link is closed or the server no longer knows the session.
pub(super) async fn run(server: Arc<Server>, mut told: mpsc::Receiver<Message>, asked: Arc<Asked>) {
    let mut tasks = Tasks::new(server.clone(), asked);
    // Each of these futures registers itself when it is first polled, so it is created only once.
    let mut is_left = pin!(server.say.closed());
    let mut is_forgotten = pin!(server.session_gone.notified());
    let mut tidying = pin!(server.tidy());
    loop {
        tokio::select! {
            message = told.recv() => match message {
                Some(message) => tasks.take(message).await,
                None => return tasks.end().await,
            },
            Some(ended) = tasks.exchanges.join_next_with_id() => {
                if let Ok((task, request)) = ended {
                    tasks.forget(task, &request);
                }
            }
            () = is_left.as_mut() => return tasks.end().await,
            never = tidying.as_mut() => match never {},
            () = is_forgotten.as_mut() => {
                tracing::info!(upstream = %server.name, "the server does not know the session any more");
                return tasks.abandon();
            }
        }
    }
}

/// Holds the running work of a link.
struct Tasks {
    server: Arc<Server>,
    exchanges: JoinSet<Id>,
    under_way: HashMap<Id, RunningRequest>,
    /// The direct requests, which run in the tasks of their callers.
    asked: Arc<Asked>,
    /// Sends all messages without a response from one task, which preserves their order.
    telling: JoinHandle<()>,
    to_tell: mpsc::Sender<Message>,
    listening: Option<JoinHandle<()>>,
}

/// Tracks a request in progress.
struct RunningRequest {
    task: AbortHandle,
    is_modern: bool,
    is_subscription: bool,
    is_given_up: Arc<AtomicBool>,
}

impl Tasks {
    fn new(server: Arc<Server>, asked: Arc<Asked>) -> Self {
        let (to_tell, mut telling) = mpsc::channel(WAITING);
        let teller = server.clone();
        let telling = tokio::spawn(async move {
            while let Some(message) = telling.recv().await {
                teller.tell(message).await;
            }
        });
        let (exchanges, under_way) = (JoinSet::new(), HashMap::new());
        Self { server, exchanges, under_way, asked, telling, to_tell, listening: None }
    }

    async fn take(&mut self, message: Message) {
        match message.shape() {
            Shape::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                self.ask(message, id, method).await;
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                self.cancel(message).await;
            }
            Shape::Notification { method } if method == "notifications/initialized" => {
                // Later requests must reach a server that has already accepted this notification.
                self.server.tell(message).await;
                self.server.set_greeted();
                // An open stream would belong to an earlier session.
                self.stop_listening();
                let server = self.server.clone();
                self.listening = Some(tokio::spawn(async move { listen(&server).await }));
            }
            Shape::Notification { .. } | Shape::Response { .. } => self.tell(message).await,
            Shape::Batch => {
                tracing::warn!(upstream = %self.server.name, "a batch of messages was not sent");
            }
        }
    }

    async fn ask(&mut self, message: Message, id: Id, method: String) {
        if self.exchanges.len() >= MOST_REQUESTS {
            let fault =
                Fault::new(format!("{MOST_REQUESTS} requests to the server are under way already"))
                    .unsent();
            let _ = self.server.say.send(Incoming::about(fault.answer(&id), id)).await;
            return;
        }
        let headers = self.server.mirror(&message);
        let is_modern = headers.is_some();
        let is_given_up = Arc::new(AtomicBool::new(false));
        let exchange = Exchange {
            server: self.server.clone(),
            id: id.clone(),
            method,
            is_modern,
            is_given_up: is_given_up.clone(),
            watch: None,
        };
        let is_subscription = exchange.is_subscription();
        // Spawning moves a future and so does its end. Boxing avoids copying a large one.
        let task = self.exchanges.spawn(Box::pin(exchange.run(message, headers)));
        self.under_way.insert(id, RunningRequest { task, is_modern, is_subscription, is_given_up });
    }

    async fn tell(&self, message: Message) {
        // The receiving task lives at least as long as this one.
        let _ = self.to_tell.send(message).await;
    }

    /// Cancels a request. A modern server notices that its stream is closed. A legacy server must be notified,
    /// and may answer nevertheless. A request that was already answered needs no notification.
    async fn cancel(&mut self, message: Message) {
        let Some(request) = cancelled(&message) else { return };
        let Some(under_way) = self.under_way.get(&request) else {
            // The caller of a direct request has already closed the stream, which is enough for a modern server.
            if self.asked.give_up(&request) && self.server.is_greeted() {
                self.tell(message).await;
            }
            return;
        };
        if under_way.is_modern {
            under_way.task.abort();
            self.under_way.remove(&request);
        } else {
            under_way.is_given_up.store(true, Ordering::Relaxed);
            self.tell(message).await;
        }
    }

    fn forget(&mut self, task: tokio::task::Id, request: &Id) {
        // The id may belong to a newer request by now.
        if self.under_way.get(request).is_some_and(|under_way| under_way.task.id() == task) {
            self.under_way.remove(request);
        }
    }

    /// Ends the running work and then the session. Pending requests have some time to be answered if the client
    /// still listens.
    async fn end(mut self) {
        self.stop_listening();
        for under_way in self.under_way.values().filter(|under_way| under_way.is_subscription) {
            under_way.task.abort();
        }
        let Self { server, mut exchanges, asked, mut telling, to_tell, .. } = self;
        drop(to_tell);
        let deadline = Instant::now() + GRACE;
        let answering = async {
            while exchanges.join_next().await.is_some() {}
            asked.finished().await;
        };
        tokio::select! {
            _ = tokio::time::timeout_at(deadline, answering) => {}
            () = server.say.closed() => {}
        }
        exchanges.shutdown().await;
        if tokio::time::timeout_at(deadline, &mut telling).await.is_err() {
            telling.abort();
        }
        server.leave().await;
    }

    /// Ends the running work at once. Callers notice it by the end of the link.
    fn abandon(mut self) {
        self.stop_listening();
        self.telling.abort();
    }

    fn stop_listening(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }
}

/// Returns the id of the request that a message cancels.
fn cancelled(message: &Message) -> Option<Id> {
    let message = Object::read(message.text()).ok()?;
    let params = Object::read(message.get("params")?).ok()?;
    Id::read(params.get("requestId")?)
}
