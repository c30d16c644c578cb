//! `answerback wrap`: a drop-in in front of a stdio MCP server.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use answerback_gateway::Client;
use answerback_gateway::wrap::{Ended, Wrapped, wrap};
use answerback_mcp::link::Program;
use anyhow::Context;
use tracing_subscriber::filter::LevelFilter;

use super::ledger::location::Location;
use crate::exit::Exit;
use crate::gateway::gateway;
use crate::output::say;

/// The variable that says how much is told on standard error.
const LOG: &str = "ANSWERBACK_LOG";
/// On whose behalf a client on standard input calls.
const PRINCIPAL: &str = "local";

/// Put Answerback in front of an MCP server that speaks on standard input and output
///
/// Every call is checked against the tool's input schema before the server sees it; a wrong one is answered in words
/// that the model can act on, and after the last attempt a person is asked. Results cross as they are; what we say
/// about them stands in their `_meta`. Calls and results are recorded before they are passed on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback wrap -- npx -y @modelcontextprotocol/server-filesystem /data
  answerback wrap --name files --config .agent/config.yml -- my-server --flag
  answerback wrap --no-record -- my-server

In a client's configuration, the server's command becomes an argument:
  {\"mcpServers\": {\"files\": {\"command\": \"answerback\", \"args\": [\"wrap\", \"--\", \"my-server\", \"--flag\"]}}}

The record is --store, else $ANSWERBACK_STORE, else ledger.db in the user's state directory; several may share it.
$ANSWERBACK_LOG (error, warn, info, debug) says how much is told on standard error.")]
pub(crate) struct Arguments {
    /// What the server is called in records; otherwise the name of its program
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Check and count, but record nothing
    #[arg(long, conflicts_with_all = ["store", "key", "anchor"])]
    no_record: bool,

    /// Take an unknown field for an error even where its schema allows it
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    location: Location,

    /// The server's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    log()?;
    let [program, rest @ ..] = arguments.command.as_slice() else {
        anyhow::bail!("no server is named; write its command after --");
    };
    let (location, no_record) = (&arguments.location, arguments.no_record);
    let gateway = gateway(location.configuration()?, location, arguments.strict, no_record)?;
    let name = arguments.name.clone().unwrap_or_else(|| name_of(program));
    let mut wrapped = Wrapped::new(&name, Program::new(program, rest.to_vec()));
    if !no_record {
        wrapped = wrapped.with_pins(pins(location, &name)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One client, and most of the time nothing to do: a second thread would only be woken to find that out.
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the gateway")?;
    let client = Client::new(PRINCIPAL).context("no randomness for the connection's name")?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let ended = runtime.block_on(wrap(Arc::new(gateway), client, wrapped, input, output, stop()));
    // A read of standard input that is under way cannot be ended, and must not hold us up.
    runtime.shutdown_background();
    Ok(match ended? {
        Ended::Client => Exit::Good,
        Ended::Server(status) if status.success() => Exit::Good,
        Ended::Server(status) => {
            say(&format!("error: the server ended by itself: {status}"));
            Exit::CouldNotJudge
        }
    })
}

/// Warnings go to standard error, where clients keep what servers say.
pub(super) fn log() -> anyhow::Result<()> {
    let level = match std::env::var(LOG) {
        Ok(word) if !word.is_empty() => word.parse::<LevelFilter>().ok().with_context(|| {
            format!("${LOG} is {word:?}; expected off, error, warn, info, debug or trace")
        })?,
        _ => LevelFilter::WARN,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        // Where nobody reads what we log, nothing is lost but that: a call is answered all the same.
        .log_internal_errors(false)
        .with_ansi(false)
        .without_time()
        .init();
    Ok(())
}

/// The name of a program, without its folder.
fn name_of(program: &OsStr) -> String {
    let name = Path::new(program).file_stem().unwrap_or(program);
    name.to_string_lossy().into_owned()
}

/// Where the tools' definitions are kept: beside the store, by the server's name.
pub(super) fn pins(location: &Location, name: &str) -> anyhow::Result<PathBuf> {
    let digest = answerback::Digest::of_bytes(name.as_bytes()).to_string();
    let readable: String = name
        .chars()
        .filter(|it| it.is_ascii_alphanumeric() || "-_".contains(*it))
        .take(40)
        .collect();
    let file = format!("{readable}-{}.json", &digest[..8]);
    Ok(location.folder()?.join("pins").join(file))
}

/// When somebody asks us to end.
pub(super) async fn stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
