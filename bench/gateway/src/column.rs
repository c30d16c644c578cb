//! The programs that are measured, and how each is started.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::link::{Door, Pipes};
use crate::process::{Group, Tree};
use crate::session::Session;

/// How long a program may take to be ready.
const START: Duration = Duration::from_mins(1);
/// How long its first answer is waited for before it is asked again.
const PATIENCE: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Column {
    Direct,
    Relay,
    Serve(Ours),
    FastMcp,
    RustProxy,
    DirectStdio,
    Wrap(Ours),
    ServeStdio(Ours),
    Supergateway,
    PythonProxy,
}

/// What of ours is switched on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ours {
    Transparent,
    Checking,
    Recording,
}

impl Column {
    pub(crate) const ALL: [Self; 16] = [
        Self::Direct,
        Self::Relay,
        Self::Serve(Ours::Transparent),
        Self::Serve(Ours::Checking),
        Self::Serve(Ours::Recording),
        Self::FastMcp,
        Self::RustProxy,
        Self::ServeStdio(Ours::Transparent),
        Self::ServeStdio(Ours::Checking),
        Self::ServeStdio(Ours::Recording),
        Self::Supergateway,
        Self::PythonProxy,
        Self::DirectStdio,
        Self::Wrap(Ours::Transparent),
        Self::Wrap(Ours::Checking),
        Self::Wrap(Ours::Recording),
    ];

    pub(crate) fn name(self) -> String {
        let ours = |command: &str, ours: Ours| {
            let what = match ours {
                Ours::Transparent => "transparent",
                Ours::Checking => "checking",
                Ours::Recording => "checking + ledger",
            };
            format!("answerback {command}, {what}")
        };
        match self {
            Self::Direct | Self::DirectStdio => "direct (the stub itself)".to_owned(),
            Self::Relay => "bare relay".to_owned(),
            Self::Serve(it) | Self::ServeStdio(it) => ours("serve", it),
            Self::Wrap(it) => ours("wrap", it),
            Self::FastMcp => "FastMCP proxy".to_owned(),
            Self::RustProxy => "mcp-proxy (Rust)".to_owned(),
            Self::Supergateway => "supergateway".to_owned(),
            Self::PythonProxy => "mcp-proxy (Python)".to_owned(),
        }
    }

    /// What it speaks to the client, and to the server behind.
    pub(crate) fn faces(self) -> &'static str {
        match self {
            Self::Direct => "http",
            Self::DirectStdio => "stdio",
            Self::Wrap(_) => "stdio → stdio",
            Self::ServeStdio(_) | Self::Supergateway | Self::PythonProxy => "http → stdio",
            Self::Relay | Self::Serve(_) | Self::FastMcp | Self::RustProxy => "http → http",
        }
    }
}

/// A program that is ready, with the server behind it.
pub(crate) struct Standing {
    pub(crate) door: Door,
    pub(crate) first: Arc<Session>,
    pub(crate) tree: Tree,
    /// From the start of its process to the first list of tools.
    pub(crate) ready: Duration,
    // Ended when dropped, the program before the server behind it.
    _program: Group,
    _upstream: Option<Group>,
}

/// Where programs and files are found.
pub(crate) struct Ground {
    /// The folder that peers are installed in.
    pub(crate) peers: PathBuf,
    pub(crate) answerback: PathBuf,
    /// For configurations, tokens and ledgers; on the disk that is meant.
    pub(crate) scratch: PathBuf,
}

