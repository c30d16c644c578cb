use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Streams;
use super::session_peer::Partner;
use crate::settings::{Answers, GatewaySettings, ServeLimits};

/// The time that a server has to end when the service ends. It is slightly longer than that of a child process.
pub(crate) const GOING: Duration = Duration::from_secs(8);
/// The interval at which idle sessions are ended.
const SWEEP: Duration = Duration::from_mins(1);

/// Holds the session of a client, in the revisions that have sessions.
pub(crate) struct ClientSession {
    pub(crate) principal: String,
    /// The server of the endpoint, or `None` for all servers.
    pub(crate) endpoint: Option<String>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) partner: Partner,
    /// The kind of response to the session's requests.
    pub(crate) answers: Answers,
    /// The time after which the idle session ends.
    idle: Duration,
    used: Mutex<Instant>,
}

impl ClientSession {
    pub(crate) fn new(
        principal: &str,
        endpoint: Option<&str>,
        streams: Arc<Streams>,
        partner: Partner,
        settings: &GatewaySettings,
    ) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        let used = Mutex::new(Instant::now());
        let (answers, idle) = (settings.answers, settings.limits.session_idle);
        Self { principal, endpoint, streams, partner, answers, idle, used }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > self.idle && self.streams.is_idle()
    }

    async fn end(&self) {
        self.streams.begin_end();
        self.partner.leave().await;
        self.streams.end();
    }
}

/// Holds the open sessions by id.
#[derive(Default)]
pub(crate) struct ClientSessions {
    open: Mutex<HashMap<String, Arc<ClientSession>>>,
}

impl ClientSessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a principal may open another session.
    pub(crate) fn check_room(&self, principal: &str, limits: ServeLimits) -> Result<(), NoRoom> {
        check_room(&self.lock(), principal, limits)
    }

    /// Adds a session. The limits are checked again, because other sessions may have been opened in the meantime.
    pub(crate) fn insert(
        &self,
        name: String,
        session: Arc<ClientSession>,
        limits: ServeLimits,
    ) -> Result<(), NoRoom> {
        let mut open = self.lock();
        check_room(&open, &session.principal, limits)?;
        open.insert(name, session);
        Ok(())
    }

    /// Returns the session with this id. A session of another principal or endpoint is treated as unknown.
    pub(crate) fn get(
        &self,
        name: &str,
        principal: &str,
        endpoint: Option<&str>,
    ) -> Option<Arc<ClientSession>> {
        let session = self.lock().get(name).cloned()?;
        let is_its = session.principal == principal && session.endpoint.as_deref() == endpoint;
        is_its.then(|| {
            session.touch();
            session
        })
    }

    /// Ends a session.
    pub(crate) async fn end(&self, name: &str) {
        let session = self.lock().remove(name);
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
                let _ = tokio::time::timeout(GOING, session.partner.gone()).await;
            });
        }
        while ending.join_next().await.is_some() {}
    }

    /// Ends idle sessions periodically, until the task is dropped.
    pub(crate) async fn sweep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let idle: Vec<String> = {
                let open = self.lock();
                let idle = open.iter().filter(|(_, session)| session.is_idle());
                idle.map(|(name, _)| name.clone()).collect()
            };
            for name in idle {
                tracing::info!("a session was idle for long and is ended");
                self.end(&name).await;
            }
        }
    }
}

/// Tells why a session cannot be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoRoom {
    /// The principal has reached its limit, which keeps one token from blocking the others.
    OfToken(usize),
    /// The limit for all sessions is reached.
    Total(usize),
}

fn check_room(
    open: &HashMap<String, Arc<ClientSession>>,
    principal: &str,
    limits: ServeLimits,
) -> Result<(), NoRoom> {
    let own = open.values().filter(|session| session.principal == principal);
    if own.count() >= limits.sessions_per_token {
        return Err(NoRoom::OfToken(limits.sessions_per_token));
    }
    if open.len() >= limits.sessions {
        return Err(NoRoom::Total(limits.sessions));
    }
    Ok(())
}
