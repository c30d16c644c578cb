use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use answerback_ledger::leaf::Subject;
use answerback_mcp::link::{DirectPath, Incoming, WAITING, link_error, unsent_error};
use answerback_mcp::wire::{Id, Message};
use answerback_store::StoreError;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::outbound_queue::{OutboundQueue, SendOutcome};
use super::own_requests::{OwnRequests, RequestRecipient};
use super::pending_calls::{ForwardOutcome, PendingCalls};
use super::pending_requests::PendingRequests;
use super::tool_listing::ToolListing;
use super::{ConfiguredServer, cancellation};
use crate::client_sink::ClientSink;
use crate::running_calls::RunningCalls;
use crate::task::TaskScope;
use crate::{Client, Gateway};

/// The time that running calls have when the client leaves.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time to record that calls were not answered.
const RECORD_TIMEOUT: Duration = Duration::from_millis(200);

/// Relays messages between one client and one server.
pub(crate) struct RelaySession {
    pub(super) gateway: Arc<Gateway>,
    pub(super) client: Arc<Client>,
    pub(super) server: ConfiguredServer,
    /// The connection whose tasks the client can see.
    pub(super) scope: TaskScope,
    pub(super) to_client: ClientSink,
    pub(super) to_server: Arc<OutboundQueue>,
    /// Sends calls without the queues, if the link supports it.
    pub(super) direct: DirectPath,
    /// The state of each call of the client.
    pub(super) calls: PendingCalls,
    /// The tasks that run the calls.
    pub(crate) running: Arc<RunningCalls>,
    /// The pending requests other than calls.
    pub(super) requests: PendingRequests,
    pub(super) own_requests: OwnRequests,
    pub(super) tools: ToolListing,
    /// True once the server has sent its last message.
    pub(super) has_server_ended: watch::Sender<bool>,
    /// True if the client can show forms to its user.
    pub(super) supports_forms: AtomicBool,
}

