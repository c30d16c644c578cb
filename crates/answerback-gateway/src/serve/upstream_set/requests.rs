//! Sends requests to the servers: to one, to all at once, or to one after the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback_mcp::wire::{Id, Message, code};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::message_parts::result_of;
use super::set::{UpstreamSet, lock};
use crate::relay::cancellation;

/// The time that each server has to answer a request to several servers. A server may have to be downloaded
/// first.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same time for a server that has timed out before.
pub(super) const SLOW_SERVER_TIMEOUT: Duration = Duration::from_secs(1);
/// The reason for cancelling a request after a timeout.
const TIMED_OUT: &str = "the server did not answer in time";

impl UpstreamSet {
    /// Sends a request of the set to a server, in the client's name. Without `timeout`, the timeout for calls
    /// applies.
    pub(super) async fn request(
        &self,
        server: usize,
        method: &str,
        params: &str,
        timeout: impl Into<Option<Duration>>,
    ) -> Option<Message> {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let id = Id::of_text(&format!("{}/{number}", self.id_prefix));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":{},"params":{params}}}"#,
            id.as_json(),
            Value::from(method)
        );
        let message = Message::read(text).ok()?;
        let (sender, answer) = oneshot::channel();
        lock(&self.pending_responses).insert(id.clone(), (server, sender));
        self.servers[server].relay.receive_from_client(message).await;
        // The relay answers after its own timeout.
        let Some(timeout) = timeout.into() else { return answer.await.ok() };
        let answer = tokio::time::timeout(timeout, answer).await;
        if answer.is_err() {
            lock(&self.pending_responses).remove(&id);
            self.servers[server].relay.receive_from_client(cancellation(&id, TIMED_OUT)).await;
        }
        answer.ok()?.ok()
    }

    /// Sends a request to all servers at once and returns the successful results.
    pub(super) async fn request_all(
        self: &Arc<Self>,
        method: &str,
        params: &str,
    ) -> Vec<(usize, String)> {
        self.run_on_all(|set, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { result_of(&set.request(server, &method, &params, RESPONSE_TIMEOUT).await?) }
        })
        .await
    }

    /// Runs work for all servers at once. Returns the results in the order of the servers. A server that timed
    /// out gets little time, for any client, until it answers again. Late results cause a notification.
    pub(super) async fn run_on_all<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl Fn(Arc<Self>, usize) -> F,
    ) -> Vec<(usize, T)>
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let (sender, mut results) = mpsc::channel(self.servers.len().max(1));
        for server in 0..self.servers.len() {
            let (set, future, sender) =
                (Arc::clone(self), work(Arc::clone(self), server), sender.clone());
            lock(&self.tasks).spawn(async move {
                let value = future.await;
                let has_value = value.is_some();
                if has_value {
                    set.servers[server].backend.is_slow.store(false, Ordering::Release);
                }
                if sender.send((server, value)).await.is_err() && has_value {
                    set.notify_tools_changed().await;
                }
            });
        }
        drop(sender);
        let started = Instant::now();
        let mut missing: Vec<usize> = (0..self.servers.len()).collect();
        let mut done: Vec<(usize, T)> = Vec::new();
        while !missing.is_empty() {
            let is_slow = missing.iter().all(|server| self.servers[*server].is_slow());
            let deadline = started + if is_slow { SLOW_SERVER_TIMEOUT } else { RESPONSE_TIMEOUT };
            // Results that have already arrived are used, even after the deadline.
            match tokio::time::timeout_at(deadline, results.recv()).await {
                Ok(Some((server, value))) => {
                    missing.retain(|other| *other != server);
                    done.extend(value.map(|value| (server, value)));
                }
                Ok(None) | Err(_) => break,
            }
        }
        for server in missing {
            self.servers[server].backend.is_slow.store(true, Ordering::Release);
        }
        done.sort_by_key(|(server, _)| *server);
        done
    }

    /// Handles a result that arrived after the timeout: the client is notified of changed tools.
    async fn notify_tools_changed(&self) {
        lock(&self.tool_cache).mark_changed();
        if self.has_session.load(Ordering::Acquire) {
            let name = "notifications/tools/list_changed";
            self.client_sink.send(Message::notification(name, &json!({})).into()).await;
        }
    }

    /// Sends the request to one server after the other until one returns a result. Otherwise the client receives the
    /// first error. Each server receives the client's request and id, so that notifications and cancellations work.
    /// `first` is the most likely server.
    pub(super) async fn try_each_server(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        first: Option<usize>,
    ) {
        let timeout = self.gateway.settings().call_time;
        let deadline = Instant::now() + timeout;
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        order.sort_by_key(|server| (Some(*server) != first, self.servers[*server].is_slow()));
        let mut rejection = None;
        for server in order {
            let (sender, answer) = oneshot::channel();
            lock(&self.pending_responses).insert(id.clone(), (server, sender));
            if !self.try_forward(server, id, message.clone()).await {
                lock(&self.pending_responses).remove(id);
                return;
            }
            match tokio::time::timeout_at(deadline, answer).await {
                Ok(Ok(answer)) if result_of(&answer).is_some() => {
                    return self.respond(id, answer).await;
                }
                Ok(Ok(answer)) => {
                    rejection.get_or_insert(answer);
                }
                // The client cancelled the request.
                Ok(Err(_)) => return,
                Err(_) => {
                    lock(&self.pending_responses).remove(id);
                    self.servers[server]
                        .relay
                        .receive_from_client(cancellation(id, TIMED_OUT))
                        .await;
                    let text = format!("no server answered within {} seconds", timeout.as_secs());
                    return self.respond_error(id, code::INTERNAL_ERROR, &text).await;
                }
            }
        }
        match rejection {
            Some(answer) => self.respond(id, answer).await,
            None => self.respond_error(id, code::INTERNAL_ERROR, "there is no server").await,
        }
    }
}
