use std::sync::Arc;

use serde_json::{Value, json};

use super::Backend;
use crate::Gateway;
use crate::tool_naming::ToolNameStore;

/// The configuration for new clients. A reload replaces it as a whole.
#[derive(Debug)]
pub(crate) struct ServiceConfig {
    pub(crate) gateway: Arc<Gateway>,
    /// The servers that `/mcp` combines.
    pub(crate) backends: Vec<Backend>,
    /// The servers that have their own endpoint and are not part of `/mcp`.
    separate_backends: Vec<Backend>,
    /// The names of tools in the combined list.
    pub(crate) names: ToolNameStore,
}

impl ServiceConfig {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        backends: impl IntoIterator<Item = Backend>,
        before: Option<&ToolNameStore>,
    ) -> Self {
        let (separate_backends, mut backends): (Vec<Backend>, Vec<Backend>) =
            backends.into_iter().partition(|backend| backend.separate_scope.is_some());
        let pins = backends.iter().find_map(|backend| backend.served.pins.as_deref());
        let names = ToolNameStore::new(pins, before);
        // The tools of a single server keep their names. These are stored, so that they stay valid when another
        // server is added.
        if let [only] = backends.as_mut_slice() {
            only.served.names = Some(names.clone());
        }
        Self { gateway, backends, separate_backends, names }
    }

    /// Iterates over all servers.
    pub(super) fn all(&self) -> impl Iterator<Item = &Backend> {
        self.backends.iter().chain(&self.separate_backends)
    }

    /// Describes the configuration for the ledger.
    pub(super) fn description(&self) -> Value {
        let address = |backend: &Backend| {
            (backend.name().to_owned(), Value::from(backend.served.place.clone()))
        };
        let upstreams: serde_json::Map<_, _> = self.backends.iter().map(address).collect();
        json!({"surface": "serve", "upstreams": upstreams})
    }
}
