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

use crate::relay::Served;
use crate::{GatewaySettings, Pins, Upstream};

/// How many bytes wait in the pipe to a server in this process.
const PIPE: usize = 64 << 10;

/// What a server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A program that speaks on standard input and output.
    Program(Program),
    /// A server behind a URL.
    Remote(Remote),
    /// A server in this process.
    Within(Within),
}

/// A server in this process: it is given one end of a pipe for each client, and on whose behalf that one calls.
#[derive(Clone)]
pub struct Within(Arc<Start>);

/// Starts a server on a stream, for a principal.
type Start = dyn Fn(DuplexStream, &str) + Send + Sync;

impl Within {
    /// A server that is started on a stream, and ends when the stream does.
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

/// A server behind the gateway, as it is configured.
#[derive(Clone, Debug)]
#[must_use]
pub struct Backend {
    place: Place,
    pub(crate) served: Served,
    pub(crate) health: Arc<Health>,
    /// What it speaks, once somebody found out.
    era: EraCache,
    /// Whether it was waited for in vain, and has not answered anybody since.
    pub(crate) is_late: Arc<AtomicBool>,
    /// The scope that its callers need beside that of calling, where it has no part in what all servers are together.
    pub(crate) apart: Option<Scope>,
}

impl Backend {
    /// A server under a name.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let shown = match &place {
            Place::Program(program) => program.path().to_string_lossy().into_owned(),
            Place::Remote(remote) => remote.url().to_owned(),
            Place::Within(_) => "in this process".to_owned(),
        };
        let mut served = Served::new(name.into(), shown, None);
        served.is_remote = matches!(place, Place::Remote(_));
        let (health, era) = (Arc::default(), EraCache::default());
        Self { place, served, health, era, is_late: Arc::default(), apart: None }
    }

    /// Served at its own endpoint alone, and to callers with this scope: who asks for the others' tools does not get
    /// these.
    pub const fn apart(mut self, scope: Scope) -> Self {
        self.apart = Some(scope);
        self
    }

    /// The file that keeps the tools' definitions as they were first seen.
    pub fn with_pins(mut self, file: impl Into<PathBuf>) -> Self {
        self.served.pins = Some(file.into());
        self
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.served.name
    }

    /// How it does.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Whether it is there, as far as anybody knows. One that nobody wanted yet is, unless there is no program to start.
    pub(crate) fn is_up(&self) -> bool {
        self.health.is_up() && !self.is_missing()
    }

    /// Whether it never was started, and could not be: there is no program.
    pub(crate) fn is_missing(&self) -> bool {
        self.health.starts() == 0 && self.missing().is_some()
    }

    /// The program that cannot be found, where it is one.
    pub fn missing(&self) -> Option<&OsStr> {
        match &self.place {
            Place::Program(program) if !program.is_there() => Some(program.path()),
            _ => None,
        }
    }

    /// The server as anybody saw it last.
    pub(crate) fn known(&self) -> Option<Arc<Upstream>> {
        self.served.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names of its tools as they were first seen.
    pub(crate) fn pinned(&self) -> Vec<String> {
        let pins = self.served.pins.as_ref().and_then(|file| Pins::read(file).ok());
        pins.map(|pins| pins.names().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// A connection of its own to the server on behalf of a principal, whichever era it speaks, which is made anew when
    /// it breaks.
    pub(crate) fn link(&self, principal: &str, settings: &GatewaySettings) -> Link {
        let (mut place, name) = (self.place.clone(), self.served.name.clone());
        let most = settings.largest_message;
        if let (Place::Remote(remote), Some(idle)) = (&mut place, settings.idle_time) {
            // Who waits for an answer decides how long; the connection must not give up before.
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
