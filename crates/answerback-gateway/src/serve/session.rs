use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Streams;
use super::partner::Partner;
use crate::settings::Answers;

/// The most sessions at a time.
const MOST: usize = 256;
/// The most of one principal: one token does not lock out the others.
const MOST_OF_ONE: usize = 64;
/// How long a session may be idle.
const IDLE: Duration = Duration::from_mins(30);
/// How long a server has to go when we do: what a child has, and a little.
pub(crate) const GOING: Duration = Duration::from_secs(8);
/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// A client of the revisions that have sessions.
pub(crate) struct Session {
    pub(crate) principal: String,
    /// Which servers it is about.
    pub(crate) endpoint: Option<String>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) partner: Partner,
    /// How its requests are answered.
    pub(crate) answers: Answers,
    used: Mutex<Instant>,
}

impl Session {
    pub(crate) fn new(
        principal: &str,
        endpoint: Option<&str>,
        streams: Arc<Streams>,
        partner: Partner,
        answers: Answers,
    ) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        let used = Mutex::new(Instant::now());
        Self { principal, endpoint, streams, partner, answers, used }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > IDLE && self.streams.is_idle()
    }

    async fn end(&self) {
        self.streams.begin_end();
        self.partner.leave().await;
        self.streams.end();
    }
}

/// The sessions that are open, by their names.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for one more of a principal's.
    pub(crate) fn has_room(&self, principal: &str) -> bool {
        has_room(&self.lock(), principal)
    }

    /// Opens a session, unless others came first and left no room.
    pub(crate) fn insert(&self, name: String, session: Arc<Session>) -> bool {
        let mut open = self.lock();
        let has_room = has_room(&open, &session.principal);
        if has_room {
            open.insert(name, session);
        }
        has_room
    }

    /// The session of this name. Another's, or one at another endpoint, looks like none.
    pub(crate) fn get(
        &self,
        name: &str,
        principal: &str,
        endpoint: Option<&str>,
    ) -> Option<Arc<Session>> {
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

fn has_room(open: &HashMap<String, Arc<Session>>, principal: &str) -> bool {
    let own = open.values().filter(|session| session.principal == principal);
    open.len() < MOST && own.count() < MOST_OF_ONE
}
