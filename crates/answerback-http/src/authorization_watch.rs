use std::sync::Arc;

use crate::{Guard, Principal};

/// Watches if a caller is still authorized. Every request with a token or a cookie has one among its extensions.
///
/// Work that continues after the response began, such as a stream of events, must end when
/// [`AuthorizationWatch::revoked`] resolves.
#[derive(Clone, Debug)]
pub struct AuthorizationWatch {
    principal: Principal,
    guard: Arc<Guard>,
}

impl AuthorizationWatch {
    pub(crate) fn new(principal: Principal, guard: &Arc<Guard>) -> Self {
        Self { principal, guard: Arc::clone(guard) }
    }

    /// Resolves when the token or the session was revoked, or when the token's scopes changed.
    pub async fn revoked(&self) {
        match &self.guard.sessions {
            Some(sessions) if sessions.is_open(&self.principal) => {
                sessions.ended(&self.principal).await;
            }
            _ => self.guard.tokens.revoked(&self.principal).await,
        }
    }
}
