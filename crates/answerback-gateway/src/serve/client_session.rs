use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::client_upstream::ClientUpstream;
use crate::response_streams::ResponseStreams;
use crate::{GatewaySettings, ResponseMode, ServeLimits};

/// The time that a server has to end when the service ends. It is slightly longer than that of a child process.
pub(crate) const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(8);
/// The interval at which idle sessions are ended.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// The session of a client, in the revisions that have sessions.
pub(crate) struct ClientSession {
    pub(crate) principal: String,
    /// The server of the endpoint, or `None` for all servers.
    pub(crate) endpoint: Option<String>,
    pub(crate) streams: Arc<ResponseStreams>,
    pub(crate) upstream: ClientUpstream,
    /// The kind of response to the session's requests.
    pub(crate) response_mode: ResponseMode,
    /// The time after which the idle session ends.
    idle: Duration,
    last_used: Mutex<Instant>,
}

impl ClientSession {
    pub(crate) fn new(
        principal: &str,
        endpoint: Option<&str>,
        streams: Arc<ResponseStreams>,
        upstream: ClientUpstream,
        settings: &GatewaySettings,
    ) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        let last_used = Mutex::new(Instant::now());
        let (response_mode, idle) = (settings.response_mode, settings.limits.session_idle);
        Self { principal, endpoint, streams, upstream, response_mode, idle, last_used }
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let last_used = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() > self.idle && self.streams.is_idle()
    }

    async fn end(&self) {
        self.streams.begin_end();
        self.upstream.close().await;
        self.streams.end();
    }
}

/// The open sessions by id.
#[derive(Default)]
pub(crate) struct ClientSessions {
    open: Mutex<HashMap<String, Arc<ClientSession>>>,
}

impl ClientSessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a principal may open another session.
    pub(crate) fn check_limits(
        &self,
        principal: &str,
        limits: ServeLimits,
    ) -> Result<(), SessionLimitError> {
        check_limits(&self.lock(), principal, limits)
    }

    /// Adds a session. The limits are checked again, because other sessions may have been opened in the meantime.
    pub(crate) fn insert(
        &self,
        id: String,
        session: Arc<ClientSession>,
        limits: ServeLimits,
    ) -> Result<(), SessionLimitError> {
        let mut open = self.lock();
        check_limits(&open, &session.principal, limits)?;
        open.insert(id, session);
        Ok(())
    }

    /// Finds the session with this id. A session of another principal or endpoint is treated as unknown.
    pub(crate) fn get(
        &self,
        id: &str,
        principal: &str,
        endpoint: Option<&str>,
    ) -> Option<Arc<ClientSession>> {
        let session = self.lock().get(id).cloned()?;
        let is_owner = session.principal == principal && session.endpoint.as_deref() == endpoint;
        is_owner.then(|| {
            session.touch();
            session
        })
    }

    /// Ends a session.
    pub(crate) async fn end(&self, id: &str) {
        let session = self.lock().remove(id);
        if let Some(session) = session {
            session.end().await;
        }
    }

    /// Ends all sessions.
    pub(crate) async fn end_all(&self) {
        let sessions: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        let mut ending = tokio::task::JoinSet::new();
        for session in sessions {
            ending.spawn(async move {
                session.end().await;
                // Without this wait, the server would be killed while it ends.
                let _ = tokio::time::timeout(SERVER_EXIT_TIMEOUT, session.upstream.closed()).await;
            });
        }
        while ending.join_next().await.is_some() {}
    }

    /// Ends idle sessions periodically, until the task is dropped.
    pub(crate) async fn end_idle_periodically(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let idle: Vec<String> = {
                let open = self.lock();
                let idle = open.iter().filter(|(_, session)| session.is_idle());
                idle.map(|(id, _)| id.clone()).collect()
            };
            for id in idle {
                tracing::info!("an idle session is ended");
                self.end(&id).await;
            }
        }
    }
}

/// The reason why a session cannot be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SessionLimitError {
    /// The principal has reached its limit, which keeps one token from blocking the others.
    PerToken(usize),
    /// The limit for all sessions is reached.
    Total(usize),
}

fn check_limits(
    open: &HashMap<String, Arc<ClientSession>>,
    principal: &str,
    limits: ServeLimits,
) -> Result<(), SessionLimitError> {
    let of_principal = open.values().filter(|session| session.principal == principal);
    if of_principal.count() >= limits.sessions_per_token {
        return Err(SessionLimitError::PerToken(limits.sessions_per_token));
    }
    if open.len() >= limits.sessions {
        return Err(SessionLimitError::Total(limits.sessions));
    }
    Ok(())
}
