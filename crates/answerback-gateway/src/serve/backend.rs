use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use answerback_http::Scope;
use answerback_mcp::era::{EraCache, bridge_link};
use answerback_mcp::link::{
    Link, Program, Remote, Restart, StartedServer, Timeouts, UpstreamHealth, connect_streams,
    supervise,
};
use tokio::io::DuplexStream;

use crate::relay::ConfiguredServer;
use crate::{GatewaySettings, Pins, Upstream};

/// The size of the pipe to a server in this process, in bytes.
const PIPE_SIZE: usize = 64 << 10;

/// The way in which a server is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BackendTransport {
    /// A program that communicates on standard input and output.
    Program(Program),
    /// A server that is reached over HTTP.
    Remote(Remote),
    /// A server in this process.
    InProcess(InProcessServer),
}

/// Starts a server in this process. It receives one end of a pipe for each client, and the client's principal.
#[derive(Clone)]
pub struct InProcessServer(Arc<StartServer>);

/// Starts a server on a stream, for a principal.
type StartServer = dyn Fn(DuplexStream, &str) + Send + Sync;

impl InProcessServer {
    /// Creates a server from a function that runs it on a stream. The server ends with the stream.
    pub fn new(start: impl Fn(DuplexStream, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    fn connect(&self, name: &str, principal: &str, max_bytes: usize) -> Link {
        let (gateway_end, server_end) = tokio::io::duplex(PIPE_SIZE);
        (self.0)(server_end, principal);
        let (from, to) = tokio::io::split(gateway_end);
        connect_streams(name, max_bytes, from, to)
    }
}

impl std::fmt::Debug for InProcessServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("InProcessServer")
    }
}

/// A configured server behind the gateway.
#[derive(Clone, Debug)]
#[must_use]
pub struct Backend {
    transport: BackendTransport,
    pub(crate) served: ConfiguredServer,
    pub(crate) health: Arc<UpstreamHealth>,
    /// The protocol eras that the server speaks, as far as they are known.
    era: EraCache,
    /// True if a request to the server has timed out and it has not answered since.
    pub(crate) is_slow: Arc<AtomicBool>,
    /// The scope that callers need in addition to that for calls. A server with such a scope is not part of the
    /// combined endpoint.
    pub(crate) separate_scope: Option<Scope>,
}

impl Backend {
    /// Creates a server with a name.
    pub fn new(name: impl Into<String>, transport: BackendTransport) -> Self {
        let address = match &transport {
            BackendTransport::Program(program) => program.path().to_string_lossy().into_owned(),
            BackendTransport::Remote(remote) => remote.url().to_owned(),
            BackendTransport::InProcess(_) => "in this process".to_owned(),
        };
        let mut served = ConfiguredServer::new(name.into(), address, None);
        served.is_remote = matches!(transport, BackendTransport::Remote(_));
        let (health, era) = (Arc::default(), EraCache::default());
        Self { transport, served, health, era, is_slow: Arc::default(), separate_scope: None }
    }

    /// Serves this server only at its own endpoint, to callers with this scope. The combined endpoint does not
    /// list its tools.
    pub const fn with_separate_endpoint(mut self, scope: Scope) -> Self {
        self.separate_scope = Some(scope);
        self
    }

    /// Sets the file with the pinned tool definitions.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.served.pins = Some(file.into());
        self
    }

    /// The server's name in the configuration.
    pub fn name(&self) -> &str {
        &self.served.name
    }

    /// The server's health.
    pub fn health(&self) -> &UpstreamHealth {
        &self.health
    }

    /// True if the server is up as far as is known. A server that was never used counts as up, unless its
    /// program is missing.
    pub(crate) fn is_up(&self) -> bool {
        self.health.is_up() && !self.is_missing()
    }

    /// True if the server was never started and its program is missing.
    pub(crate) fn is_missing(&self) -> bool {
        self.health.starts() == 0 && self.missing_program().is_some()
    }

    /// The program that cannot be found, if the server is a program.
    pub fn missing_program(&self) -> Option<&OsStr> {
        match &self.transport {
            BackendTransport::Program(program) if !program.exists() => Some(program.path()),
            _ => None,
        }
    }

    /// The server's last known state.
    pub(crate) fn upstream(&self) -> Option<Arc<Upstream>> {
        self.served.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of the pinned tools.
    pub(crate) fn pinned_tools(&self) -> Vec<String> {
        let pins = self.served.pins.as_ref().and_then(|file| Pins::read(file).ok());
        pins.map(|pins| pins.names().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Opens a connection to the server for a principal. It translates between protocol eras and is restored when
    /// it breaks.
    pub(crate) fn connect(&self, principal: &str, settings: &GatewaySettings) -> Link {
        let (mut transport, name) = (self.transport.clone(), self.served.name.clone());
        let max_bytes = settings.largest_message;
        if let (BackendTransport::Remote(remote), Some(idle)) = (&mut transport, settings.idle_time)
        {
            // The request's own timeout must apply, so the connection must not time out earlier.
            let defaults = Timeouts::default();
            let timeouts = Timeouts { idle: defaults.idle.max(idle), ..defaults };
            *remote = remote.clone().with_timeouts(timeouts);
        }
        let principal = principal.to_owned();
        let era = self.era.clone();
        let open = move || match &transport {
            BackendTransport::Program(program) => {
                let (child, link) = program.start(&name, max_bytes).map_err(|error| {
                    let program = program.path().to_string_lossy();
                    std::io::Error::new(error.kind(), format!("{program}: {error}"))
                })?;
                Ok(StartedServer { link: bridge_link(link, era.clone()), child: Some(child) })
            }
            BackendTransport::Remote(remote) => {
                let link = bridge_link(remote.connect(&name, max_bytes), era.clone());
                Ok(StartedServer { link, child: None })
            }
            BackendTransport::InProcess(server) => {
                let link = bridge_link(server.connect(&name, &principal, max_bytes), era.clone());
                Ok(StartedServer { link, child: None })
            }
        };
        supervise(&self.served.name, open, Arc::clone(&self.health), Restart::Always)
    }
}
