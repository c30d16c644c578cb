//! Keeps a link open when its server ends, and restarts the server.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::direct_path::{DirectResponse, DirectSender, ReplaceablePath, StreamWatcher};
use super::server_requests::ServerRequests;
use super::upstream_health::{OutageGuard, UpstreamHealth};
use super::{Child, DirectPath, Incoming, Link, ServerEnd, link_error, unsent_error};
use crate::wire::{Message, Shape, splice};

/// The delay before the first restart. It doubles with each further restart.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The longest delay before a restart.
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A server that ran this long resets the restart delay.
const STABLE_RUN: Duration = Duration::from_mins(1);
/// The time that a restarted server has to answer the repeated `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which a blocked send to a server checks if the client has left.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The time to read the remaining output of a server that ended. Processes that it started may hold the output
/// open for much longer.
const REMAINING_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// Holds a server that was started or reached.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers create it with all fields")]
pub struct StartedServer {
    /// The connection to the server.
    pub link: Link,
    /// The child process, if we started one.
    pub child: Option<Child>,
}

/// Selects when a server that ended is restarted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there are exactly these two policies")]
pub enum Restart {
    /// Restarts the server whenever it ends or fails to start.
    Always,
    /// Restarts the server only after it has answered a request. A server that ends before that also ends the
    /// link.
    AfterFirstResponse,
}

/// Opens a link to a server that is restarted when it ends: at once at first, then after increasing delays.
///
/// Requests that are pending when the server ends, or arrive while it is down, are answered with [`link_error()`].
/// There is one exception: a server may end on a request of the wrong protocol era. That request is sent to the
/// restarted server in the other era. A restarted server receives the same `initialize` again, and the client is
/// notified that the tools may have changed.
pub fn supervise(
    name: &str,
    open: impl FnMut() -> std::io::Result<StartedServer> + Send + 'static,
    health: Arc<UpstreamHealth>,
    restart: Restart,
) -> Link {
    let (mut link, server_end) = Link::pair();
    let name = name.to_owned();
    let direct = Arc::new(ReplaceablePath::default());
    link.direct =
        DirectPath::new(SupervisedPath { server: direct.clone(), health: health.clone() });
    tokio::spawn(async move {
        let ServerEnd { from_client, to_client } = server_end;
        let supervisor = Supervisor {
            name,
            to_client,
            health,
            direct,
            restart,
            requests: Mutex::default(),
            initial_messages: Mutex::default(),
        };
        supervisor.run(open, from_client).await;
    });
    link
}

/// Forwards direct requests to the current server.
struct SupervisedPath {
    server: Arc<ReplaceablePath>,
    health: Arc<UpstreamHealth>,
}

impl DirectSender for SupervisedPath {
    fn send(
        &self,
        request: Message,
        watch: Option<StreamWatcher>,
    ) -> Result<DirectResponse, Message> {
        let response = self.server.current().send(request, watch)?;
        let health = self.health.clone();
        Ok(Box::pin(async move {
            let response = response.await;
            if let Some(response) = &response {
                health.record_response(response);
            }
            response
        }))
    }
}

/// Stores the messages with which a client begins its session.
#[derive(Debug, Default)]
struct InitialMessages {
    initialize: Option<Message>,
    initialized: Option<Message>,
}

/// Holds a link whose server is restarted.
struct Supervisor {
    name: String,
    to_client: mpsc::Sender<Incoming>,
    health: Arc<UpstreamHealth>,
    /// The direct path to the current server.
    direct: Arc<ReplaceablePath>,
    restart: Restart,
    requests: Mutex<ServerRequests>,
    initial_messages: Mutex<InitialMessages>,
}

/// Tells which side ended the connection.
enum ClosedBy {
    Client,
    Server,
}

