use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use answerback_http::Scope;
use answerback_mcp::era::{EraCache, bridged};
use answerback_mcp::link::{
    Health, Link, Opened, Program, Remote, Restart, Timeouts, over, steady,
};
use tokio::io::DuplexStream;

use crate::relay::ConfiguredServer;
use crate::{GatewaySettings, Pins, Upstream};

/// The size of the pipe to a server in this process, in bytes.
const PIPE: usize = 64 << 10;

/// Selects how a server is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A program that communicates on standard input and output.
    Program(Program),
    /// A server that is reached over HTTP.
    Remote(Remote),
    /// A server in this process.
    Within(Within),
}

/// Starts a server in this process. It receives one end of a pipe for each client, and the client's principal.
#[derive(Clone)]
pub struct Within(Arc<Start>);

/// Starts a server on a stream, for a principal.
type Start = dyn Fn(DuplexStream, &str) + Send + Sync;

impl Within {
    /// Creates a server from a function that runs it on a stream. The server ends with the stream.
    pub fn new(start: impl Fn(DuplexStream, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    fn connect(&self, name: &str, principal: &str, most: usize) -> Link {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        (self.0)(theirs, principal);
        let (from, to) = tokio::io::split(ours);
        over(name, most, from, to)
    }
}

impl std::fmt::Debug for Within {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Within")
    }
}

/// Describes a configured server behind the gateway.
#[derive(Clone, Debug)]
#[must_use]
pub struct Backend {
    place: Place,
    pub(crate) served: ConfiguredServer,
    pub(crate) health: Arc<Health>,
    /// The protocol eras that the server speaks, as far as they are known.
    era: EraCache,
    /// True if a request to the server has timed out and it has not answered since.
    pub(crate) is_late: Arc<AtomicBool>,
    /// The scope that callers need in addition to that for calls. A server with such a scope is not part of the
    /// combined endpoint.
    pub(crate) apart: Option<Scope>,
}

impl Backend {
    /// Creates a server with a name.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let shown = match &place {
            Place::Program(program) => program.path().to_string_lossy().into_owned(),
            Place::Remote(remote) => remote.url().to_owned(),
            Place::Within(_) => "in this process".to_owned(),
        };
        let mut served = ConfiguredServer::new(name.into(), shown, None);
        served.is_remote = matches!(place, Place::Remote(_));
        let (health, era) = (Arc::default(), EraCache::default());
        Self { place, served, health, era, is_late: Arc::default(), apart: None }
    }

    /// Serves this server only at its own endpoint, to callers with this scope. The combined endpoint does not
    /// list its tools.
    pub const fn apart(mut self, scope: Scope) -> Self {
        self.apart = Some(scope);
        self
    }

    /// Sets the file with the pinned tool definitions.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.served.pins = Some(file.into());
        self
    }

    /// Returns the server's name in the configuration.
    pub fn name(&self) -> &str {
        &self.served.name
    }

    /// Returns the server's health.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Returns true if the server is up as far as is known. A server that was never used counts as up, unless its
    /// program is missing.
    pub(crate) fn is_up(&self) -> bool {
        self.health.is_up() && !self.is_missing()
    }

    /// Returns true if the server was never started and its program is missing.
    pub(crate) fn is_missing(&self) -> bool {
        self.health.starts() == 0 && self.missing().is_some()
    }

    /// Returns the program that cannot be found, if the server is a program.
    pub fn missing(&self) -> Option<&OsStr> {
        match &self.place {
            Place::Program(program) if !program.is_there() => Some(program.path()),
            _ => None,
        }
    }

    /// Returns the server's last known state.
    pub(crate) fn known(&self) -> Option<Arc<Upstream>> {
        self.served.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the names of the pinned tools.
    pub(crate) fn pinned(&self) -> Vec<String> {
        let pins = self.served.pins.as_ref().and_then(|file| Pins::read(file).ok());
        pins.map(|pins| pins.names().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Opens a connection to the server for a principal. It translates between protocol eras and is restored when
    /// it breaks.
    pub(crate) fn link(&self, principal: &str, settings: &GatewaySettings) -> Link {
        let (mut place, name) = (self.place.clone(), self.served.name.clone());
        let most = settings.largest_message;
        if let (Place::Remote(remote), Some(idle)) = (&mut place, settings.idle_time) {
            // The request's own timeout must apply, so the connection must not time out earlier.
            let usual = Timeouts::default();
            let timeouts = Timeouts { idle: usual.idle.max(idle), ..usual };
            *remote = remote.clone().with_timeouts(timeouts);
        }
        let principal = principal.to_owned();
        let era = self.era.clone();
        let open = move || match &place {
            Place::Program(program) => {
                let (child, link) = program.start(&name, most).map_err(|error| {
                    let program = program.path().to_string_lossy();
                    std::io::Error::new(error.kind(), format!("{program}: {error}"))
                })?;
                Ok(Opened { link: bridged(link, era.clone()), child: Some(child) })
            }
            Place::Remote(remote) => {
                let link = bridged(remote.connect(&name, most), era.clone());
                Ok(Opened { link, child: None })
            }
            Place::Within(within) => {
                let link = bridged(within.connect(&name, &principal, most), era.clone());
                Ok(Opened { link, child: None })
            }
        };
        steady(&self.served.name, open, Arc::clone(&self.health), Restart::Always)
    }
}
