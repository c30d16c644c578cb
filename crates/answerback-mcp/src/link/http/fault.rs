//! An exchange that failed.

use std::error::Error;

use crate::link::{broken, unsent};
use crate::wire::{Id, Message};
use http::StatusCode;

/// Why an exchange brought no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server does not know our session any more.
    SessionGone,
    /// Anything else.
    Failed {
        /// What the server answered with, if it did.
        status: Option<StatusCode>,
        /// What happened.
        words: String,
        /// Whether it happened before anything left us.
        is_unsent: bool,
    },
}

impl Fault {
    /// Something happened before the server said anything, or after it said that all was well.
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self::Failed { status: None, words: words.into(), is_unsent: false }
    }

    /// The server's answer cannot be used.
    pub(super) fn of_answer(status: StatusCode, words: impl Into<String>) -> Self {
        Self::Failed { status: Some(status), words: words.into(), is_unsent: false }
    }

    /// An error of the connection, told by its cause: what wraps it says less.
    pub(super) fn of_connection(words: &str, error: &dyn Error) -> Self {
        let mut cause = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Self::new(format!("{words}: {cause}"))
    }

    /// The same, before anything left us.
    pub(super) fn unsent(self) -> Self {
        match self {
            Self::Failed { status, words, .. } => Self::Failed { status, words, is_unsent: true },
            Self::SessionGone => Self::SessionGone,
        }
    }

    /// What happened, for whoever reads logs.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::SessionGone => "the server does not know the session any more",
            Self::Failed { words, .. } => words,
        }
    }

    /// The answer to a request that had this fate.
    pub(super) fn answer(&self, request: &Id) -> Message {
        let status = match self {
            Self::Failed { is_unsent: true, words, .. } => return unsent(request, words),
            Self::Failed { status, .. } => status.map(|status| status.as_u16()),
            Self::SessionGone => None,
        };
        broken(request, self.words(), status)
    }
}
