//! Manages the sessions of people in a browser. A one-time link is exchanged for a cookie, which identifies a person as
//! a token identifies a program.

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

/// The lifetime of a launch link.
const LAUNCH_LIFE: Duration = Duration::from_mins(5);
/// The largest number of links. A new link replaces the oldest one.
const MOST_LAUNCHES: usize = 16;
/// The time after which an unused session ends.
const IDLE_LIFE: Duration = Duration::from_hours(12);
/// The largest number of sessions. A new session replaces the one that was idle longest.
const MOST_SESSIONS: usize = 64;
/// The interval at which a stream checks that its session is still open.
const LOOKED_AT_EVERY: Duration = Duration::from_mins(1);
/// The interval at which the file is updated with the last use of a session. After a restart a session may seem idle
/// for this much longer.
const NOTED_EVERY: Duration = Duration::from_mins(10);

/// The sessions of people in a browser. Clones share them.
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
    /// Counts the sessions that ended, to wake those that wait for an end.
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

/// A session in the list that a person sees.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The public id of the session. It grants no access.
    pub id: String,
    /// The time when the session began.
    pub created: SystemTime,
    /// The time of the last use.
    pub last_used: SystemTime,
    /// True if this session made the request.
    pub is_current: bool,
}

impl Sessions {
    /// Creates an empty table. New sessions get this name and these scopes.
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

    /// Creates sessions that survive a restart. Their digests are stored in this file, which only its owner may read.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or if others can read or write it. Entries that cannot be parsed are dropped.
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

    /// Creates a token that opens one session, once, within five minutes.
    ///
    /// # Errors
    ///
    /// If the operating system provides no random bytes.
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

    /// Opens a session with a launch token and returns the text of its cookie.
    ///
    /// # Errors
    ///
    /// If the token was used before, is too old, or is unknown.
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

    /// Redeems a launch token like [`Sessions::redeem`], but delays the response to a wrong one, to make guessing slow.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::redeem`], or [`RedeemError::TooMany`] if too many responses are delayed already.
    pub async fn redeem_guarded(&self, launch: &str) -> Result<Token, RedeemError> {
        match self.redeem(launch) {
            Err(error @ (RedeemError::Unknown | RedeemError::Used | RedeemError::Late)) => {
                if self.0.held_back.hold().await { Err(error) } else { Err(RedeemError::TooMany) }
            }
            redeemed => redeemed,
        }
    }

    /// Returns the principal whose cookie this is.
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

    /// Lists all sessions, with the session of `asking` marked as current.
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

    /// Ends the session with this id and the streams that it opened. Returns false if there is none.
    pub fn revoke(&self, id: &str) -> bool {
        self.end(|session| session.id == id)
    }

    /// Ends the session of `asking`. Returns false if there is none.
    pub fn leave(&self, asking: &Principal) -> bool {
        self.end(|session| session.principal.is(asking))
    }

    /// True if the principal belongs to an open session.
    pub(crate) fn stands(&self, principal: &Principal) -> bool {
        let mut table = self.lock();
        table.forget_idle(SystemTime::now());
        table.open.iter().any(|session| session.principal.is(principal))
    }

    /// Resolves when the session of the principal has ended.
    pub(crate) async fn ended(&self, principal: &Principal) {
        let mut changes = self.0.ended.subscribe();
        while self.stands(principal) {
            // A session that expires sends no notification, so this checks at an interval.
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

    /// Writes the sessions to the file. If that fails, they still work but end with the process.
    fn keep(&self, table: &SessionTable) {
        let Some(file) = &self.0.file else { return };
        let kept: Vec<Value> = table.open.iter().map(BrowserSession::kept).collect();
        if let Err(error) = private_file::replace(file, &json!(kept).to_string()) {
            tracing::warn!(%error, "sessions are not kept over a restart");
        }
    }

    // A poisoned lock is safe to use, because each change leaves the table consistent.
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn forget_idle(&mut self, now: SystemTime) {
        // If the clock was set back, no session counts as idle.
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

/// The reason why a launch token opens no session.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RedeemError {
    /// This server did not create the token, or has forgotten it because it is too old.
    #[error("this link is none of this server's")]
    Unknown,
    /// The token was used before.
    #[error("this link was used before; a link opens one session")]
    Used,
    /// The token has expired.
    #[error("this link is older than five minutes")]
    Late,
    /// Too many wrong tokens are tried at once.
    #[error("too many wrong links are tried at once")]
    TooMany,
    /// The operating system provides no random bytes.
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
        // A link does not work as a cookie, nor a cookie as a link.
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
