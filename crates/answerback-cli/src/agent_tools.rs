//! Offers the console's tools for agents as a server of the gateway.

use std::sync::{Arc, OnceLock};

use answerback_gateway::ServerSettings;
use answerback_gateway::serve::{Backend, BackendTransport, InProcessServer};
use answerback_http::Scope;
use answerback_web::{Console, agent_tools};

use crate::output::say;

/// The name of our own tool server in the gateway.
const SERVER_NAME: &str = "answerback";

/// Offers the console's tools as a server of the gateway. The gateway is created before the console, so the console is
/// set later.
#[derive(Clone, Default)]
pub(crate) struct AgentTools(Arc<OnceLock<Arc<Console>>>);

impl AgentTools {
    /// Sets the console, so that calls from now on reach it.
    pub(crate) fn set_console(&self, console: &Arc<Console>) {
        // A process has only one console, so it cannot be set already.
        let _ = self.0.set(Arc::clone(console));
    }

    /// Returns the backend for these tools. Returns `None` with a warning if a configured server has the same name.
    pub(crate) fn backend_unless_name_clash(&self, servers: &[ServerSettings]) -> Option<Backend> {
        if servers.iter().any(|server| server.name == SERVER_NAME) {
            say(&format!(
                "warning: gateway.upstreams has a server {SERVER_NAME}, so the tools for agents are not available at /mcp/{SERVER_NAME}; rename that server"
            ));
            return None;
        }
        Some(self.backend())
    }

    fn backend(&self) -> Backend {
        let tools = self.clone();
        let server = InProcessServer::new(move |stream, principal| {
            if let Some(console) = tools.0.get() {
                let console = Arc::clone(console);
                tokio::spawn(agent_tools::serve(console, principal.to_owned(), stream));
            }
        });
        Backend::new(SERVER_NAME, BackendTransport::InProcess(server))
            .with_separate_endpoint(Scope::Ingest)
    }
}
