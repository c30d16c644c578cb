use std::env;
use std::path::PathBuf;
use std::time::Instant;

use answerback::contract::tool::McpHost;
use answerback_tools::{Root, Surroundings, Tools, serve_stdio};
use anyhow::{Context, bail};

use crate::exit::Exit;
use crate::output::say;
use answerback_store::system::now;

/// Serve our own MCP tools on standard input and output
///
/// Three validators that answer in ATDF, and five tools for a solution with a .bot folder that answer in tool envelopes. An
/// MCP client starts this command and speaks to it; it ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback tools
  answerback tools --root ~/work/harbour

In a client's configuration:
  {\"mcpServers\": {\"answerback\": {
    \"command\": \"answerback\",
    \"args\": [\"tools\", \"--root\", \"/path/to/solution\"]}}}

Tools:
  validate_date_range, validate_email, validate_password_strength
  solution_info, solution_structure, solution_standards_list
  solution_project_register, solution_health_check

Only solution_project_register writes, and only .bot/solution/projects.json.
Links that lead out of the folder are not followed; files over 1 MiB are not read.")]
pub(crate) struct Arguments {
    /// The folder that holds .bot; otherwise this folder or the nearest above it that does
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let root = match &arguments.root {
        Some(folder) if !folder.is_dir() => bail!("{} is not a folder", folder.display()),
        // The working directory may change later, so the path is resolved now.
        Some(folder) => Root::At(folder.canonicalize().context("cannot open the folder")?),
        None => Root::Above(env::current_dir().context("cannot tell the working directory")?),
    };
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        say(
            "This is an MCP server: it waits for JSON-RPC on standard input. See 'answerback tools --help'.",
        );
    }
    let epoch = Instant::now();
    let surroundings = Surroundings::new(now, move || epoch.elapsed())
        .with_host(McpHost::detect(|name| env::var_os(name).is_some()));
    serve_stdio(Tools::new(root, surroundings))?;
    Ok(Exit::Good)
}
