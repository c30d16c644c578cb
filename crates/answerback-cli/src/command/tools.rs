use std::env;
use std::path::PathBuf;
use std::time::Instant;

use crate::tools::{SolutionRoot, ToolEnvironment, Toolset, serve_stdio};
use answerback::contract::tool::McpHost;
use anyhow::{Context, bail};

use crate::exit::Exit;
use crate::output::say;
use answerback_store::system::now;

/// Serve the built-in MCP tools on standard input and output
///
/// Three validators reply in ATDF, and five tools for a solution with a .bot folder reply in tool envelopes. An MCP client
/// starts this command and sends requests to it; the command ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback tools
  answerback tools --root ~/work/harbour

In a client's configuration:
  {\"mcpServers\": {\"answerback\": {
    \"command\": \"answerback\",
    \"args\": [\"tools\", \"--root\", \"/path/to/solution\"]}}}

Toolset:
  validate_date_range, validate_email, validate_password_strength
  solution_info, solution_structure, solution_standards_list
  solution_project_register, solution_health_check

Only solution_project_register writes, and only .bot/solution/projects.json.
Links that lead out of the folder are not followed; files over 1 MiB are not read.")]
pub(crate) struct Arguments {
    /// The folder that contains .bot [default: this folder, or the nearest parent with one]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let root = match &arguments.root {
        Some(folder) if !folder.is_dir() => {
            bail!("{} is not a folder; name the one that contains .bot", folder.display())
        }
        // The working directory may change later, so the path is resolved now.
        Some(folder) => SolutionRoot::At(folder.canonicalize().context("cannot open the folder")?),
        None => SolutionRoot::Above(
            env::current_dir()
                .context("cannot find the working directory; name the folder with --root DIR")?,
        ),
    };
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        say(
            "This is an MCP server: it waits for JSON-RPC on standard input. See 'answerback tools --help'.",
        );
    }
    let epoch = Instant::now();
    let environment = ToolEnvironment::new(now, move || epoch.elapsed())
        .with_host(McpHost::detect(|name| env::var_os(name).is_some()));
    serve_stdio(Toolset::new(root, environment))?;
    Ok(Exit::Good)
}
