use std::sync::Arc;

use crate::{Guard, Principal};

/// Whether who asked still may. It is among the extensions of every request that came with a token or a cookie.
///
/// What goes on after the answer began, such as a stream of events, ends when [`Standing::lost`] does.
#[derive(Clone, Debug)]
pub struct Standing {
    principal: Principal,
    guard: Arc<Guard>,
}

impl Standing {
    pub(crate) fn new(principal: Principal, guard: &Arc<Guard>) -> Self {
        Self { principal, guard: Arc::clone(guard) }
    }

    /// Ends when the token or the session was taken away, or its scopes have changed.
    pub async fn lost(&self) {
        match &self.guard.sessions {
            Some(sessions) if sessions.stands(&self.principal) => {
                sessions.ended(&self.principal).await;
            }
            _ => self.guard.tokens.revoked(&self.principal).await,
        }
    }
}
