//! One client on a pair of streams, one server that is a child process.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::era::{EraCache, bridged_on_demand};
use answerback_mcp::link::{
    Health, Link, Opened, Program, Restart, UnreadableLine, WAITING, broken, read_lines, steady,
    write_lines,
};
use answerback_mcp::wire::{Id, Message, Shape, code};
use answerback_store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::client_sink::ClientSink;
use crate::relay::{Relay, Served, repeated_name};
use crate::{Client, Gateway};

/// Where calls come in, in the record.
const SURFACE: &str = "wrap";
/// How long a client is still heard whose server ended before it answered anything: it may only be about to ask.
const LAST_REQUESTS: Duration = Duration::from_secs(2);
/// How long requests may still be answered after the client closed its end. With what follows it is less than the second
/// after which a client that left must not find us running.
const LAST_ANSWERS: Duration = Duration::from_millis(400);
/// How long the server has to end while we wait for it. After that its supervisor ends it.
const SERVER_LEAVING: Duration = Duration::from_millis(400);
/// The same for a server that has left a request without an answer, and so cannot be expected to end by itself.
const STUCK_SERVER_LEAVING: Duration = Duration::from_millis(250);
/// How long a server that was made to end may take for it while we wait.
const HURRIED_SERVER_LEAVING: Duration = Duration::from_millis(100);
/// How long what was answered may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The same where something was not answered in time.
const LAST_WORDS_OF_STUCK: Duration = Duration::from_millis(100);

/// Why a request has no answer whose client is gone.
const CLIENT_LEFT: &str = "the client closed its input before the server answered";
/// Why a request has no answer whose server is gone.
const SERVER_ENDED: &str = "the server ended before it answered";

/// The server that is wrapped.
#[derive(Clone, Debug)]
#[must_use]
pub struct Wrapped {
    name: String,
    program: Program,
    pins: Option<PathBuf>,
}

impl Wrapped {
    /// A program that is a server, under a name of our own for it.
    pub fn new(name: impl Into<String>, program: Program) -> Self {
        Self { name: name.into(), program, pins: None }
    }

    /// The file that keeps the tools' definitions as they were first seen.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.pins = Some(file.into());
        self
    }
}

/// How wrapping a server ended.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "one of the two goes first")]
pub enum Ended {
    /// The client left, and the server was ended.
    Client,
    /// The server ended before it had answered anything: as it said, where it is known.
    Server(Option<ExitStatus>),
}

