//! Starts the programs that are measured.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::link::{Endpoint, Pipes};
use crate::process::{ProcessGroup, ProcessTree};
use crate::session::Session;

/// The longest time until a program is ready.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The delay between two attempts to open the first session.
const RETRY_DELAY: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    Direct,
    Relay,
    Serve(GatewayMode),
    FastMcp,
    RustProxy,
    DirectStdio,
    Wrap(GatewayMode),
    ServeStdio(GatewayMode),
    Supergateway,
    PythonProxy,
}

/// Selects which functions of Answerback are switched on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum GatewayMode {
    Transparent,
    Checking,
    Recording,
}

impl Target {
    pub(crate) const ALL: [Self; 16] = [
        Self::Direct,
        Self::Relay,
        Self::Serve(GatewayMode::Transparent),
        Self::Serve(GatewayMode::Checking),
        Self::Serve(GatewayMode::Recording),
        Self::FastMcp,
        Self::RustProxy,
        Self::ServeStdio(GatewayMode::Transparent),
        Self::ServeStdio(GatewayMode::Checking),
        Self::ServeStdio(GatewayMode::Recording),
        Self::Supergateway,
        Self::PythonProxy,
        Self::DirectStdio,
        Self::Wrap(GatewayMode::Transparent),
        Self::Wrap(GatewayMode::Checking),
        Self::Wrap(GatewayMode::Recording),
    ];

    pub(crate) fn name(self) -> String {
        let answerback_name = |command: &str, mode: GatewayMode| {
            let mode = match mode {
                GatewayMode::Transparent => "transparent",
                GatewayMode::Checking => "checking",
                GatewayMode::Recording => "checking + ledger",
            };
            format!("answerback {command}, {mode}")
        };
        match self {
            Self::Direct | Self::DirectStdio => "direct (the stub itself)".to_owned(),
            Self::Relay => "bare relay".to_owned(),
            Self::Serve(mode) | Self::ServeStdio(mode) => answerback_name("serve", mode),
            Self::Wrap(mode) => answerback_name("wrap", mode),
            Self::FastMcp => "FastMCP proxy".to_owned(),
            Self::RustProxy => "mcp-proxy (Rust)".to_owned(),
            Self::Supergateway => "supergateway".to_owned(),
            Self::PythonProxy => "mcp-proxy (Python)".to_owned(),
        }
    }

    /// Returns the transports to the client and to the server.
    pub(crate) fn transports(self) -> &'static str {
        match self {
            Self::Direct => "http",
            Self::DirectStdio => "stdio",
            Self::Wrap(_) => "stdio → stdio",
            Self::ServeStdio(_) | Self::Supergateway | Self::PythonProxy => "http → stdio",
            Self::Relay | Self::Serve(_) | Self::FastMcp | Self::RustProxy => "http → http",
        }
    }
}

/// Holds a program that is ready, and the server behind it.
pub(crate) struct RunningTarget {
    pub(crate) endpoint: Endpoint,
    pub(crate) first: Arc<Session>,
    pub(crate) tree: ProcessTree,
    /// The time from the start of the process to the first list of tools.
    pub(crate) ready: Duration,
    // Both end when dropped, the program first.
    _program: ProcessGroup,
    _upstream: Option<ProcessGroup>,
}

/// Holds the paths of programs and files.
pub(crate) struct BenchSetup {
    /// The folder in which the peers are installed.
    pub(crate) peers: PathBuf,
    pub(crate) answerback: PathBuf,
    /// The folder for configurations, tokens and ledgers. Its disk is part of the measurement.
    pub(crate) scratch: PathBuf,
}

