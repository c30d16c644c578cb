use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use answerback::UuidV4;
use answerback_http::{BrowserSessions, PerCallerLimit};
use answerback_store::Store;
use answerback_store::system;

use crate::ConsoleHost;
use crate::files::Files;
use crate::live::Live;
use crate::log_summary::LogSummary;

/// The default limit on open event streams, and on waiting requests, per token or session.
const MAX_OPEN: usize = 64;

/// The settings of a console.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ConsoleSettings {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) is_demo: bool,
    pub(crate) port: u16,
    pub(crate) launcher: Option<String>,
    pub(crate) readers: Option<usize>,
}

impl ConsoleSettings {
    /// Creates the settings of a console at this port.
    pub fn new(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// Sets the folders for files that replies refer to. Files outside of them are never served.
    pub fn with_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.folders = folders.into_iter().collect();
        self
    }

    /// Marks all data as invented, for the demo.
    pub const fn with_demo(mut self, is_demo: bool) -> Self {
        self.is_demo = is_demo;
        self
    }

    /// Sets how many event streams one token or session may have open. The default is 64.
    pub const fn with_readers(mut self, readers: usize) -> Self {
        self.readers = Some(readers);
        self
    }

    /// Sets the principal that may create launch links.
    pub fn with_launcher(mut self, name: impl Into<String>) -> Self {
        self.launcher = Some(name.into());
        self
    }
}

/// The console: its data, its limits and its access rules.
pub struct Console {
    pub(crate) store: Store,
    pub(crate) sessions: BrowserSessions,
    pub(crate) host: Arc<dyn ConsoleHost>,
    pub(crate) live: Arc<Live>,
    /// The cached data of the lists.
    pub(crate) summary: LogSummary,
    pub(crate) files: Files,
    /// The limit on open event streams.
    pub(crate) readers: PerCallerLimit,
    /// The limit on requests that wait for a decision.
    pub(crate) decision_waits: PerCallerLimit,
    pub(crate) settings: ConsoleSettings,
    /// Identifies this run. A client that sees another value knows that the server was restarted.
    pub(crate) run: String,
}

impl Console {
    /// Creates a console for a store.
    ///
    /// # Errors
    ///
    /// If the operating system provides no random bytes.
    pub fn new(
        store: Store,
        sessions: BrowserSessions,
        host: Arc<dyn ConsoleHost>,
        settings: ConsoleSettings,
    ) -> std::io::Result<Arc<Self>> {
        let live = Live::new(store.clone());
        let files = Files::below(&settings.folders);
        let run = UuidV4::from_random(system::random()?).to_string();
        let readers = PerCallerLimit::new(settings.readers.unwrap_or(MAX_OPEN));
        let decision_waits = PerCallerLimit::new(MAX_OPEN);
        let summary = LogSummary::default();
        Ok(Arc::new(Self {
            store,
            sessions,
            host,
            live,
            summary,
            files,
            readers,
            decision_waits,
            settings,
            run,
        }))
    }

    /// Follows the changes that other processes write, as long as the future is polled.
    pub async fn follow(self: Arc<Self>) {
        Arc::clone(&self.live).follow().await;
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Console").field("run", &self.run).finish_non_exhaustive()
    }
}