impl Supervisor {
    /// Starts the server, and restarts it until the client leaves or the policy forbids it.
    async fn run(
        self,
        mut open: impl FnMut() -> std::io::Result<StartedServer>,
        mut from_client: mpsc::Receiver<Message>,
    ) {
        let mut delay = FIRST_DELAY;
        let mut is_first = true;
        // The guard counts this link as waiting until the server is back or the client leaves.
        let mut outage: Option<OutageGuard<'_>> = None;
        loop {
            let reason = match open() {
                Ok(started) => {
                    let start = Instant::now();
                    self.health.record_start(is_first);
                    let closed_by =
                        self.forward(started, &mut from_client, is_first, &mut outage).await;
                    if matches!(closed_by, ClosedBy::Client) {
                        return;
                    }
                    if start.elapsed() >= STABLE_RUN {
                        delay = FIRST_DELAY;
                    }
                    "the server ended".to_owned()
                }
                Err(error) => format!("the server cannot be started: {error}"),
            };
            is_first = false;
            self.fail_pending(&reason).await;
            let (has_requests_to_resend, has_ever_answered) = {
                let requests = self.requests();
                (requests.has_requests_to_resend(), requests.has_ever_answered())
            };
            if has_requests_to_resend {
                tracing::info!(upstream = %self.name, "a server ended over the era of its client, and is started for the other");
                continue;
            }
            if self.restart == Restart::AfterFirstResponse && !has_ever_answered {
                return;
            }
            outage.get_or_insert_with(|| OutageGuard::begin(&self.health));
            tracing::warn!(upstream = %self.name, reason, again_in_ms = delay.as_millis(), "a server is gone");
            if matches!(self.reject_for(delay, &reason, &mut from_client).await, ClosedBy::Client) {
                return;
            }
            delay = (delay * 2).min(LONGEST_DELAY);
        }
    }

    /// Forwards messages in both directions until one side leaves.
    async fn forward<'a>(
        &'a self,
        started: StartedServer,
        from_client: &mut mpsc::Receiver<Message>,
        is_first: bool,
        outage: &mut Option<OutageGuard<'a>>,
    ) -> ClosedBy {
        let StartedServer { link: Link { to, mut from, direct }, mut child } = started;
        let to_resend = self.requests().take_requests_to_resend();
        if !is_first && !self.replay_initialize(&to, &mut from).await {
            drop(to);
            self.end(child.as_mut()).await;
            return ClosedBy::Server;
        }
        *outage = None;
        self.direct.set(direct);
        // Each direction has its own loop. A server may stop reading until its output is read, so writing must
        // not block reading.
        let forward_requests = async {
            for message in to_resend {
                if to.send(message).await.is_err() {
                    return ClosedBy::Server;
                }
            }
            while let Some(message) = from_client.recv().await {
                self.track(&message);
                let Some(permit) = reserve_space(&to, from_client).await else {
                    return ClosedBy::Client;
                };
                match permit {
                    Ok(permit) => permit.send(message),
                    Err(_) => return ClosedBy::Server,
                }
            }
            ClosedBy::Client
        };
        let closed_by = {
            let forward_responses = self.forward_responses(&mut from);
            tokio::pin!(forward_responses);
            tokio::select! {
                closed_by = &mut forward_responses => closed_by,
                closed_by = forward_requests => closed_by,
                closed_by = wait_for_exit(child.as_mut()) => closed_by,
                () = self.health.end_quickly_requested() => ClosedBy::Client,
            }
        };
        self.direct.set(DirectPath::default());
        drop(to);
        // The server's remaining output is still read. Another process may hold that output open, so the wait is
        // limited.
        let mut remaining_output = pin!(self.forward_responses(&mut from));
        let mut ending = pin!(self.end(child.as_mut()));
        let has_ended_output = tokio::select! {
            _ = &mut remaining_output => true,
            () = &mut ending => false,
        };
        if has_ended_output {
            ending.await;
        } else {
            let _ = tokio::time::timeout(REMAINING_OUTPUT_TIMEOUT, remaining_output).await;
        }
        closed_by
    }

    /// Forwards the messages of the server until one side leaves.
    async fn forward_responses(&self, from: &mut mpsc::Receiver<Incoming>) -> ClosedBy {
        while let Some(incoming) = from.recv().await {
            if let Shape::Response { id } = incoming.message.shape() {
                if !self.requests().record_response(id, &incoming.message) {
                    continue;
                }
                self.health.record_response(&incoming.message);
            }
            if self.to_client.send(incoming).await.is_err() {
                return ClosedBy::Client;
            }
        }
        ClosedBy::Server
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, ServerRequests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores what must be repeated or answered if the server ends.
    fn track(&self, message: &Message) {
        let initial_messages =
            || self.initial_messages.lock().unwrap_or_else(PoisonError::into_inner);
        match message.shape() {
            Shape::Request { id, method } => {
                if method == "initialize" {
                    initial_messages().initialize = Some(message.clone());
                }
                self.requests().add(id, message);
            }
            Shape::Notification { method } if method == "notifications/initialized" => {
                initial_messages().initialized = Some(message.clone());
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                if let Some(id) = splice::id_at(message.text(), &["params", "requestId"]) {
                    self.requests().forget(&id);
                }
            }
            _ => {}
        }
    }

    /// Repeats the `initialize` exchange with a restarted server. Returns true if the server can be used.
    async fn replay_initialize(
        &self,
        to: &mpsc::Sender<Message>,
        from: &mut mpsc::Receiver<Incoming>,
    ) -> bool {
        let (initialize, initialized) = {
            let initial_messages =
                self.initial_messages.lock().unwrap_or_else(PoisonError::into_inner);
            (initial_messages.initialize.clone(), initial_messages.initialized.clone())
        };
        // A client that did not complete `initialize` continues with it itself.
        let (Some(initialize), Some(initialized)) = (initialize, initialized) else { return true };
        let Shape::Request { id, .. } = initialize.shape().clone() else { return true };
        if to.send(initialize).await.is_err() {
            return false;
        }
        let answered = tokio::time::timeout(INITIALIZE_TIMEOUT, async {
            while let Some(incoming) = from.recv().await {
                if matches!(incoming.message.shape(), Shape::Response { id: answered } if *answered == id)
                {
                    return true;
                }
                let _ = self.to_client.send(incoming).await;
            }
            false
        });
        if !matches!(answered.await, Ok(true)) || to.send(initialized).await.is_err() {
            return false;
        }
        let changed = Message::notification("notifications/tools/list_changed", &json!({}));
        self.to_client.send(changed.into()).await.is_ok()
    }

    /// Answers all pending requests with an error, because the server has ended.
    async fn fail_pending(&self, reason: &str) {
        let pending = self.requests().take_pending();
        for id in pending {
            let _ = self.to_client.send(Incoming::from(link_error(&id, reason, None))).await;
        }
    }

    /// Rejects requests while the server is down.
    async fn reject_for(
        &self,
        delay: Duration,
        reason: &str,
        from_client: &mut mpsc::Receiver<Message>,
    ) -> ClosedBy {
        let until = Instant::now() + delay;
        loop {
            match tokio::time::timeout_at(until, from_client.recv()).await {
                Err(_) => return ClosedBy::Server,
                Ok(None) => return ClosedBy::Client,
                Ok(Some(message)) => {
                    if let Shape::Request { id, .. } = message.shape() {
                        let reason = format!("{reason}; it is started again");
                        let _ = self.to_client.send(unsent_error(id, &reason).into()).await;
                    }
                }
            }
        }
    }

    /// Ends the child process, if there is one.
    async fn end(&self, child: Option<&mut Child>) {
        let Some(child) = child else { return };
        match child.end(self.health.end_quickly_requested()).await {
            Ok(status) => self.health.record_exit(status),
            Err(error) => {
                tracing::warn!(upstream = %self.name, %error, "a server cannot be waited for");
            }
        }
    }
}

