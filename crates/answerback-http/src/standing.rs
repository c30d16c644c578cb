use crate::{Principal, Sessions, TokenTable};

/// Whether who asked still may. It is among the extensions of every request that came with a token or a cookie.
///
/// What goes on after the answer began, such as a stream of events, ends when [`Standing::lost`] does.
#[derive(Clone, Debug)]
pub struct Standing {
    principal: Principal,
    tokens: TokenTable,
    sessions: Option<Sessions>,
}

impl Standing {
    pub(crate) fn new(
        principal: Principal,
        tokens: TokenTable,
        sessions: Option<Sessions>,
    ) -> Self {
        Self { principal, tokens, sessions }
    }

    /// Ends when the token or the session was taken away, or its scopes have changed.
    pub async fn lost(&self) {
        match &self.sessions {
            Some(sessions) if sessions.stands(&self.principal) => {
                sessions.ended(&self.principal).await;
            }
            _ => self.tokens.revoked(&self.principal).await,
        }
    }
}