/// Carries messages between a client and a wrapped server until the client leaves, or `stop` says so. A server that
/// ends is started again, once it has answered anything; one that never did is no server, and is not tried for ever.
///
/// # Errors
///
/// When the server cannot be started, or what is in force cannot be recorded.
pub async fn wrap(
    gateway: Arc<Gateway>,
    client: Client,
    wrapped: Wrapped,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()> + Send,
) -> Result<Ended, WrapError> {
    let most = gateway.settings().largest_message;
    let is_supervised = wrapped.program.is_supervised();
    let place = wrapped.program.path().to_string_lossy().into_owned();
    let (program, name, era) = (wrapped.program, wrapped.name.clone(), EraCache::default());
    let start = move || {
        let (child, link) = program.start(&name, most)?;
        Ok(Opened { link: bridged_on_demand(link, era.clone()), child: Some(child) })
    };
    // A program that is not there is told at once, and not tried again.
    let first = start().map_err(|error| WrapError::Start { program: place.clone(), error })?;
    let mut first = Some(first);
    let open = move || first.take().map_or_else(&start, Ok);
    let health = Arc::new(Health::default());
    let Link { to, from, .. } =
        steady(&wrapped.name, open, Arc::clone(&health), Restart::OnceItAnswered);
    let (to_client, client_queue) = mpsc::channel(WAITING);
    let client_writer = tokio::spawn(write_lines(client_queue, output));
    let served = Served::new(wrapped.name, place, wrapped.pins);
    let relay =
        Arc::new(Relay::new(gateway, Arc::new(client), served, ClientSink::Queue(to_client), to));
    relay.note_start(SURFACE).await.map_err(WrapError::Record)?;
    let mut from_server = tokio::spawn(Arc::clone(&relay).from_server(from));
    let mut has_finished = true;
    let left = {
        let from_client = from_client(&relay, input, most);
        tokio::pin!(from_client, stop);
        tokio::select! {
            finished = &mut from_client => {
                has_finished = finished;
                WrapExit::Client
            }
            () = &mut stop => WrapExit::Stopped,
            unanswered = &mut from_server => {
                answer_for_server(&relay, unanswered.unwrap_or_default()).await;
                let _ = tokio::time::timeout(LAST_REQUESTS, from_client).await;
                WrapExit::Server
            }
        }
    };
    if matches!(left, WrapExit::Stopped) {
        has_finished =
            relay.finish(LAST_ANSWERS, "the gateway was stopped before the server answered").await;
    }
    // The server's input ends, and the server with it. What it does not answer any more is answered by us.
    relay.close();
    let mut has_server_left = matches!(left, WrapExit::Server);
    if !has_server_left {
        // One that never answered anything may be no server, and then its own end says more than ours would.
        if !has_finished && health.has_answered() {
            health.hurry();
        }
        let most = if has_finished { SERVER_LEAVING } else { STUCK_SERVER_LEAVING };
        let mut has_ended = tokio::time::timeout(most, &mut from_server).await.ok();
        let has_ended_by_itself = has_ended.is_some() && !health.has_answered();
        if has_ended.is_none() && (!has_finished || !is_supervised) {
            health.hurry();
            let most = if is_supervised { HURRIED_SERVER_LEAVING } else { LAST_WORDS };
            has_ended = tokio::time::timeout(most, &mut from_server).await.ok();
        }
        let unanswered = has_ended.and_then(Result::ok).unwrap_or_default();
        let is_left_waiting =
            matches!(left, WrapExit::Client) && (!has_finished || !unanswered.is_empty());
        has_server_left = is_left_waiting && has_ended_by_itself;
        answer_for_server(&relay, unanswered).await;
    }
    has_finished &= relay.finish(LAST_ANSWERS, SERVER_ENDED).await;
    relay.note_stop(SURFACE).await.map_err(WrapError::Record)?;
    let ended = if has_server_left { Ended::Server(health.ended()) } else { Ended::Client };
    drop(relay);
    // What was answered is written, unless the client is gone.
    let last_words = if has_finished { LAST_WORDS } else { LAST_WORDS_OF_STUCK };
    let _ = tokio::time::timeout(last_words, client_writer).await;
    Ok(ended)
}

/// Who ends it.
enum WrapExit {
    Client,
    Stopped,
    Server,
}

/// Answers what the server left without an answer.
async fn answer_for_server(relay: &Relay, unanswered: Vec<Id>) {
    for id in unanswered {
        relay.tell(broken(&id, SERVER_ENDED, None)).await;
    }
}

/// Answers the requests of a client that is not served with the reason, until the client leaves or has had time to ask.
pub async fn refuse_requests(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    reason: &str,
) {
    let (to_client, queue) = mpsc::channel::<Message>(WAITING);
    let writer = tokio::spawn(write_lines(queue, output));
    let take = |read: Result<Message, UnreadableLine>| async {
        if let Ok(message) = read
            && let Shape::Request { id, .. } = message.shape()
        {
            let answer = Message::error(Some(id), code::INTERNAL_ERROR, reason, None);
            return to_client.send(answer).await.is_ok();
        }
        true
    };
    let most = crate::GatewaySettings::default().largest_message;
    let _ = tokio::time::timeout(LAST_REQUESTS, read_lines(input, most, take)).await;
    drop(to_client);
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
}

/// Reads what the client says until it leaves, and waits a little for what it asked for. Returns true if all of that was
/// answered.
async fn from_client(relay: &Arc<Relay>, input: impl AsyncRead + Unpin, most: usize) -> bool {
    let take = |read| async {
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
                    relay.tell(answer).await;
                } else {
                    relay.hear(message).await;
                }
            }
            Err(line) => {
                let line: UnreadableLine = line;
                relay.tell(line.error()).await;
                // The server, or one of our own questions, waits for this answer, and no other will come.
                if let Some(id) = line.id.as_ref().filter(|_| line.is_answer) {
                    let reason = format!("the client's answer {}", line.reason);
                    relay.hear(Message::error(Some(id), line.code, &reason, None)).await;
                }
            }
        }
        true
    };
    read_lines(input, most, take).await;
    // The client closed its end; it may still read what it asked for, and answers no form any more.
    relay.client_left();
    relay.finish(LAST_ANSWERS, CLIENT_LEFT).await
}

/// Why a server could not be wrapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// It could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        error: std::io::Error,
    },
    /// What is in force could not be recorded.
    #[error("nothing can be recorded, so nothing is served: {0}")]
    Record(StoreError),
}
