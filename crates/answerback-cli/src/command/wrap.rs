//! `answerback wrap`: a drop-in in front of a stdio MCP server.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use answerback_gateway::Client;
use answerback_gateway::wrap::{Ended, Wrapped, wrap};
use answerback_mcp::link::Program;
use anyhow::Context;

use crate::exit::Exit;
use crate::gateway::GatewayOptions;
use crate::operating::{log, stop};
use crate::output::say;

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

Several may share one record; without a configuration it is ledger.db in the user's state directory.
$ANSWERBACK_LOG (error, warn, info, debug) says how much is told on standard error.")]
pub(crate) struct Arguments {
    /// What the server is called in records; otherwise the name of its program
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    gateway: GatewayOptions,

    /// The server's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    log()?;
    let [program, rest @ ..] = arguments.command.as_slice() else {
        anyhow::bail!("no server is named; write its command after --");
    };
    let name = arguments.name.clone().unwrap_or_else(|| name_of(program));
    let program = Program::new(program, rest.to_vec());
    // A typing error must not leave a ledger and a key behind.
    if !program.is_there() {
        let program = program.path().to_string_lossy();
        anyhow::bail!(
            "cannot start {program}: there is no such program that can be run; install it, or write where it lies"
        );
    }
    let gateway = arguments.gateway.gateway(false)?;
    let configuration = arguments.gateway.location.configuration()?;
    let (service, _) = configuration.service()?;
    let program = program.without_variables(configuration.secret_variables(&service));
    let program = program.with_warden(super::warden::warden());
    let mut wrapped = Wrapped::new(&name, program);
    if let Some(pins) = arguments.gateway.pins(&name)? {
        wrapped = wrapped.with_pins(pins);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One client, and most of the time nothing to do: a second thread would only be woken to find that out.
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the gateway")?;
    let client = Client::new(PRINCIPAL).context("no randomness for the connection's name")?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    if std::io::stdin().is_terminal() {
        say(
            "This is an MCP server: it waits for JSON-RPC on standard input. A client starts it; see 'answerback wrap --help'.",
        );
    }
    let store = gateway.recorder().map(|recorder| recorder.store().clone());
    let ended = runtime.block_on(wrap(Arc::new(gateway), client, wrapped, input, output, stop()));
    // Neither a read of standard input that is under way nor a call that is being judged can be ended, and they must not
    // hold us up. What such a call would write is not written any more.
    runtime.shutdown_background();
    if let Some(store) = store {
        store.close();
    }
    Ok(match ended? {
        Ended::Client => Exit::Good,
        Ended::Server(status) => {
            let status = status.map(|status| format!(": {status}")).unwrap_or_default();
            say(&format!(
                "error: the server ended before it answered anything{status}; run its command by hand and see what it says"
            ));
            Exit::CouldNotJudge
        }
    })
}

/// The name of a program, without its folder.
fn name_of(program: &OsStr) -> String {
    let name = Path::new(program).file_stem().unwrap_or(program);
    name.to_string_lossy().into_owned()
}