impl RelaySession {
    /// Creates a relay between a client's sink and a server's channel.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        client: Arc<Client>,
        server: ConfiguredServer,
        to_client: ClientSink,
        to_server: mpsc::Sender<Message>,
    ) -> Self {
        let queue_limit = gateway.settings().most_calls + WAITING;
        let connection = (!server.is_remote).then(|| client.connection());
        let scope = TaskScope { connection, is_shared: server.is_one_of_many };
        Self {
            gateway,
            client,
            server,
            scope,
            to_client,
            to_server: OutboundQueue::new(to_server, queue_limit),
            direct: DirectPath::default(),
            calls: PendingCalls::default(),
            running: Arc::default(),
            requests: PendingRequests::default(),
            own_requests: OwnRequests::new(),
            tools: ToolListing::default(),
            has_server_ended: watch::Sender::new(false),
            supports_forms: AtomicBool::new(false),
        }
    }

    /// Sets the direct path to the server.
    pub(crate) fn with_direct(mut self, direct: DirectPath) -> Self {
        self.direct = direct;
        self
    }

    /// Records the start of the relay and the active policy.
    pub(crate) async fn record_start(&self, surface: &str) -> Result<(), StoreError> {
        self.gateway.record_start(Some(&self.server.name), &self.document(surface)).await
    }

    /// Records the end of the relay.
    pub(crate) async fn record_stop(&self, surface: &str) -> Result<(), StoreError> {
        let document = self.document(surface);
        self.gateway.record_config(Subject::Stop, Some(&self.server.name), &document).await
    }

    fn document(&self, surface: &str) -> Value {
        let ConfiguredServer { name, place, .. } = &self.server;
        json!({"surface": surface, "upstream": name, "program": place})
    }

    /// Sends a message to the client.
    pub(crate) async fn send_to_client(&self, message: impl Into<Incoming>) {
        self.to_client.send(message.into()).await;
    }

    /// Sends a request of ours to the server and waits for the response.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Message, String> {
        let (id, response) = self.own_requests.add(RequestRecipient::Server);
        if self.to_server.send(Message::request(&id, method, params)) == SendOutcome::Gone {
            self.own_requests.remove(&id);
            return Err("the server has ended".to_owned());
        }
        let response = tokio::time::timeout(limit, response).await;
        self.own_requests.remove(&id);
        match response {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the server has ended".to_owned()),
            Err(_) => {
                if !self.to_server.take_back(&id) {
                    self.cancel_at_server(&id);
                }
                Err(format!("{method} was not answered within {} seconds", limit.as_secs()))
            }
        }
    }

    /// Waits until the pending requests are answered, but not longer than `limit`. After that, requests that were
    /// sent are answered with `reason`, and requests that were not sent are answered as calls that did not run.
    /// Returns true if every request was answered in time.
    ///
    /// The wait does not depend on the server: a server that never answers must not keep us running after the
    /// client left.
    pub(crate) async fn finish(&self, limit: Duration, reason: &str) -> bool {
        let mut tasks = self.running.take_tasks();
        let until = Instant::now() + limit;
        let is_done = timeout_at(until, async {
            while tasks.join_next().await.is_some() {}
            self.requests.wait_until_answered().await;
        });
        if is_done.await.is_ok() {
            return true;
        }
        self.answer_sent_requests(reason).await;
        // Each of these tasks records that its call was not answered.
        let until = Instant::now() + RECORD_TIMEOUT;
        while tasks.len() > self.calls.unforwarded()
            && matches!(timeout_at(until, tasks.join_next()).await, Ok(Some(_)))
        {}
        let unforwarded = self.calls.cancel_unforwarded();
        // Dropping the set aborts the tasks, so they answer nothing.
        drop(tasks);
        for id in unforwarded {
            let reason = "the gateway ended before it had judged the call, which did not run";
            self.send_to_client(unsent_error(&id, reason)).await;
        }
        false
    }

    /// Answers every request that was sent to the server, and cancels it there.
    async fn answer_sent_requests(&self, reason: &str) {
        for (id, response) in self.calls.take_all_forwarded() {
            let was_sent = !self.to_server.take_back(&id);
            if was_sent {
                self.to_server.send(cancellation(&id, reason));
            }
            let reply =
                if was_sent { link_error(&id, reason, None) } else { unsent_error(&id, reason) };
            let _ = response.send(ForwardOutcome::Message(reply));
        }
        for id in self.requests.ids() {
            if self.requests.take(&id).is_some() {
                self.send_to_client(link_error(&id, reason, None)).await;
            }
        }
    }

    /// Closes the connection to the server after the messages that were already sent.
    pub(crate) fn close(&self) {
        self.to_server.close();
    }

    /// Closes the connection after the running calls were answered, or after a short time.
    pub(crate) async fn leave(&self) {
        let mut tasks = self.running.begin_leaving();
        let finishing = self.running.wait_for_at_most(&mut tasks, || 0);
        // A server whose input ends need not answer its pending requests.
        let _ = tokio::time::timeout(LEAVE_TIMEOUT, finishing).await;
        self.close();
        // Calls that are still being checked never reached the server. Their checks end by themselves.
        self.running.wait_for_at_most(&mut tasks, || self.calls.unforwarded()).await;
        self.running.end_leaving();
    }

    /// Waits until the server is gone.
    pub(crate) async fn wait_for_server_end(&self) {
        // `self` owns the sender, so the channel stays open.
        let _ = self.has_server_ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Cancels our requests to the client, because the client has left.
    pub(crate) fn remove_client_requests(&self) {
        self.requests.remove_subscriptions();
        self.own_requests.remove_all_to(RequestRecipient::Client);
    }

    /// Returns true if the client still waits for a call that was not forwarded yet.
    pub(super) fn expects_response(&self, call: &Id) -> bool {
        !self.calls.is_cancelled(call) && self.to_client.is_waited_for(call)
    }
}
