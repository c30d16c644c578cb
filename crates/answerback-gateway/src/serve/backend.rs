use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use answerback_mcp::era::{EraCache, bridged};
use answerback_mcp::link::{Health, Link, Opened, Program, Remote, steady};

use crate::Upstream;
use crate::relay::Served;

/// What a server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A program that speaks on standard input and output.
    Program(Program),
    /// A server behind a URL.
    Remote(Remote),
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
}

impl Backend {
    /// A server under a name.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let shown = match &place {
            Place::Program(program) => program.path().to_string_lossy().into_owned(),
            Place::Remote(remote) => remote.url().to_owned(),
        };
        let served = Served::new(name.into(), shown, None);
        Self { place, served, health: Arc::default(), era: EraCache::default() }
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

    /// The server as anybody saw it last.
    pub(crate) fn known(&self) -> Option<Arc<Upstream>> {
        self.served.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A connection of its own to the server, whichever era it speaks, which is made anew when it breaks.
    pub(crate) fn link(&self, most: usize) -> Link {
        let (place, name) = (self.place.clone(), self.served.name.clone());
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
        };
        steady(&self.served.name, open, Arc::clone(&self.health))
    }
}
