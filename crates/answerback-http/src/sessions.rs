//! People at a browser. A link that counts once becomes a cookie; whoever has the cookie is known by it as a program is by
//! its token.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::held_back::HeldBack;
use crate::private_file::{self, PrivateFileError};
use crate::token::{NoRandomness, TokenDigest};
use crate::{Principal, Scopes, Token};

/// How long a launch link counts.
const LAUNCH_LIFE: Duration = Duration::from_mins(5);
/// How many links may wait to be opened; a new one takes the oldest one's place.
const MOST_LAUNCHES: usize = 16;
/// How long a session lasts that nobody uses.
const IDLE_LIFE: Duration = Duration::from_hours(12);
/// How many sessions there are at a time; a new one takes the place of the one that was idle longest.
const MOST_SESSIONS: usize = 64;
/// How often a stream looks whether its session still is one.
const LOOKED_AT_EVERY: Duration = Duration::from_mins(1);
/// How often the file learns that a session is in use. After a restart it may seem idle for so much longer.
const NOTED_EVERY: Duration = Duration::from_mins(10);

/// The sessions of people at a browser. Clones share them.
///
/// ```
/// use answerback_http::{Scope, Sessions};
///
/// let sessions = Sessions::new("console", [Scope::Read, Scope::Decide]);
/// let link = sessions.launch()?;
/// let cookie = sessions.redeem(link.text())?;
/// assert_eq!(sessions.authenticate(cookie.text()).unwrap().name(), "console");
/// assert!(sessions.redeem(link.text()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sessions(Arc<SharedSessions>);

#[derive(Debug)]
struct SharedSessions {
    name: String,
    scopes: Scopes,
    file: Option<PathBuf>,
    table: Mutex<SessionTable>,
    /// Goes up when a session ends.
    ended: watch::Sender<u64>,
    held_back: HeldBack,
}

#[derive(Debug, Default)]
struct SessionTable {
    launches: Vec<Launch>,
    open: Vec<BrowserSession>,
}

#[derive(Debug)]
struct Launch {
    digest: TokenDigest,
    made: SystemTime,
    is_used: bool,
}

#[derive(Clone, Debug)]
struct BrowserSession {
    id: String,
    principal: Principal,
    created: SystemTime,
    last_used: SystemTime,
    noted: SystemTime,
}

/// A session as its owner sees it in a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Names it, and opens nothing.
    pub id: String,
    /// When it began.
    pub created: SystemTime,
    /// When it was last used.
    pub last_used: SystemTime,
    /// Whether it is the one that asks.
    pub is_current: bool,
}

impl Sessions {
    /// No sessions yet; those to come act under this name, with these scopes.
    pub fn new(name: &str, scopes: impl Into<Scopes>) -> Self {
        let (table, ended) = (Mutex::default(), watch::Sender::new(0));
        Self(Arc::new(SharedSessions {
            name: name.to_owned(),
            scopes: scopes.into(),
            file: None,
            table,
            ended,
            held_back: HeldBack::default(),
        }))
    }

