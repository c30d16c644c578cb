//! Manages the sessions of people in a browser. A one-time link is exchanged for a cookie, which identifies a person as
//! a token identifies a program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::auth_failure_delay::AuthFailureDelay;
use crate::bearer_token::TokenDigest;
use crate::private_file::{self, PrivateFileError};
use crate::{BearerToken, NoRandomness, Principal, Scopes};

/// The lifetime of a launch link.
const LAUNCH_LIFETIME: Duration = Duration::from_mins(5);
/// The largest number of links. A new link replaces the oldest one.
const MAX_LAUNCHES: usize = 16;
/// The time after which an unused session ends.
const IDLE_LIFETIME: Duration = Duration::from_hours(12);
/// The largest number of sessions. A new session replaces the one that was idle longest.
const MAX_SESSIONS: usize = 64;
/// The interval at which a stream checks that its session is still open.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// The interval at which the file is updated with the last use of a session. After a restart a session may seem idle
/// for this much longer.
const SAVE_INTERVAL: Duration = Duration::from_mins(10);

/// The sessions of people in a browser. Clones share them.
///
/// ```
/// use answerback_http::{Scope, BrowserSessions};
///
/// let sessions = BrowserSessions::new("console", [Scope::Read, Scope::Decide]);
/// let link = sessions.launch()?;
/// let cookie = sessions.redeem(link.text())?;
/// assert_eq!(sessions.authenticate(cookie.text()).unwrap().name(), "console");
/// assert!(sessions.redeem(link.text()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BrowserSessions(Arc<SharedSessions>);

#[derive(Debug)]
struct SharedSessions {
    name: String,
    scopes: Scopes,
    file: Option<PathBuf>,
    table: Mutex<SessionTable>,
    /// Counts the sessions that ended, to wake the tasks that wait for an end.
    ended: watch::Sender<u64>,
    failure_delay: AuthFailureDelay,
}

#[derive(Debug, Default)]
struct SessionTable {
    launches: Vec<LaunchLink>,
    open: Vec<BrowserSession>,
}

#[derive(Debug)]
struct LaunchLink {
    digest: TokenDigest,
    created: SystemTime,
    is_used: bool,
}

#[derive(Clone, Debug)]
struct BrowserSession {
    id: String,
    principal: Principal,
    created: SystemTime,
    last_used: SystemTime,
    saved: SystemTime,
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

impl BrowserSessions {
    /// Creates an empty table. New sessions get this name and these scopes.
    pub fn new(name: &str, scopes: impl Into<Scopes>) -> Self {
        let (table, ended) = (Mutex::default(), watch::Sender::new(0));
        Self(Arc::new(SharedSessions {
            name: name.to_owned(),
            scopes: scopes.into(),
            file: None,
            table,
            ended,
            failure_delay: AuthFailureDelay::default(),
        }))
    }