/// Waits until a process has ended and there was time to read its output. Another process may still hold the
/// output open.
async fn wait_for_exit(child: Option<&mut Child>) -> ClosedBy {
    let has_ended = match child {
        Some(child) => child.wait().await.is_ok(),
        None => false,
    };
    if !has_ended {
        // Without a process to wait for, the server ends when its output does.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(REMAINING_OUTPUT_TIMEOUT).await;
    ClosedBy::Server
}

/// Reserves space for a message to a server. Returns `None` if the server does not read and the client has left.
async fn reserve_space<'a>(
    to: &'a mpsc::Sender<Message>,
    from_client: &mpsc::Receiver<Message>,
) -> Option<Result<mpsc::Permit<'a, Message>, mpsc::error::SendError<()>>> {
    let mut space = std::pin::pin!(to.reserve());
    loop {
        if let Ok(space) = tokio::time::timeout(CLIENT_CHECK_INTERVAL, space.as_mut()).await {
            return Some(space);
        }
        if from_client.is_closed() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::link_error_reason;
    use super::*;
    use crate::era::{Era, EraCache, bridge_link};

    /// Starts a server that answers every request with its number of starts, and ends on the method `end`.
    fn server(starts: &Arc<AtomicUsize>) -> std::io::Result<StartedServer> {
        let start = starts.fetch_add(1, Ordering::SeqCst);
        // The second start fails.
        if start == 1 {
            return Err(std::io::Error::other("no such program"));
        }
        let (link, ServerEnd { mut from_client, to_client }) = Link::pair();
        tokio::spawn(async move {
            while let Some(message) = from_client.recv().await {
                match message.shape() {
                    Shape::Request { method, .. } if method == "end" => return,
                    Shape::Request { id, .. } => {
                        let answer = Message::result(id, &format!("{{\"start\":{start}}}"));
                        let _ = to_client.send(answer.into()).await;
                    }
                    _ => {}
                }
            }
        });
        Ok(StartedServer { link, child: None })
    }

    async fn ask(link: &mut Link, text: &str) -> String {
        link.to.send(Message::read(text.to_owned()).unwrap()).await.unwrap();
        link.from.recv().await.unwrap().message.into_text()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_is_started_again_and_greeted() {
        let starts = Arc::new(AtomicUsize::new(0));
        let health = Arc::new(UpstreamHealth::default());
        let mut link = supervise(
            "up",
            {
                let starts = Arc::clone(&starts);
                move || server(&starts)
            },
            Arc::clone(&health),
            Restart::Always,
        );
        let initialized = ask(&mut link, r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
        assert_eq!(initialized, r#"{"jsonrpc":"2.0","id":0,"result":{"start":0}}"#);
        let initialized = Message::notification("notifications/initialized", &json!({}));
        link.to.send(initialized).await.unwrap();
        let failed = ask(&mut link, r#"{"jsonrpc":"2.0","id":1,"method":"end"}"#).await;
        let failed = Message::read(failed).unwrap();
        assert_eq!(link_error_reason(&failed).as_deref(), Some("the server ended"));
        // A request is answered at once while the server is down.
        let refused = ask(&mut link, r#"{"jsonrpc":"2.0","id":2,"method":"x"}"#).await;
        assert!(refused.contains("started again"), "{refused}");
        assert!(!health.is_up());
        // The client is notified of the restart and can continue.
        let changed = link.from.recv().await.unwrap().message.into_text();
        assert!(changed.contains("list_changed"), "{changed}");
        let answer = ask(&mut link, r#"{"jsonrpc":"2.0","id":3,"method":"x"}"#).await;
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":3,"result":{"start":2}}"#);
        assert!(health.is_up());
        assert_eq!(health.starts(), 2);
    }

    #[tokio::test]
    async fn leaving_ends_the_server_and_the_link() {
        let starts = Arc::new(AtomicUsize::new(0));
        let health = Arc::new(UpstreamHealth::default());
        let link = supervise(
            "up",
            move || server(&starts),
            Arc::clone(&health),
            Restart::AfterFirstResponse,
        );
        let Link { to, mut from, .. } = link;
        drop(to);
        assert!(from.recv().await.is_none());
        assert!(health.is_up(), "a server that was left is not missed");
    }

    /// Starts a server that speaks one era and ends on the first message of the other.
    fn picky(era: Era) -> Link {
        let (link, ServerEnd { mut from_client, to_client }) = Link::pair();
        tokio::spawn(async move {
            while let Some(message) = from_client.recv().await {
                let Shape::Request { id, method } = message.shape() else { continue };
                let is_legacy = era == Era::Legacy;
                let result = match method.as_str() {
                    "initialize" if is_legacy => r#"{"protocolVersion":"2025-06-18"}"#,
                    "server/discover" if !is_legacy => r#"{"supportedVersions":["2026-07-28"]}"#,
                    "initialize" => {
                        let data = json!({"supported": ["2026-07-28"]});
                        let refusal = Message::error(Some(id), -32022, "no", Some(&data));
                        let _ = to_client.send(refusal.into()).await;
                        return;
                    }
                    "server/discover" => return,
                    _ => r#"{"is":"answered"}"#,
                };
                let _ = to_client.send(Message::result(id, result).into()).await;
            }
        });
        link
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_over_an_era_is_started_for_the_other() {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let call = r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        for (era, first, expected) in [
            (Era::Modern, hello, r#""protocolVersion":"2025-06-18""#),
            (Era::Legacy, call, r#""is":"answered""#),
        ] {
            let (health, cache) = (Arc::new(UpstreamHealth::default()), EraCache::default());
            let open = move || {
                Ok(StartedServer { link: bridge_link(picky(era), cache.clone()), child: None })
            };
            let mut link = supervise("up", open, Arc::clone(&health), Restart::AfterFirstResponse);
            let answer = ask(&mut link, first).await;
            assert!(answer.contains(expected), "{era:?}: {answer}");
            assert_eq!(health.starts(), 2, "{era:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_answered_ends_the_link() {
        let open = || {
            let (link, ServerEnd { mut from_client, to_client }) = Link::pair();
            tokio::spawn(async move {
                from_client.recv().await;
                drop(to_client);
            });
            Ok(StartedServer { link, child: None })
        };
        let health = Arc::new(UpstreamHealth::default());
        let mut link = supervise("up", open, Arc::clone(&health), Restart::AfterFirstResponse);
        let answer = ask(&mut link, r#"{"id":0,"method":"initialize"}"#).await;
        assert!(answer.contains("the server ended"), "{answer}");
        assert!(link.from.recv().await.is_none());
        assert_eq!(health.starts(), 1);
    }
}
