use std::fmt;
use std::time::Duration;

use answerback::Timestamp;
use answerback::contract::tool::McpHost;

/// The environment that a tool needs: the time, a timer and the MCP host. The caller provides it.
pub(crate) struct ToolEnvironment {
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    timer: Box<dyn Fn() -> Duration + Send + Sync>,
    host: Option<McpHost>,
}

impl ToolEnvironment {
    /// Creates an environment from a clock for the time of an answer and a monotonic timer for its duration.
    pub(crate) fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        timer: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { now: Box::new(now), timer: Box::new(timer), host: None }
    }

    /// Sets the host that answers name, as [`McpHost::detect`] returns it.
    #[must_use]
    pub(crate) fn with_host(mut self, host: Option<McpHost>) -> Self {
        self.host = host;
        self
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        (self.timer)()
    }

    pub(crate) fn host(&self) -> Option<McpHost> {
        self.host
    }
}

impl fmt::Debug for ToolEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Surroundings").field("host", &self.host).finish_non_exhaustive()
    }
}
