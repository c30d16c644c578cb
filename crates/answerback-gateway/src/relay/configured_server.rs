use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::list_page::list_page;
use crate::tool_naming::ToolNameStore;
use crate::{Toolbox, Upstream};

/// The time for which the tools of a server that is gone are still listed.
const GRACE: Duration = Duration::from_mins(5);

/// Describes the configured server.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredServer {
    /// The server's name in the configuration.
    pub(crate) name: String,
    /// The server's program or URL.
    pub(crate) place: String,
    /// The file with the pinned definitions of the server's tools.
    pub(crate) pins: Option<PathBuf>,
    /// The server's last known state, shared by all relays. Unchanged tools are compiled and recorded only once.
    pub(crate) known: Arc<RwLock<Option<Arc<Upstream>>>>,
    /// The tools that the server last listed to any client.
    pub(crate) last_tools: Arc<RwLock<Option<ToolSnapshot>>>,
    /// The store for tool names, if this is the only server, so that its tools keep their own names.
    pub(crate) names: Option<ToolNameStore>,
    /// True if the server is one of several behind one endpoint. The hub then stores the listed tools.
    pub(crate) is_one_of_many: bool,
    /// True if all clients share one remote server. Otherwise each client has its own server process.
    pub(crate) is_remote: bool,
}

/// Holds the tools that a server listed, as JSON text, with the time.
#[derive(Clone, Debug)]
pub(crate) struct ToolSnapshot {
    when: Instant,
    items: Arc<Vec<String>>,
}

impl ConfiguredServer {
    pub(crate) fn new(name: String, place: String, pins: Option<PathBuf>) -> Self {
        let (known, last_tools) = (Arc::default(), Arc::default());
        let (is_one_of_many, is_remote) = (false, false);
        Self { name, place, pins, known, last_tools, names: None, is_one_of_many, is_remote }
    }

    /// Stores the tools that the server lists now.
    pub(crate) fn store_tools(&self, items: Vec<String>) {
        let tools = ToolSnapshot { when: Instant::now(), items: Arc::new(items) };
        *self.last_tools.write().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    /// Returns the server with the tools that it listed last, at any time.
    pub(crate) fn last_upstream(&self, allows: impl Fn(&str) -> bool) -> Option<Upstream> {
        let last = self.last_tools.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let page = list_page("tools", &last.items, false);
        let tools = Toolbox::read([page.as_str()], allows).ok()?;
        Some(Upstream::new(&self.name, None, tools))
    }

    /// Returns the tools that the server listed, if that was recently.
    pub(crate) fn recent_tools(&self) -> Option<Arc<Vec<String>>> {
        let last = self.last_tools.read().unwrap_or_else(PoisonError::into_inner);
        let recent = last.as_ref().filter(|last| last.when.elapsed() < GRACE);
        recent.map(|recent| Arc::clone(&recent.items))
    }

    /// Returns the server's last known state.
    pub(super) fn known(&self) -> Option<Arc<Upstream>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the server's last known state, or a server without tools.
    pub(super) fn upstream_or_empty(&self) -> Arc<Upstream> {
        let empty = || Arc::new(Upstream::new(&self.name, None, Toolbox::default()));
        self.known().unwrap_or_else(empty)
    }
}
