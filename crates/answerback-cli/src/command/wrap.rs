//! `answerback wrap`: runs a stdio MCP server behind the gateway.

use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal as _;
use std::sync::Arc;

use answerback_gateway::wrap::{WrapOutcome, WrappedServer, refuse_requests, wrap};
use answerback_gateway::{Client, Gateway};
use answerback_mcp::link::Program;
use anyhow::Context;
use tokio::runtime::Runtime;

use crate::exit::Exit;
use crate::gateway::GatewayOptions;
use crate::log_format::LogOptions;
use crate::output::say;
use crate::runtime::{log, stop};
use crate::server_identity::ServerIdentity;

/// The principal of a client on standard input.
const PRINCIPAL: &str = "local";

/// Put Answerback in front of an MCP server on standard input and output
///
/// Every call is checked against the tool's input schema before the server gets it. For an invalid call the model gets a
/// message that it can act on, and after the last attempt a person is asked. Results are forwarded unchanged, with our
/// information in their `_meta`. Calls and results are recorded before they are forwarded.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback wrap npx -y @modelcontextprotocol/server-filesystem /data
  answerback wrap --name files --config .agent/config.yml -- my-server --flag
  answerback wrap --no-record -- my-server

In a client's configuration, the server's command becomes an argument:
  {\"mcpServers\": {\"files\": {\"command\": \"answerback\", \"args\": [\"wrap\", \"--\", \"my-server\", \"--flag\"]}}}

Several servers may share one ledger; without a configuration it is ledger.db in the user's state directory.
$ANSWERBACK_LOG (error, warn, info, debug) sets the log level on standard error.")]
pub(crate) struct Arguments {
    /// The server's name in records [default: the package, script or image in its command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    gateway: GatewayOptions,

    #[command(flatten)]
    log: LogOptions,

    /// The server's program and its arguments. Put options of `wrap` before it; write -- first if it begins with a hyphen
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let prepared = log(arguments.log).and_then(|()| prepare(arguments));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // There is one client and little work, so a second thread would only be woken for nothing.
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the gateway")?;
    match prepared {
        Ok(prepared) => serve(prepared, runtime),
        Err(error) => {
            reject_requests(&error, runtime);
            Err(error)
        }
    }
}

/// Everything that serving the client requires.
struct PreparedWrap {
    gateway: Gateway,
    client: Client,
    wrapped: WrappedServer,
    is_supervised: bool,
}

fn prepare(arguments: &Arguments) -> anyhow::Result<PreparedWrap> {
    let [program, rest @ ..] = arguments.command.as_slice() else {
        anyhow::bail!("no server command was given; write it after the options");
    };
    let identity = match &arguments.name {
        Some(name) => ServerIdentity::named(name),
        None => {
            let folder = std::env::current_dir().unwrap_or_default();
            ServerIdentity::of_command(program, rest, &folder)
        }
    };
    let program = Program::new(program, rest.to_vec());
    // A typo in the command must not leave a ledger and a key behind.
    if !program.exists() {
        let program = program.path().to_string_lossy();
        return Err(StartError(format!(
            "cannot start {program}: there is no such executable program; install it, or write its path"
        ))
        .into());
    }
    arguments.gateway.allow_unrecorded()?;
    let gateway = arguments.gateway.gateway(false)?;
    let configuration = arguments.gateway.location.configuration()?;
    let (service, _) = configuration.service()?;
    let program = program.without_variables(configuration.secret_variables(&service));
    let program = program.with_reaper(super::reaper::shared_reaper());
    let is_supervised = program.is_supervised();
    let mut wrapped = WrappedServer::new(&identity.name, program);
    if let Some(pins) = arguments.gateway.pins_under(&identity.name, &identity.key)? {
        wrapped = wrapped.with_pins(pins);
    }
    let client = Client::new(PRINCIPAL).context("the system provides no random bytes")?;
    Ok(PreparedWrap { gateway, client, wrapped, is_supervised })
}

/// The error for a program that cannot be started. The client sees this one. Other errors may contain more about this
/// machine than a model should see.
#[derive(Debug)]
struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// Answers the client's requests with the reason for the failure. Otherwise the client would only see the process exit,
/// and most clients do not show standard error.
fn reject_requests(error: &anyhow::Error, runtime: Runtime) {
    if !std::io::stdin().is_terminal() {
        let reason = match error.downcast_ref::<StartError>() {
            Some(StartError(reason)) => reason.as_str(),
            None => "answerback wrap cannot start; standard error has the reason",
        };
        runtime.block_on(refuse_requests(tokio::io::stdin(), tokio::io::stdout(), reason));
    }
    // A pending read of standard input cannot be aborted.
    runtime.shutdown_background();
}

fn serve(prepared: PreparedWrap, runtime: Runtime) -> anyhow::Result<Exit> {
    let PreparedWrap { gateway, client, wrapped, is_supervised } = prepared;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    if std::io::stdin().is_terminal() {
        say(
            "This is an MCP server: it waits for JSON-RPC on standard input. A client starts it; see 'answerback wrap --help'.",
        );
    }
    let store = gateway.recorder().map(|recorder| recorder.store().clone());
    let context = runtime.enter();
    let stopped = stop();
    drop(context);
    let ended = runtime.block_on(wrap(Arc::new(gateway), client, wrapped, input, output, stopped));
    // A pending read of standard input and a running check cannot be aborted, so the runtime does not wait for them.
    // Writes of such a check are discarded.
    if is_supervised {
        // Dropping the runtime would kill a server that is still shutting down. The supervisor gives it time.
        std::mem::forget(runtime);
    } else {
        runtime.shutdown_background();
    }
    if let Some(store) = store {
        store.close();
    }
    Ok(match ended? {
        WrapOutcome::Client => Exit::Good,
        WrapOutcome::Server(status) => {
            let status = status.map(|status| format!(": {status}")).unwrap_or_default();
            say(&format!(
                "error: the server exited before its first response{status}; run its command by hand and read its output"
            ));
            Exit::CouldNotCheck
        }
    })
}
