//! Connects one client on a pair of streams with one server that is a child process.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::era::{EraCache, bridge_link_on_demand};
use answerback_mcp::link::{
    Link, Program, Restart, StartedServer, UnreadableLine, UpstreamHealth, WAITING, link_error,
    read_lines, supervise, write_lines,
};
use answerback_mcp::wire::{Id, Message, Shape, code};
use answerback_store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::client_sink::ClientSink;
use crate::relay::{ConfiguredServer, RelaySession, repeated_name};
use crate::{Client, Gateway};

/// The name of this way to run the gateway, as the ledger records it.
const SURFACE: &str = "wrap";
/// The time that a client still has to send requests if the server ended before it answered anything.
const REQUEST_GRACE: Duration = Duration::from_secs(2);
/// The time that requests have to be answered after the client closed its input. All shutdown delays together
/// stay below one second, after which a client may kill us.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);
/// The time that we wait for the server to end. After that, its supervisor process ends it.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_millis(400);
/// The same time for a server that left a request unanswered, and so is not expected to end by itself.
const STUCK_SERVER_EXIT_TIMEOUT: Duration = Duration::from_millis(250);
/// The time that we wait for a server that is being ended.
const FORCED_SERVER_EXIT_TIMEOUT: Duration = Duration::from_millis(100);
/// The time to write the remaining responses.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The same time if a request was not answered.
const STUCK_WRITE_TIMEOUT: Duration = Duration::from_millis(100);

/// The reason for a request without a response after the client left.
const CLIENT_LEFT: &str = "the client closed its input before the server answered";
/// The reason for a request without a response after the server ended.
const SERVER_ENDED: &str = "the server ended before it answered";

/// Describes the server to wrap.
#[derive(Clone, Debug)]
#[must_use]
pub struct WrappedServer {
    name: String,
    program: Program,
    pins: Option<PathBuf>,
}

impl WrappedServer {
    /// Creates a server from a program, with a name for it.
    pub fn new(name: impl Into<String>, program: Program) -> Self {
        Self { name: name.into(), program, pins: None }
    }

    /// Sets the file that stores the pinned tool definitions.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.pins = Some(file.into());
        self
    }
}

/// Names the side that ended the connection first.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "either the client or the server ends first")]
pub enum WrapOutcome {
    /// The client left, and the server was ended.
    Client,
    /// The server ended before it answered anything. The status is present if it is known.
    Server(Option<ExitStatus>),
}

/// Forwards messages between a client and a wrapped server until the client leaves or `stop` is ready. A server
/// that ends is restarted if it has answered a request before. Otherwise it is probably not a server, and is not
/// started again.
///
/// # Errors
///
/// Returns an error if the server cannot be started, or if the active policy cannot be recorded.
pub async fn wrap(
    gateway: Arc<Gateway>,
    client: Client,
    server: WrappedServer,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()> + Send,
) -> Result<WrapOutcome, WrapError> {
    let limit = gateway.settings().largest_message;
    let is_supervised = server.program.is_supervised();
    let place = server.program.path().to_string_lossy().into_owned();
    let (program, name, era) = (server.program, server.name.clone(), EraCache::default());
    let start = move || {
        let (child, link) = program.start(&name, limit)?;
        Ok(StartedServer { link: bridge_link_on_demand(link, era.clone()), child: Some(child) })
    };
    // A missing program is reported at once and not tried again.
    let first = start().map_err(|error| WrapError::Start { program: place.clone(), error })?;
    let mut first = Some(first);
    let open = move || first.take().map_or_else(&start, Ok);
    let health = Arc::new(UpstreamHealth::default());
    let Link { to, from, .. } =
        supervise(&server.name, open, Arc::clone(&health), Restart::AfterFirstResponse);
    let (to_client, client_queue) = mpsc::channel(WAITING);
    let client_writer = tokio::spawn(write_lines(client_queue, output));
    let configured = ConfiguredServer::new(server.name, place, server.pins);
    let relay = Arc::new(RelaySession::new(
        gateway,
        Arc::new(client),
        configured,
        ClientSink::Queue(to_client),
        to,
    ));
    relay.record_start(SURFACE).await.map_err(WrapError::Record)?;
    let mut server_reader = tokio::spawn(Arc::clone(&relay).read_server(from));
    let mut has_finished = true;
    let exit = {
        let read_client = read_client(&relay, input, limit);
        tokio::pin!(read_client, stop);
        tokio::select! {
            finished = &mut read_client => {
                has_finished = finished;
                WrapExit::Client
            }
            () = &mut stop => WrapExit::Stopped,
            unanswered = &mut server_reader => {
                answer_for_server(&relay, unanswered.unwrap_or_default()).await;
                let _ = tokio::time::timeout(REQUEST_GRACE, read_client).await;
                WrapExit::Server
            }
        }
    };
    if matches!(exit, WrapExit::Stopped) {
        has_finished = relay
            .finish(ANSWER_TIMEOUT, "the gateway was stopped before the server answered")
            .await;
    }
    // Closing the server's input makes it end. We answer the requests that it leaves open.
    relay.close();
    let mut has_server_left = matches!(exit, WrapExit::Server);
    if !has_server_left {
        // If the server never answered, it may not be a server. Its own exit status then says more than a forced
        // one.
        if !has_finished && health.has_answered() {
            health.end_quickly();
        }
        let limit = if has_finished { SERVER_EXIT_TIMEOUT } else { STUCK_SERVER_EXIT_TIMEOUT };
        let mut has_ended = tokio::time::timeout(limit, &mut server_reader).await.ok();
        let has_ended_by_itself = has_ended.is_some() && !health.has_answered();
        if has_ended.is_none() && (!has_finished || !is_supervised) {
            health.end_quickly();
            let limit = if is_supervised { FORCED_SERVER_EXIT_TIMEOUT } else { WRITE_TIMEOUT };
            has_ended = tokio::time::timeout(limit, &mut server_reader).await.ok();
        }
        let unanswered = has_ended.and_then(Result::ok).unwrap_or_default();
        let is_left_waiting =
            matches!(exit, WrapExit::Client) && (!has_finished || !unanswered.is_empty());
        has_server_left = is_left_waiting && has_ended_by_itself;
        answer_for_server(&relay, unanswered).await;
    }
    has_finished &= relay.finish(ANSWER_TIMEOUT, SERVER_ENDED).await;
    relay.record_stop(SURFACE).await.map_err(WrapError::Record)?;
    let outcome = if has_server_left {
        WrapOutcome::Server(health.last_exit_status())
    } else {
        WrapOutcome::Client
    };
    drop(relay);
    // The remaining responses are written, unless the client is gone.
    let write_timeout = if has_finished { WRITE_TIMEOUT } else { STUCK_WRITE_TIMEOUT };
    let _ = tokio::time::timeout(write_timeout, client_writer).await;
    Ok(outcome)
}