impl BenchSetup {
    /// Starts a program, or returns the reason why it cannot be measured.
    pub(crate) async fn start(&self, target: Target) -> anyhow::Result<RunningTarget> {
        let me = std::env::current_exe()?;
        let upstream = if target.transports().ends_with("stdio") || target == Target::Direct {
            None
        } else {
            let port = free_port().await?;
            let mut command = Command::new(&me);
            command.args(["stub-http", &port.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let group = ProcessGroup::spawn(&mut command)?;
            let uri = format!("http://127.0.0.1:{port}/mcp");
            let endpoint = Endpoint::Http { uri: uri.parse()?, token: None };
            open_first_session(&endpoint, None).await?;
            Some((group, uri))
        };
        let (uri, upstream) =
            upstream.map_or((String::new(), None), |(group, uri)| (uri, Some(group)));
        let port = free_port().await?.to_string();
        let mut command = self.command(target, &me, &port, &uri).await?;
        // A listening program gets no pipe, because it may treat the end of its input as a shutdown.
        let is_on_pipes = matches!(target, Target::DirectStdio | Target::Wrap(_));
        let input = if is_on_pipes { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut program = ProcessGroup::spawn(&mut command)?;
        let errors = program.errors().context("no standard error")?;
        let endpoint = match target {
            Target::DirectStdio | Target::Wrap(_) => {
                drain(errors);
                let input = program.input().context("no standard input")?;
                let output = program.output().context("no standard output")?;
                Endpoint::Stdio(Pipes::new(input, output))
            }
            Target::Serve(_) | Target::ServeStdio(_) => {
                let endpoint = tokio::time::timeout(START_TIMEOUT, read_endpoint(errors))
                    .await
                    .context("it did not print its endpoint")??;
                let token = std::fs::read_to_string(self.scratch.join("token"))?;
                Endpoint::Http { uri: endpoint.parse()?, token: Some(token.trim().to_owned()) }
            }
            _ => {
                drain(errors);
                drain(program.output().context("no standard output")?);
                let path = if target == Target::RustProxy { "" } else { "mcp" };
                let uri = format!("http://127.0.0.1:{port}/{path}");
                Endpoint::Http { uri: uri.parse()?, token: None }
            }
        };
        let first = Arc::new(open_first_session(&endpoint, Some(&mut program)).await?);
        let ready = began.elapsed();
        let tree = program.tree()?;
        Ok(RunningTarget { endpoint, first, tree, ready, _program: program, _upstream: upstream })
    }

    async fn command(
        &self,
        target: Target,
        me: &Path,
        port: &str,
        uri: &str,
    ) -> anyhow::Result<Command> {
        let stub = format!("{} stub-stdio", me.display());
        Ok(match target {
            Target::Direct => program(me, &["stub-http", port]),
            Target::DirectStdio => program(me, &["stub-stdio"]),
            Target::Relay => program(me, &["relay", port, uri]),
            Target::Wrap(mode) => {
                let mut command = self.answerback_command("wrap", mode, None)?;
                command.arg("--").arg(me).arg("stub-stdio");
                command
            }
            Target::Serve(mode) | Target::ServeStdio(mode) => {
                self.has_serve().await?;
                let upstream = if uri.is_empty() {
                    format!("{{command: {:?}, args: [stub-stdio]}}", me.display().to_string())
                } else {
                    format!("{{url: {uri:?}}}")
                };
                let mut command = self.answerback_command("serve", mode, Some(&upstream))?;
                command.arg("--token-file").arg(self.scratch.join("token"));
                command
            }
            Target::Supergateway => {
                let mut command = self.peer("node/node_modules/.bin/supergateway")?;
                command.args(["--stdio", &stub, "--port", port, "--logLevel", "none"]);
                // Otherwise supergateway starts a process for every request.
                command.args(["--outputTransport", "streamableHttp", "--stateful"]);
                command
            }
            Target::PythonProxy => {
                let mut command = self.peer("mcp-proxy/bin/mcp-proxy")?;
                command
                    .args(["--port", port, "--log-level", "ERROR", "--"])
                    .arg(me)
                    .arg("stub-stdio");
                command
            }
            Target::FastMcp => {
                let mut command = self.peer("fastmcp/bin/fastmcp")?;
                command.args(["run", uri, "--transport", "http", "--port", port]);
                command.args(["--no-banner", "--log-level", "ERROR"]);
                command
            }
            Target::RustProxy => {
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

    /// Returns one of our commands with its own configuration.
    fn answerback_command(
        &self,
        subcommand: &str,
        mode: GatewayMode,
        upstream: Option<&str>,
    ) -> anyhow::Result<Command> {
        let config = self.scratch.join("config.yml");
        let checks = if mode == GatewayMode::Transparent {
            "  input: \"off\"\n  output: \"off\"\n  envelope: \"off\"\n"
        } else {
            "  input: enforce\n"
        };
        let upstreams = upstream.map_or_else(String::new, |upstream| {
            format!("  listen: 127.0.0.1:0\n  upstreams:\n    stub: {upstream}\n")
        });
        std::fs::write(&config, format!("gateway:\n{checks}{upstreams}"))?;
        let mut command = Command::new(&self.answerback);
        command.arg(subcommand).arg("--config").arg(config);
        if mode == GatewayMode::Recording {
            // Each run has its own ledger, so that it does not pay for the entries of an earlier run.
            let store = self.scratch.join(format!("{}.db", unique_name()));
            command.arg("--store").arg(store);
        } else {
            command.arg("--no-record");
        }
        Ok(command)
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

/// Returns a name that no other file of this run has.
fn unique_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("ledger-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns a port that was free a moment ago.
async fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

/// Opens the first session as soon as the program accepts connections.
async fn open_first_session(
    endpoint: &Endpoint,
    mut program: Option<&mut ProcessGroup>,
) -> anyhow::Result<Session> {
    let began = Instant::now();
    loop {
        let error = match tokio::time::timeout(START_TIMEOUT, Session::open(endpoint)).await {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(error)) => error,
            Err(_) => bail!("it did not answer"),
        };
        if program.as_mut().is_some_and(|it| it.has_ended()) || began.elapsed() > START_TIMEOUT {
            return Err(error.context("it did not become ready"));
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Reads and discards all output, so that no program blocks on a full pipe.
fn drain(output: impl AsyncRead + Send + Unpin + 'static) {
    tokio::spawn(async move {
        let mut output = output;
        let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
    });
}

/// Returns the endpoint that `answerback serve` prints.
async fn read_endpoint(errors: impl AsyncRead + Send + Unpin + 'static) -> anyhow::Result<String> {
    let mut lines = BufReader::new(errors).lines();
    let mut lines_before = Vec::new();
    while let Some(line) = lines.next_line().await? {
        if let Some(endpoint) = line.trim().strip_prefix("endpoint ") {
            let endpoint = endpoint.trim().to_owned();
            drain(lines.into_inner());
            return Ok(endpoint);
        }
        lines_before.push(line);
    }
    bail!("it ended: {}", lines_before.join("; "))
}