impl Ground {
    /// Starts a program, or says why it cannot be had.
    pub(crate) async fn start(&self, column: Column) -> anyhow::Result<Standing> {
        let me = std::env::current_exe()?;
        let upstream = if column.faces().ends_with("stdio") || column == Column::Direct {
            None
        } else {
            let port = free_port().await?;
            let mut command = Command::new(&me);
            command.args(["stub-http", &port.to_string()]).stdin(Stdio::null());
            let group = Group::spawn(&mut command)?;
            let uri = format!("http://127.0.0.1:{port}/mcp");
            let door = Door::Http { uri: uri.parse()?, token: None };
            reached(&door, None).await?;
            Some((group, uri))
        };
        let (uri, upstream) =
            upstream.map_or((String::new(), None), |(group, uri)| (uri, Some(group)));
        let port = free_port().await?.to_string();
        let mut command = self.command(column, &me, &port, &uri).await?;
        // A program that listens would take the end of its input for the end of its parent.
        let is_on_pipes = matches!(column, Column::DirectStdio | Column::Wrap(_));
        let input = if is_on_pipes { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut program = Group::spawn(&mut command)?;
        let errors = program.errors().context("no standard error")?;
        let door = match column {
            Column::DirectStdio | Column::Wrap(_) => {
                drain(errors);
                let input = program.input().context("no standard input")?;
                let output = program.output().context("no standard output")?;
                Door::Stdio(Pipes::new(input, output))
            }
            Column::Serve(_) | Column::ServeStdio(_) => {
                let endpoint = tokio::time::timeout(START, endpoint(errors))
                    .await
                    .context("it did not say its endpoint")??;
                let token = std::fs::read_to_string(self.scratch.join("token"))?;
                Door::Http { uri: endpoint.parse()?, token: Some(token.trim().to_owned()) }
            }
            _ => {
                drain(errors);
                drain(program.output().context("no standard output")?);
                let path = if column == Column::RustProxy { "" } else { "mcp" };
                let uri = format!("http://127.0.0.1:{port}/{path}");
                Door::Http { uri: uri.parse()?, token: None }
            }
        };
        let first = Arc::new(reached(&door, Some(&mut program)).await?);
        let ready = began.elapsed();
        let tree = program.tree()?;
        Ok(Standing { door, first, tree, ready, _program: program, _upstream: upstream })
    }

    async fn command(
        &self,
        column: Column,
        me: &Path,
        port: &str,
        uri: &str,
    ) -> anyhow::Result<Command> {
        let stub = format!("{} stub-stdio", me.display());
        Ok(match column {
            Column::Direct => program(me, &["stub-http", port]),
            Column::DirectStdio => program(me, &["stub-stdio"]),
            Column::Relay => program(me, &["relay", port, uri]),
            Column::Wrap(ours) => {
                let mut command = self.ours("wrap", ours, None)?;
                command.arg("--").arg(me).arg("stub-stdio");
                command
            }
            Column::Serve(ours) | Column::ServeStdio(ours) => {
                self.has_serve().await?;
                let upstream = if uri.is_empty() {
                    format!("{{command: {:?}, args: [stub-stdio]}}", me.display().to_string())
                } else {
                    format!("{{url: {uri:?}}}")
                };
                let mut command = self.ours("serve", ours, Some(&upstream))?;
                command.arg("--token-file").arg(self.scratch.join("token"));
                command
            }
            Column::Supergateway => {
                let mut command = self.peer("node/node_modules/.bin/supergateway")?;
                command.args(["--stdio", &stub, "--port", port, "--logLevel", "none"]);
                // Without it there is a process a request.
                command.args(["--outputTransport", "streamableHttp", "--stateful"]);
                command
            }
            Column::PythonProxy => {
                let mut command = self.peer("mcp-proxy/bin/mcp-proxy")?;
                command
                    .args(["--port", port, "--log-level", "ERROR", "--"])
                    .arg(me)
                    .arg("stub-stdio");
                command
            }
            Column::FastMcp => {
                let mut command = self.peer("fastmcp/bin/fastmcp")?;
                command.args(["run", uri, "--transport", "http", "--port", port]);
                command.args(["--no-banner", "--log-level", "ERROR"]);
                command
            }
            Column::RustProxy => {
                let file = self.scratch.join("mcp-proxy.toml");
                let text = format!(
                    "[proxy]\nname = \"bench\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
                     [[backends]]\nname = \"stub\"\ntransport = \"http\"\nurl = {uri:?}\n"
                );
                std::fs::write(&file, text)?;
                let mut command = self.peer("rust/bin/mcp-proxy")?;
                command.arg("--config").arg(file);
                command
            }
        })
    }

    fn peer(&self, place: &str) -> anyhow::Result<Command> {
        let file = std::path::absolute(self.peers.join(place))?;
        ensure!(file.exists(), "not installed");
        Ok(Command::new(file))
    }

    /// One of our commands, with a configuration of its own.
    fn ours(&self, command: &str, ours: Ours, upstream: Option<&str>) -> anyhow::Result<Command> {
        let config = self.scratch.join("config.yml");
        let checks = if ours == Ours::Transparent {
            "  input: \"off\"\n  output: \"off\"\n  envelope: \"off\"\n"
        } else {
            "  input: enforce\n"
        };
        let upstreams = upstream.map_or_else(String::new, |upstream| {
            format!("  listen: 127.0.0.1:0\n  upstreams:\n    stub: {upstream}\n")
        });
        std::fs::write(&config, format!("gateway:\n{checks}{upstreams}"))?;
        let mut made = Command::new(&self.answerback);
        made.arg(command).arg("--config").arg(config);
        if ours == Ours::Recording {
            // A ledger a run: what an earlier one wrote is not this one's cost.
            let store = self.scratch.join(format!("{}.db", nonce()));
            made.arg("--store").arg(store);
        } else {
            made.arg("--no-record");
        }
        Ok(made)
    }

    async fn has_serve(&self) -> anyhow::Result<()> {
        let help = Command::new(&self.answerback).args(["serve", "--help"]).output().await?;
        ensure!(help.status.success(), "this answerback has no `serve`");
        Ok(())
    }
}

fn program(file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments);
    command
}

/// A name that no other file of this run has.
fn nonce() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("ledger-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A port that was free a moment ago.
async fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

/// Opens the first session, as soon as there is somebody to open it with.
async fn reached(door: &Door, mut program: Option<&mut Group>) -> anyhow::Result<Session> {
    let began = Instant::now();
    loop {
        let error = match tokio::time::timeout(START, Session::open(door)).await {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(error)) => error,
            Err(_) => bail!("it did not answer"),
        };
        if program.as_mut().is_some_and(|it| it.has_ended()) || began.elapsed() > START {
            return Err(error.context("it did not become ready"));
        }
        tokio::time::sleep(PATIENCE).await;
    }
}

/// Reads and forgets, so that no program waits for somebody to read what it says.
fn drain(output: impl AsyncRead + Send + Unpin + 'static) {
    tokio::spawn(async move {
        let mut output = output;
        let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
    });
}

/// The address that `answerback serve` says it listens at.
async fn endpoint(errors: impl AsyncRead + Send + Unpin + 'static) -> anyhow::Result<String> {
    let mut lines = BufReader::new(errors).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await? {
        if let Some(endpoint) = line.trim().strip_prefix("endpoint ") {
            let endpoint = endpoint.trim().to_owned();
            drain(lines.into_inner());
            return Ok(endpoint);
        }
        said.push(line);
    }
    bail!("it ended: {}", said.join("; "))
}
