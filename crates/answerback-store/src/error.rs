use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use answerback::case::DecisionError;
use answerback_ledger::anchor::{AnchorError, Divergence};
use answerback_ledger::key::KeyError;
use answerback_ledger::leaf::LeafError;

/// Why the store did not do what it was asked.
///
/// It can be cloned, because everything that was in a batch fails with it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Too much waits already. Nothing was written.
    #[error("the store's queue is full; try again later")]
    Busy,
    /// The store was closed. Nothing was written.
    #[error("the store is closed")]
    Closed,
    /// Another process held the write lock for too long. Nothing was written.
    #[error("another process keeps the store locked; try again later")]
    Locked,
    /// The commit failed: what was in it may be on the disk or not.
    #[error("the store could not be written, and whether the entry is in it is not known: {0}")]
    InDoubt(Arc<dyn Error + Send + Sync>),
    /// An earlier failure: nothing is acknowledged until the store was opened and verified again.
    #[error("the store failed and is not usable yet: {0}")]
    Poisoned(Arc<dyn Error + Send + Sync>),
    /// The engine failed. Nothing was written.
    #[error("the store could not be used: {0}")]
    Engine(Arc<dyn Error + Send + Sync>),
    /// A rule of the tables keeps a row out. Nothing was written.
    #[error("the store refused a row: {0}")]
    Refused(Arc<dyn Error + Send + Sync>),
    /// What is stored does not fit together.
    #[error("the store is damaged: {0}; verify it and restore a good copy")]
    Damaged(String),
    /// The store differs from its anchor. Nothing is signed.
    #[error(transparent)]
    Diverged(#[from] Divergence),
    /// The log goes on in another store. This one can be read.
    #[error("the log was moved to {0}; name that store in the configuration")]
    Moved(String),
    /// The key cannot be used.
    #[error(transparent)]
    Key(Arc<KeyError>),
    /// The anchor cannot be used.
    #[error(transparent)]
    Anchor(Arc<AnchorError>),
    /// The store does not fit the configuration or this program.
    #[error("{0}")]
    Unfit(String),
    /// A leaf that the format refuses.
    #[error("the entry is not one: {0}")]
    Leaf(#[from] LeafError),
    /// The request has an answer already.
    #[error("the request at {request} is answered by the entry at {answer}")]
    AlreadyAnswered {
        /// The index of the request.
        request: u64,
        /// The index of its answer.
        answer: u64,
    },
    /// There is no such thing.
    #[error("the store has no {0}")]
    Missing(String),
    /// A decision that does not hold.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// Something is larger than the store takes.
    #[error("{what} has {size} bytes; the store takes at most {most}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The most that is taken.
        most: usize,
    },
    /// A unit of work gave up of its own accord. Nothing of it was written.
    #[error("{0}")]
    Unit(Arc<dyn Error + Send + Sync>),
}

impl StoreError {
    /// A unit's own reason to give up.
    pub fn unit(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unit(Arc::from(error.into()))
    }

    /// Returns the reason without internal detail, for readers who are not the operator: no address, path or words of a
    /// database are in it. The detail is what the error displays, and belongs in the log.
    pub fn public_message(&self) -> Cow<'static, str> {
        match self {
            Self::InDoubt(_) => {
                "the store could not be written, and whether the entry is in it is not known".into()
            }
            Self::Poisoned(_) => "the store failed and is not usable yet".into(),
            Self::Engine(_) => "the store could not be used".into(),
            Self::Refused(_) => "the store refused a row".into(),
            Self::Damaged(_) => "the store is damaged".into(),
            Self::Diverged(_) => "the store differs from its anchor".into(),
            Self::Moved(_) => "the log was moved to another store".into(),
            Self::Key(_) => "the store's key cannot be used".into(),
            Self::Anchor(_) => "the store's anchor cannot be used".into(),
            Self::Unfit(_) => "the store does not fit the configuration or this program".into(),
            Self::Busy
            | Self::Closed
            | Self::Locked
            | Self::Leaf(_)
            | Self::AlreadyAnswered { .. }
            | Self::Missing(_)
            | Self::Decision(_)
            | Self::TooLarge { .. }
            | Self::Unit(_) => self.to_string().into(),
        }
    }

    /// Whether the same call may succeed a little later.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy | Self::Locked | Self::Poisoned(_))
    }

    /// Whether the store failed, as against the caller's own unit.
    pub const fn is_failure_of_the_store(&self) -> bool {
        !matches!(
            self,
            Self::Leaf(_)
                | Self::AlreadyAnswered { .. }
                | Self::Missing(_)
                | Self::Decision(_)
                | Self::TooLarge { .. }
                | Self::Unit(_)
        )
    }
}

impl From<KeyError> for StoreError {
    fn from(error: KeyError) -> Self {
        Self::Key(Arc::new(error))
    }
}

impl From<AnchorError> for StoreError {
    fn from(error: AnchorError) -> Self {
        Self::Anchor(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_message_has_no_detail() {
        let detail = "postgres://app:hunter2@db.internal:5432/prod";
        let cause = || Arc::from(Box::<dyn Error + Send + Sync>::from(detail));
        for error in [
            StoreError::InDoubt(cause()),
            StoreError::Poisoned(cause()),
            StoreError::Engine(cause()),
            StoreError::Refused(cause()),
            StoreError::Damaged(detail.to_owned()),
            StoreError::Moved(detail.to_owned()),
            StoreError::Unfit(detail.to_owned()),
        ] {
            assert!(error.to_string().contains(detail));
            assert!(!error.public_message().contains("db.internal"), "{error:?}");
        }
        assert_eq!(StoreError::Busy.public_message(), StoreError::Busy.to_string());
    }
}
