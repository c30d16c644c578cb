//! Classifies the errors of the driver.

use postgres::error::SqlState;

use crate::engine::{EngineError, EngineFailure};

impl From<postgres::Error> for EngineError {
    fn from(error: postgres::Error) -> Self {
        let failure = match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                EngineFailure::Conflict
            }
            Some(&SqlState::LOCK_NOT_AVAILABLE) => EngineFailure::Locked,
            // The server closed the connection: it shut down, an administrator ended the session,
            // or it was idle too long.
            Some(code) if ["57P01", "57P02", "57P03", "25P03"].contains(&code.code()) => {
                EngineFailure::Disconnected
            }
            Some(code) => match code.code().get(..2) {
                Some("08") => EngineFailure::Disconnected,
                // An invalid value or a violated constraint.
                Some("22" | "23") => EngineFailure::Refused,
                // An internal error, such as a damaged page.
                Some("XX") => EngineFailure::Damaged,
                _ => EngineFailure::Broken,
            },
            None if is_disconnected(&error) => EngineFailure::Disconnected,
            None => EngineFailure::Broken,
        };
        Self::new(failure, describe(&error))
    }
}

/// True if the connection is lost, as opposed to an unreadable response.
fn is_disconnected(error: &postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.is_closed() || io.is_some()
}

/// Formats an error with the server's message. The driver's own text is only `db error`.
pub(super) fn describe(error: &postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(server), _) => format!("{} ({})", server.message(), server.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
