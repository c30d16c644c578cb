//! One client on a pair of streams, one server that is a child process.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::era::{EraCache, bridged};
use answerback_mcp::link::{
    Health, Link, Opened, Program, Restart, WAITING, broken, read_lines, steady, write_lines,
};
use answerback_mcp::wire::{Id, Message, Shape, code};
use answerback_store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::outlet::Outlet;
use crate::relay::{Relay, Served, repeated_name};
use crate::{Client, Gateway};

/// Where calls come in, in the record.
const SURFACE: &str = "wrap";
/// How long a client is still heard whose server ended before it answered anything: it may only be about to ask.
const LAST_REQUESTS: Duration = Duration::from_secs(2);
/// How long what was answered may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The same where a call is still judged, so that it cannot be seen when everything is written.
const LAST_WORDS_WHILE_JUDGING: Duration = Duration::from_secs(1);

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
    let place = wrapped.program.path().to_string_lossy().into_owned();
    let (program, name, era) = (wrapped.program, wrapped.name.clone(), EraCache::default());
    let start = move || {
        let (child, link) = program.start(&name, most)?;
        Ok(Opened { link: bridged(link, era.clone()), child: Some(child) })
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
        Arc::new(Relay::new(gateway, Arc::new(client), served, Outlet::Queue(to_client), to));
    relay.note_start(SURFACE).await.map_err(WrapError::Record)?;
    let mut from_server = tokio::spawn(Arc::clone(&relay).from_server(from));
    let mut has_finished = true;
    let left = {
        let from_client = from_client(&relay, input, most);
        tokio::pin!(from_client, stop);
        tokio::select! {
            finished = &mut from_client => {
                has_finished = finished;
                Left::Client
            }
            () = &mut stop => Left::Stopped,
            unanswered = &mut from_server => {
                answer_for_server(&relay, unanswered.unwrap_or_default()).await;
                let _ = tokio::time::timeout(LAST_REQUESTS, from_client).await;
                Left::Server
            }
        }
    };
    // The server's input ends, and the server with it. What it does not answer any more is answered by us.
    relay.close();
    let mut has_server_left = matches!(left, Left::Server);
    if !has_server_left {
        let unanswered = from_server.await.unwrap_or_default();
        let is_left_waiting = matches!(left, Left::Client) && !unanswered.is_empty();
        has_server_left = is_left_waiting && !health.has_answered();
        answer_for_server(&relay, unanswered).await;
    }
    has_finished &= relay.finish().await;
    relay.note_stop(SURFACE).await.map_err(WrapError::Record)?;
    let ended = if has_server_left { Ended::Server(health.ended()) } else { Ended::Client };
    drop(relay);
    // What was answered is written, unless the client is gone.
    let last_words = if has_finished { LAST_WORDS } else { LAST_WORDS_WHILE_JUDGING };
    let _ = tokio::time::timeout(last_words, client_writer).await;
    Ok(ended)
}

/// Who ends it.
enum Left {
    Client,
    Stopped,
    Server,
}

/// Answers what the server left without an answer.
async fn answer_for_server(relay: &Relay, unanswered: Vec<Id>) {
    for id in unanswered {
        relay.tell(broken(&id, "the server ended before it answered", None)).await;
    }
}

/// Reads what the client says until it leaves, and waits for what it asked for. Says whether all of that was judged.
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
            Err(answer) => relay.tell(answer).await,
        }
        true
    };
    read_lines(input, most, take).await;
    // The client closed its end; it may still read what it asked for, and answers no form any more.
    relay.client_left();
    relay.finish().await
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
