use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Streams;
use super::session_peer::Partner;
use crate::settings::{Answers, GatewaySettings, ServeLimits};

/// How long a server has to go when we do: what a child has, and a little.
pub(crate) const GOING: Duration = Duration::from_secs(8);
/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// A client of the revisions that have sessions.
pub(crate) struct ClientSession {
    pub(crate) principal: String,
    /// Which servers it is about.
    pub(crate) endpoint: Option<String>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) partner: Partner,
    /// How its requests are answered.
    pub(crate) answers: Answers,
    /// How long it may be idle.
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

/// The sessions that are open, by their names.
#[derive(Default)]
pub(crate) struct ClientSessions {
    open: Mutex<HashMap<String, Arc<ClientSession>>>,
}

impl ClientSessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that there is room for one more session of a principal.
    pub(crate) fn check_room(&self, principal: &str, limits: ServeLimits) -> Result<(), NoRoom> {
        check_room(&self.lock(), principal, limits)
    }

    /// Opens a session, unless others came first and left no room.
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

    /// The session of this name. Another's, or one at another endpoint, looks like none.
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
                // Who is not waited for is killed in the middle of its own ending.
                let _ = tokio::time::timeout(GOING, session.partner.gone()).await;
            });
        }
        while ending.join_next().await.is_some() {}
    }

    /// Ends idle sessions now and then, as long as there is anybody to serve.
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

/// Why a session cannot be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoRoom {
    /// The principal has as many as it may: one token does not lock out the others.
    OfToken(usize),
    /// There are as many as there may be.
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