    /// Sessions that outlive the process: their digests are kept in this file, which is for its owner alone.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or others can read or write it. What it does not say well is forgotten.
    pub fn kept_in(
        file: &Path,
        name: &str,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, PrivateFileError> {
        let scopes = scopes.into();
        let now = SystemTime::now();
        let text = private_file::read(file)?;
        let kept: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let open = kept.as_array().into_iter().flatten();
        let open = open.filter_map(|kept| BrowserSession::from_kept(kept, name, scopes)).collect();
        let mut table = SessionTable { launches: Vec::new(), open };
        table.forget_idle(now);
        Ok(Self(Arc::new(SharedSessions {
            name: name.to_owned(),
            scopes,
            file: Some(file.to_owned()),
            table: Mutex::new(table),
            ended: watch::Sender::new(0),
            held_back: HeldBack::default(),
        })))
    }

    /// A token that opens one session, once, within five minutes.
    ///
    /// # Errors
    ///
    /// When the system gives no randomness.
    pub fn launch(&self) -> Result<Token, NoRandomness> {
        let token = Token::fresh()?;
        let mut table = self.lock();
        if table.launches.len() >= MOST_LAUNCHES {
            table.launches.remove(0);
        }
        let launch = Launch { digest: token.digest(), made: SystemTime::now(), is_used: false };
        table.launches.push(launch);
        Ok(token)
    }

    /// Opens a session with a launch token, and gives the text of its cookie.
    ///
    /// # Errors
    ///
    /// When the token was used before, is too old, or is none of ours.
    pub fn redeem(&self, launch: &str) -> Result<Token, RedeemError> {
        let (digest, now) = (TokenDigest::of(launch.trim()), SystemTime::now());
        let mut table = self.lock();
        let found = table.launches.iter_mut().fold(None, |found, launch| {
            if bool::from(launch.digest.is(&digest)) { Some(launch) } else { found }
        });
        let launch = found.ok_or(RedeemError::Unknown)?;
        if launch.is_used {
            return Err(RedeemError::Used);
        }
        if now.duration_since(launch.made).is_ok_and(|age| age > LAUNCH_LIFE) {
            return Err(RedeemError::Late);
        }
        let token = Token::fresh()?;
        launch.is_used = true;
        table.forget_idle(now);
        if table.open.len() >= MOST_SESSIONS {
            let oldest = table.open.iter().enumerate().min_by_key(|(_, session)| session.last_used);
            if let Some(oldest) = oldest.map(|(position, _)| position) {
                table.open.remove(oldest);
                self.0.ended.send_modify(|count| *count += 1);
            }
        }
        let principal = Principal::new(&self.0.name, self.0.scopes, token.digest()).of_person();
        let id = token.digest().name();
        let (created, last_used, noted) = (now, now, now);
        table.open.push(BrowserSession { id, principal, created, last_used, noted });
        self.keep(&table);
        Ok(token)
    }

    /// As [`Sessions::redeem`], for whoever may be guessing: a wrong token is answered late, and few at a time.
    ///
    /// # Errors
    ///
    /// As [`Sessions::redeem`], and when too many are answered late already.
    pub async fn redeem_guarded(&self, launch: &str) -> Result<Token, RedeemError> {
        match self.redeem(launch) {
            Err(error @ (RedeemError::Unknown | RedeemError::Used | RedeemError::Late)) => {
                if self.0.held_back.hold().await { Err(error) } else { Err(RedeemError::TooMany) }
            }
            redeemed => redeemed,
        }
    }

    /// Whose cookie this is.
    pub fn authenticate(&self, cookie: &str) -> Option<Principal> {
        let (digest, now) = (TokenDigest::of(cookie), SystemTime::now());
        let mut table = self.lock();
        table.forget_idle(now);
        let session = table.open.iter_mut().fold(None, |found, session| {
            if bool::from(session.principal.digest().is(&digest)) { Some(session) } else { found }
        })?;
        session.last_used = now;
        let principal = session.principal.clone();
        if now.duration_since(session.noted).is_ok_and(|since| since > NOTED_EVERY) {
            session.noted = now;
            self.keep(&table);
        }
        Some(principal)
    }

    /// All sessions, as the one of `asking` sees them.
    pub fn list(&self, asking: &Principal) -> Vec<SessionInfo> {
        let mut table = self.lock();
        table.forget_idle(SystemTime::now());
        let info = |session: &BrowserSession| SessionInfo {
            id: session.id.clone(),
            created: session.created,
            last_used: session.last_used,
            is_current: session.principal.is(asking),
        };
        table.open.iter().map(info).collect()
    }

    /// Ends a session by its id, and the streams that it opened. Says whether there was one.
    pub fn revoke(&self, id: &str) -> bool {
        self.end(|session| session.id == id)
    }

    /// Ends the session of `asking`.
    pub fn leave(&self, asking: &Principal) -> bool {
        self.end(|session| session.principal.is(asking))
    }

    /// Whether the principal is one of a session that is open.
    pub(crate) fn stands(&self, principal: &Principal) -> bool {
        let mut table = self.lock();
        table.forget_idle(SystemTime::now());
        table.open.iter().any(|session| session.principal.is(principal))
    }

    /// Ends when the session of the principal has.
    pub(crate) async fn ended(&self, principal: &Principal) {
        let mut changes = self.0.ended.subscribe();
        while self.stands(principal) {
            // One that nobody used for too long ends without a word, so it is looked at from time to time.
            let _ = tokio::time::timeout(LOOKED_AT_EVERY, changes.changed()).await;
        }
    }

    fn end(&self, is_meant: impl Fn(&BrowserSession) -> bool) -> bool {
        let mut table = self.lock();
        let before = table.open.len();
        table.open.retain(|session| !is_meant(session));
        let has_ended = table.open.len() < before;
        if has_ended {
            self.keep(&table);
            drop(table);
            self.0.ended.send_modify(|count| *count += 1);
        }
        has_ended
    }

    /// Sessions that cannot be kept are still sessions: they end with the process.
    fn keep(&self, table: &SessionTable) {
        let Some(file) = &self.0.file else { return };
        let kept: Vec<Value> = table.open.iter().map(BrowserSession::kept).collect();
        if let Err(error) = private_file::replace(file, &json!(kept).to_string()) {
            tracing::warn!(%error, "sessions are not kept over a restart");
        }
    }

    // Each change of the table is whole before the lock is let go.
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn forget_idle(&mut self, now: SystemTime) {
        // A clock that was put back makes nobody idle.
        let since = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        self.open.retain(|session| since(session.last_used) < IDLE_LIFE);
        self.launches.retain(|launch| since(launch.made) < 2 * LAUNCH_LIFE);
    }
}

impl BrowserSession {
    fn kept(&self) -> Value {
        json!({
            "digest": HEXLOWER.encode(self.principal.digest().as_bytes()),
            "created": seconds(self.created),
            "last_used": seconds(self.last_used),
        })
    }

