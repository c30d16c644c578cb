use std::sync::Arc;

use answerback_store::StoreHealth;

use super::{Backend, GatewayService};
use crate::Upstream;

/// The state of a server behind the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackendState {
    /// The server's name in the configuration.
    pub name: String,
    /// The server's program or URL.
    pub address: String,
    /// True if the server is up.
    pub is_up: bool,
    /// The server's last known state, or `None` if it was never used.
    pub upstream: Option<Arc<Upstream>>,
}

impl GatewayService {
    /// The current state of all servers.
    pub fn backend_states(&self) -> Vec<BackendState> {
        let state = |backend: &Backend| BackendState {
            name: backend.name().to_owned(),
            address: backend.served.place.clone(),
            is_up: backend.is_up(),
            upstream: backend.upstream(),
        };
        self.config().all().map(state).collect()
    }

    /// Checks that every server is running or can be started.
    ///
    /// # Errors
    ///
    /// Returns the names of the other servers with the reasons.
    pub fn is_up(&self) -> Result<(), String> {
        let config = self.config();
        let (missing, down): (Vec<&Backend>, Vec<&Backend>) = config
            .backends
            .iter()
            .filter(|backend| !backend.is_up())
            .partition(|backend| backend.is_missing());
        let reasons = [
            (missing, "cannot be started: there is no program; the log of the start says which"),
            (down, "ended, and will be started again"),
        ];
        let reasons = reasons.into_iter().filter(|(backends, _)| !backends.is_empty());
        let reasons = reasons.map(|(backends, reason)| {
            let names: Vec<&str> = backends.into_iter().map(Backend::name).collect();
            format!("{} {reason}", names.join(", "))
        });
        let reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() { Ok(()) } else { Err(reasons.join("; ")) }
    }

    /// Checks that calls can be recorded.
    ///
    /// # Errors
    ///
    /// Returns the reason if the store accepts no entries.
    pub fn is_recording(&self) -> Result<(), String> {
        match self.config().gateway.recorder() {
            Some(recorder) => {
                let store = recorder.store();
                store.head().map_err(|error| {
                    tracing::warn!(cause = %error, "the store cannot be read");
                    error.public_message().into_owned()
                })?;
                match store.stats().health {
                    // Every client can read this text, so it leaves the cause to the log.
                    StoreHealth::Poisoned { .. } => {
                        Err("the store cannot be written; the log says why".to_owned())
                    }
                    health => health.check(),
                }
            }
            None => Ok(()),
        }
    }
}