    /// Creates sessions that survive a restart. Their digests are stored in this file, which only its owner may read.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or if others can read or write it. Entries that cannot be parsed are dropped.
    pub fn stored_in(
        file: &Path,
        name: &str,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, PrivateFileError> {
        let scopes = scopes.into();
        let now = SystemTime::now();
        let text = private_file::read(file)?;
        let stored: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let open = stored.as_array().into_iter().flatten();
        let open =
            open.filter_map(|entry| BrowserSession::from_json(entry, name, scopes)).collect();
        let mut table = SessionTable { launches: Vec::new(), open };
        table.remove_expired(now);
        Ok(Self(Arc::new(SharedSessions {
            name: name.to_owned(),
            scopes,
            file: Some(file.to_owned()),
            table: Mutex::new(table),
            ended: watch::Sender::new(0),
            failure_delay: AuthFailureDelay::default(),
        })))
    }

    /// Creates a token that opens one session, once, within five minutes.
    ///
    /// # Errors
    ///
    /// If the operating system provides no random bytes.
    pub fn launch(&self) -> Result<BearerToken, NoRandomness> {
        let token = BearerToken::generate()?;
        let mut table = self.lock();
        if table.launches.len() >= MAX_LAUNCHES {
            table.launches.remove(0);
        }
        let launch =
            LaunchLink { digest: token.digest(), created: SystemTime::now(), is_used: false };
        table.launches.push(launch);
        Ok(token)
    }

    /// Opens a session with a launch token and returns the text of its cookie.
    ///
    /// # Errors
    ///
    /// If the token was used before, is too old, or is unknown.
    pub fn redeem(&self, launch: &str) -> Result<BearerToken, RedeemError> {
        let (digest, now) = (TokenDigest::of(launch.trim()), SystemTime::now());
        let mut table = self.lock();
        let found = table.launches.iter_mut().fold(None, |found, launch| {
            if bool::from(launch.digest.is(&digest)) { Some(launch) } else { found }
        });
        let launch = found.ok_or(RedeemError::Unknown)?;
        if launch.is_used {
            return Err(RedeemError::Used);
        }
        if now.duration_since(launch.created).is_ok_and(|age| age > LAUNCH_LIFETIME) {
            return Err(RedeemError::Expired);
        }
        let token = BearerToken::generate()?;
        launch.is_used = true;
        table.remove_expired(now);
        if table.open.len() >= MAX_SESSIONS {
            let oldest = table.open.iter().enumerate().min_by_key(|(_, session)| session.last_used);
            if let Some(oldest) = oldest.map(|(position, _)| position) {
                table.open.remove(oldest);
                self.0.ended.send_modify(|count| *count += 1);
            }
        }
        let principal = Principal::new(&self.0.name, self.0.scopes, token.digest()).into_person();
        let id = token.digest().short_name();
        let (created, last_used, saved) = (now, now, now);
        table.open.push(BrowserSession { id, principal, created, last_used, saved });
        self.save(&table);
        Ok(token)
    }

    /// Redeems a launch token like [`BrowserSessions::redeem`], but delays the response to a wrong one, to make
    /// guessing slow.
    ///
    /// # Errors
    ///
    /// The errors of [`BrowserSessions::redeem`], or [`RedeemError::TooMany`] if too many responses are delayed
    /// already.
    pub async fn redeem_guarded(&self, launch: &str) -> Result<BearerToken, RedeemError> {
        match self.redeem(launch) {
            Err(error @ (RedeemError::Unknown | RedeemError::Used | RedeemError::Expired)) => {
                if self.0.failure_delay.wait().await {
                    Err(error)
                } else {
                    Err(RedeemError::TooMany)
                }
            }
            redeemed => redeemed,
        }
    }

    /// Finds the principal with this cookie.
    pub fn authenticate(&self, cookie: &str) -> Option<Principal> {
        let (digest, now) = (TokenDigest::of(cookie), SystemTime::now());
        let mut table = self.lock();
        table.remove_expired(now);
        let session = table.open.iter_mut().fold(None, |found, session| {
            if bool::from(session.principal.digest().is(&digest)) { Some(session) } else { found }
        })?;
        session.last_used = now;
        let principal = session.principal.clone();
        if now.duration_since(session.saved).is_ok_and(|since| since > SAVE_INTERVAL) {
            session.saved = now;
            self.save(&table);
        }
        Some(principal)
    }

    /// Lists all sessions, with the session of `caller` marked as current.
    pub fn list(&self, caller: &Principal) -> Vec<SessionInfo> {
        let mut table = self.lock();
        table.remove_expired(SystemTime::now());
        let info = |session: &BrowserSession| SessionInfo {
            id: session.id.clone(),
            created: session.created,
            last_used: session.last_used,
            is_current: session.principal.has_same_token(caller),
        };
        table.open.iter().map(info).collect()
    }

    /// Ends the session with this id and the streams that it opened. Returns false if there is none.
    pub fn revoke(&self, id: &str) -> bool {
        self.end(|session| session.id == id)
    }

    /// Ends the session of `caller`. Returns false if there is none.
    pub fn log_out(&self, caller: &Principal) -> bool {
        self.end(|session| session.principal.has_same_token(caller))
    }

    /// True if the principal belongs to an open session.
    pub(crate) fn is_open(&self, principal: &Principal) -> bool {
        let mut table = self.lock();
        table.remove_expired(SystemTime::now());
        table.open.iter().any(|session| session.principal.has_same_token(principal))
    }

    /// Resolves when the session of the principal has ended.
    pub(crate) async fn ended(&self, principal: &Principal) {
        let mut changes = self.0.ended.subscribe();
        while self.is_open(principal) {
            // A session that expires sends no notification, so this checks at an interval.
            let _ = tokio::time::timeout(CHECK_INTERVAL, changes.changed()).await;
        }
    }

    fn end(&self, is_match: impl Fn(&BrowserSession) -> bool) -> bool {
        let mut table = self.lock();
        let before = table.open.len();
        table.open.retain(|session| !is_match(session));
        let has_ended = table.open.len() < before;
        if has_ended {
            self.save(&table);
            drop(table);
            self.0.ended.send_modify(|count| *count += 1);
        }
        has_ended
    }

    /// Writes the sessions to the file. If that fails, they still work but end with the process.
    fn save(&self, table: &SessionTable) {
        let Some(file) = &self.0.file else { return };
        let entries: Vec<Value> = table.open.iter().map(BrowserSession::to_json).collect();
        if let Err(error) = private_file::replace(file, &json!(entries).to_string()) {
            tracing::warn!(%error, "the sessions cannot be saved and end with the process");
        }
    }

    // A poisoned lock is safe to use, because each change leaves the table consistent.
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn remove_expired(&mut self, now: SystemTime) {
        // If the clock was set back, no session counts as idle.
        let since = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        self.open.retain(|session| since(session.last_used) < IDLE_LIFETIME);
        self.launches.retain(|launch| since(launch.created) < 2 * LAUNCH_LIFETIME);
    }
}

impl BrowserSession {
    fn to_json(&self) -> Value {
        json!({
            "digest": HEXLOWER.encode(self.principal.digest().as_bytes()),
            "created": seconds(self.created),
            "last_used": seconds(self.last_used),
        })
    }