    fn from_kept(kept: &Value, name: &str, scopes: Scopes) -> Option<Self> {
        let digest = HEXLOWER.decode(kept["digest"].as_str()?.as_bytes()).ok()?;
        let digest = TokenDigest::from_bytes(digest.try_into().ok()?);
        let at = |member: &str| {
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(kept[member].as_u64()?))
        };
        let (created, last_used) = (at("created")?, at("last_used")?);
        let principal = Principal::new(name, scopes, digest).of_person();
        Some(Self { id: digest.name(), principal, created, last_used, noted: last_used })
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Why a launch token opens nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RedeemError {
    /// Nobody here made it, or so long ago that it is forgotten.
    #[error("this link is none of this server's")]
    Unknown,
    /// Somebody was first.
    #[error("this link was used before; a link opens one session")]
    Used,
    /// It waited for too long.
    #[error("this link is older than five minutes")]
    Late,
    /// Too many wrong ones come at once.
    #[error("too many wrong links are tried at once")]
    TooMany,
    /// The system gives no randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    #[test]
    fn a_link_opens_one_session_which_outlives_a_restart_and_ends_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sessions");
        let sessions = Sessions::kept_in(&file, "console", Scope::Read).unwrap();
        assert_eq!(sessions.redeem("ab_guess").unwrap_err(), RedeemError::Unknown);
        let link = sessions.launch().unwrap();
        let cookie = sessions.redeem(link.text()).unwrap();
        assert_eq!(sessions.redeem(link.text()).unwrap_err(), RedeemError::Used);
        // A link is no cookie, and a cookie no link.
        assert!(sessions.authenticate(link.text()).is_none());
        assert_eq!(sessions.redeem(cookie.text()).unwrap_err(), RedeemError::Unknown);

        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(cookie.text()), "{text}");
        let again = Sessions::kept_in(&file, "console", Scope::Read).unwrap();
        let principal = again.authenticate(cookie.text()).unwrap();
        assert_eq!((principal.name(), principal.has(Scope::Decide)), ("console", false));
        let listed = again.list(&principal);
        assert!(listed.len() == 1 && listed[0].is_current);
        assert!(again.revoke(&listed[0].id) && !again.stands(&principal));
        assert!(again.authenticate(cookie.text()).is_none());
        let third = Sessions::kept_in(&file, "console", Scope::Read).unwrap();
        assert!(third.authenticate(cookie.text()).is_none());
    }

    #[test]
    fn what_is_old_counts_no_more() {
        let sessions = Sessions::new("console", Scope::Read);
        let (link, other) = (sessions.launch().unwrap(), sessions.launch().unwrap());
        let long_ago = SystemTime::now() - LAUNCH_LIFE - Duration::from_secs(1);
        sessions.lock().launches[0].made = long_ago;
        assert_eq!(sessions.redeem(link.text()).unwrap_err(), RedeemError::Late);
        let cookie = sessions.redeem(other.text()).unwrap();
        sessions.lock().open[0].last_used = SystemTime::now() - IDLE_LIFE;
        assert!(sessions.authenticate(cookie.text()).is_none());
        for _ in 0..=MOST_LAUNCHES {
            sessions.launch().unwrap();
        }
        assert_eq!(sessions.lock().launches.len(), MOST_LAUNCHES);
    }
}