/// Names the event that ended the connection.
enum WrapExit {
    Client,
    Stopped,
    Server,
}

/// Answers the requests that the server left open.
async fn answer_for_server(relay: &RelaySession, unanswered: Vec<Id>) {
    for id in unanswered {
        relay.send_to_client(link_error(&id, SERVER_ENDED, None)).await;
    }
}

/// Rejects the requests of a client that cannot be served, until the client leaves or a short time has passed.
pub async fn refuse_requests(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    reason: &str,
) {
    let (to_client, queue) = mpsc::channel::<Message>(WAITING);
    let writer = tokio::spawn(write_lines(queue, output));
    let receive = |read: Result<Message, UnreadableLine>| async {
        if let Ok(message) = read
            && let Shape::Request { id, .. } = message.shape()
        {
            let answer = Message::error(Some(id), code::INTERNAL_ERROR, reason, None);
            return to_client.send(answer).await.is_ok();
        }
        true
    };
    let limit = crate::GatewaySettings::default().largest_message;
    let _ = tokio::time::timeout(REQUEST_GRACE, read_lines(input, limit, receive)).await;
    drop(to_client);
    let _ = tokio::time::timeout(WRITE_TIMEOUT, writer).await;
}

/// Reads the client's messages until it leaves, and waits briefly for the remaining responses. Returns true if
/// all requests were answered.
async fn read_client(
    relay: &Arc<RelaySession>,
    input: impl AsyncRead + Unpin,
    limit: usize,
) -> bool {
    let receive = |read| async {
        match read {
            Ok(message) => {
                let message: Message = message;
                if message.repeats() {
                    let id = match message.shape() {
                        Shape::Request { id, .. } => Some(id),
                        _ => None,
                    };
                    let text = repeated_name(&message);
                    let answer = Message::error(id, code::INVALID_REQUEST, &text, None);
                    relay.send_to_client(answer).await;
                } else {
                    relay.receive_from_client(message).await;
                }
            }
            Err(line) => {
                let line: UnreadableLine = line;
                relay.send_to_client(line.error()).await;
                // The server or a question of ours waits for this response, and no other will come.
                if let Some(id) = line.id.as_ref().filter(|_| line.is_answer) {
                    let reason = format!("the client's answer {}", line.reason);
                    relay
                        .receive_from_client(Message::error(Some(id), line.code, &reason, None))
                        .await;
                }
            }
        }
        true
    };
    read_lines(input, limit, receive).await;
    // The client closed its input. It may still read responses, but it can no longer answer forms.
    relay.remove_client_requests();
    relay.finish(ANSWER_TIMEOUT, CLIENT_LEFT).await
}

/// Reports why a server could not be wrapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// The server could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// The name or path of the program.
        program: String,
        /// The cause of the failure.
        error: std::io::Error,
    },
    /// The active policy could not be recorded.
    #[error("nothing can be recorded, so nothing is served: {0}")]
    Record(StoreError),
}
