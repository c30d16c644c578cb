//! One client on a pair of streams, one server that is a child process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use answerback_ledger::leaf::Subject;
use answerback_store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::child::Server;
use crate::relay::Relay;
use crate::{Client, Gateway};

/// How many messages may wait to be written.
const WAITING: usize = 64;

/// The server that is wrapped.
#[derive(Clone, Debug)]
#[must_use]
pub struct Wrapped {
    pub(crate) name: String,
    pub(crate) program: OsString,
    arguments: Vec<OsString>,
    pub(crate) pins: Option<PathBuf>,
}

impl Wrapped {
    /// A program that is a server, under a name of our own for it.
    pub fn new(
        name: impl Into<String>,
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let (program, arguments) = (program.into(), arguments.into_iter().collect());
        Self { name: name.into(), program, arguments, pins: None }
    }

    /// The file that keeps the tools' definitions as they were first seen.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.pins = Some(file.into());
        self
    }
}

/// How a wrapped server ended.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "one of the two goes first")]
pub enum Ended {
    /// The client left, and the server was ended.
    Client,
    /// The server left by itself.
    Server(ExitStatus),
}

/// Carries messages between a client and a wrapped server until one of them leaves, or `stop` says so.
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
    let (mut server, to_child, from_child) = Server::start(&wrapped.program, &wrapped.arguments)
        .map_err(|error| WrapError::Start {
            program: wrapped.program.to_string_lossy().into_owned(),
            error,
        })?;
    let most = gateway.settings().largest_message;
    let (to_server, server_queue) = mpsc::channel(WAITING);
    let (to_client, client_queue) = mpsc::channel(WAITING);
    let server_writer = tokio::spawn(write(server_queue, to_child));
    let client_writer = tokio::spawn(write(client_queue, output));
    let relay = Arc::new(Relay::new(gateway, client, wrapped, to_client, to_server));
    relay.note(Subject::Start).await?;
    let mut from_server = tokio::spawn(Arc::clone(&relay).from_server(from_child, most));
    let ended = {
        let from_client = Arc::clone(&relay).from_client(input, most);
        tokio::pin!(from_client, stop);
        tokio::select! {
            () = &mut from_client => None,
            () = &mut stop => None,
            _ = &mut from_server => Some(server.wait().await.map_err(WrapError::Wait)?),
        }
    };
    // The server's input ends, and the server with it. Calls that it does not answer any more are answered by us.
    server_writer.abort();
    let _ = server_writer.await;
    server.end().await.map_err(WrapError::Wait)?;
    if ended.is_none() {
        let _ = from_server.await;
    }
    relay.finish().await;
    relay.note(Subject::Stop).await?;
    let ended = ended.map_or(Ended::Client, Ended::Server);
    drop(relay);
    // What was answered is written, unless the client is gone.
    let _ = tokio::time::timeout(Duration::from_secs(5), client_writer).await;
    Ok(ended)
}

/// Writes messages a line each until nobody sends any more, or nobody reads.
async fn write(mut queue: mpsc::Receiver<String>, mut to: impl AsyncWrite + Unpin) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        // What waits already goes out in one piece.
        while line.len() < 1 << 16
            && let Ok(next) = queue.try_recv()
        {
            line.push_str(&next);
            line.push('\n');
        }
        if to.write_all(line.as_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
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
    /// It cannot be waited for.
    #[error("the server cannot be waited for: {0}")]
    Wait(std::io::Error),
    /// What is in force could not be recorded.
    #[error("nothing can be recorded, so nothing is served: {0}")]
    Record(StoreError),
}
