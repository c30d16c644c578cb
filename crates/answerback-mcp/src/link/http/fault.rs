//! Describes a failed exchange.

use std::error::Error;

use crate::link::{link_error, unsent_error};
use crate::wire::{Id, Message};
use http::StatusCode;

/// Tells why an exchange got no response.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server no longer knows our session.
    SessionGone,
    /// The exchange failed for another reason.
    Failed {
        /// The HTTP status of the server's response, if there was one.
        status: Option<StatusCode>,
        /// The reason as text.
        reason: String,
        /// True if nothing of the request was sent.
        is_unsent: bool,
    },
}

impl Fault {
    /// Creates a failure without an error status.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self::Failed { status: None, reason: reason.into(), is_unsent: false }
    }

    /// Creates a failure for a response that cannot be used.
    pub(super) fn of_answer(status: StatusCode, reason: impl Into<String>) -> Self {
        Self::Failed { status: Some(status), reason: reason.into(), is_unsent: false }
    }

    /// Creates a failure from the root cause of a connection error, because the outer errors say less.
    pub(super) fn of_connection(reason: &str, error: &dyn Error) -> Self {
        let mut cause = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Self::new(format!("{reason}: {cause}"))
    }

    /// Marks the failure as one in which nothing was sent.
    pub(super) fn unsent(self) -> Self {
        match self {
            Self::Failed { status, reason, .. } => Self::Failed { status, reason, is_unsent: true },
            Self::SessionGone => Self::SessionGone,
        }
    }

    /// Returns the reason for logs.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::SessionGone => "the server does not know the session any more",
            Self::Failed { reason, .. } => reason,
        }
    }

    /// Returns the error response to the request that failed.
    pub(super) fn answer(&self, request: &Id) -> Message {
        let status = match self {
            Self::Failed { is_unsent: true, reason, .. } => return unsent_error(request, reason),
            Self::Failed { status, .. } => status.map(|status| status.as_u16()),
            Self::SessionGone => None,
        };
        link_error(request, self.reason(), status)
    }
}