    fn from_json(entry: &Value, name: &str, scopes: Scopes) -> Option<Self> {
        let digest = HEXLOWER.decode(entry["digest"].as_str()?.as_bytes()).ok()?;
        let digest = TokenDigest::from_bytes(digest.try_into().ok()?);
        let at = |member: &str| {
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(entry[member].as_u64()?))
        };
        let (created, last_used) = (at("created")?, at("last_used")?);
        let principal = Principal::new(name, scopes, digest).into_person();
        Some(Self { id: digest.short_name(), principal, created, last_used, saved: last_used })
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
    #[error("this server did not create this link")]
    Unknown,
    /// The token was used before.
    #[error("this link was used before; a link opens one session")]
    Used,
    /// The token has expired.
    #[error("this link is older than five minutes")]
    Expired,
    /// Too many wrong tokens are tried at once.
    #[error("too many wrong links were tried at the same time")]
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
        let sessions = BrowserSessions::stored_in(&file, "console", Scope::Read).unwrap();
        assert_eq!(sessions.redeem("ab_guess").unwrap_err(), RedeemError::Unknown);
        let link = sessions.launch().unwrap();
        let cookie = sessions.redeem(link.text()).unwrap();
        assert_eq!(sessions.redeem(link.text()).unwrap_err(), RedeemError::Used);
        // A link does not work as a cookie, nor a cookie as a link.
        assert!(sessions.authenticate(link.text()).is_none());
        assert_eq!(sessions.redeem(cookie.text()).unwrap_err(), RedeemError::Unknown);

        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(cookie.text()), "{text}");
        let reopened = BrowserSessions::stored_in(&file, "console", Scope::Read).unwrap();
        let principal = reopened.authenticate(cookie.text()).unwrap();
        assert_eq!((principal.name(), principal.has(Scope::Decide)), ("console", false));
        let listed = reopened.list(&principal);
        assert!(listed.len() == 1 && listed[0].is_current);
        assert!(reopened.revoke(&listed[0].id) && !reopened.is_open(&principal));
        assert!(reopened.authenticate(cookie.text()).is_none());
        let third = BrowserSessions::stored_in(&file, "console", Scope::Read).unwrap();
        assert!(third.authenticate(cookie.text()).is_none());
    }

    #[test]
    fn expired_links_and_sessions_are_rejected() {
        let sessions = BrowserSessions::new("console", Scope::Read);
        let (link, other) = (sessions.launch().unwrap(), sessions.launch().unwrap());
        let long_ago = SystemTime::now() - LAUNCH_LIFETIME - Duration::from_secs(1);
        sessions.lock().launches[0].created = long_ago;
        assert_eq!(sessions.redeem(link.text()).unwrap_err(), RedeemError::Expired);
        let cookie = sessions.redeem(other.text()).unwrap();
        sessions.lock().open[0].last_used = SystemTime::now() - IDLE_LIFETIME;
        assert!(sessions.authenticate(cookie.text()).is_none());
        for _ in 0..=MAX_LAUNCHES {
            sessions.launch().unwrap();
        }
        assert_eq!(sessions.lock().launches.len(), MAX_LAUNCHES);
    }
}
