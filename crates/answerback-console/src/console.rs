use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use answerback::UuidV4;
use answerback_http::{Allowance, Routes, Sessions};
use answerback_record::system;
use answerback_store::Store;

use crate::files::Files;
use crate::live::Live;
use crate::log_summary::LogSummary;
use crate::{Behind, surface};

/// How many streams of events, and how many requests that wait, one token or session has open at a time.
const MOST_OPEN: usize = 64;

/// What a console is told beside its store.
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
    /// A console that is served at this port.
    pub fn new(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// Files that replies refer to are served from below these folders, and from nowhere else.
    pub fn with_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.folders = folders.into_iter().collect();
        self
    }

    /// All that is shown is made up.
    pub const fn with_demo(mut self, is_demo: bool) -> Self {
        self.is_demo = is_demo;
        self
    }

    /// How many streams of events one token or session may have open; 64, where nothing is said.
    pub const fn with_readers(mut self, readers: usize) -> Self {
        self.readers = Some(readers);
        self
    }

    /// The principal that may ask for links.
    pub fn with_launcher(mut self, name: impl Into<String>) -> Self {
        self.launcher = Some(name.into());
        self
    }
}

/// The console: what it shows, and who may look.
pub struct Console {
    pub(crate) store: Store,
    pub(crate) sessions: Sessions,
    pub(crate) behind: Arc<dyn Behind>,
    pub(crate) live: Arc<Live>,
    /// What lists show of the log.
    pub(crate) summary: LogSummary,
    pub(crate) files: Files,
    /// Streams of events that are open.
    pub(crate) readers: Allowance,
    /// Requests that wait for a decision.
    pub(crate) waiting: Allowance,
    pub(crate) settings: ConsoleSettings,
    /// Names this run: who sees another one knows that the server was started again.
    pub(crate) run: String,
}

impl Console {
    /// A console on a store.
    ///
    /// # Errors
    ///
    /// When there is no randomness.
    pub fn new(
        store: Store,
        sessions: Sessions,
        behind: Arc<dyn Behind>,
        settings: ConsoleSettings,
    ) -> std::io::Result<Arc<Self>> {
        let live = Live::new(store.clone());
        let files = Files::below(&settings.folders);
        let run = UuidV4::from_random(system::random()?).to_string();
        let readers = Allowance::new(settings.readers.unwrap_or(MOST_OPEN));
        let waiting = Allowance::new(MOST_OPEN);
        let summary = LogSummary::default();
        Ok(Arc::new(Self {
            store,
            sessions,
            behind,
            live,
            summary,
            files,
            readers,
            waiting,
            settings,
            run,
        }))
    }

    /// The API, and the web application where it is built in.
    pub fn routes(self: &Arc<Self>) -> Routes {
        surface::routes(self)
    }

    /// Follows what other processes write, as long as it is awaited.
    pub async fn follow(self: Arc<Self>) {
        Arc::clone(&self.live).follow().await;
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Console").field("run", &self.run).finish_non_exhaustive()
    }
}
