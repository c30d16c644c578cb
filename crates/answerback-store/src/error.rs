use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use answerback::case::DecisionError;
use answerback_ledger::anchor::{AnchorError, Divergence};
use answerback_ledger::key::KeyError;
use answerback_ledger::leaf::LeafError;

/// Explains why a store operation failed.
///
/// The error can be cloned, because a failed batch returns it to every caller in the batch.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The queue is full. Nothing was written.
    #[error("the store's queue is full; try again later")]
    Busy,
    /// The store was closed. Nothing was written.
    #[error("the store is closed")]
    Closed,
    /// Another process held the write lock for too long. Nothing was written.
    #[error("another process keeps the store locked; try again later")]
    Locked,
    /// The commit failed. It is unknown whether its data is on the disk.
    #[error("the store could not be written, and whether the entry is in it is not known: {0}")]
    InDoubt(Arc<dyn Error + Send + Sync>),
    /// An earlier operation failed. The store acknowledges nothing until it was reopened and
    /// checked.
    #[error("the store failed and is not usable yet: {0}")]
    Poisoned(Arc<dyn Error + Send + Sync>),
    /// The engine failed. Nothing was written.
    #[error("the store could not be used: {0}")]
    Engine(Arc<dyn Error + Send + Sync>),
    /// A row violates a constraint of the tables. Nothing was written.
    #[error("the store refused a row: {0}")]
    Refused(Arc<dyn Error + Send + Sync>),
    /// The stored data is inconsistent.
    #[error("the store is damaged: {0}; verify it and restore a good copy")]
    Damaged(String),
    /// The store differs from its anchor. Nothing is signed.
    #[error(transparent)]
    Diverged(#[from] Divergence),
    /// The log continues in another store. This store can still be read.
    #[error("the log was moved to {0}; name that store in the configuration")]
    Moved(String),
    /// The key cannot be used.
    #[error(transparent)]
    Key(Arc<KeyError>),
    /// The anchor cannot be used.
    #[error(transparent)]
    Anchor(Arc<AnchorError>),
    /// The store does not match the configuration or this program.
    #[error("{0}")]
    Unfit(String),
    /// The format does not allow the leaf.
    #[error("the entry is not one: {0}")]
    Leaf(#[from] LeafError),
    /// The request already has a response.
    #[error("the request at {request} is answered by the entry at {answer}")]
    AlreadyAnswered {
        /// The index of the request.
        request: u64,
        /// The index of the response.
        answer: u64,
    },
    /// The requested object does not exist.
    #[error("the store has no {0}")]
    Missing(String),
    /// The decision is not valid for the case.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// An object is larger than the store allows.
    #[error("{what} has {size} bytes; the store takes at most {most}")]
    TooLarge {
        /// The kind of object.
        what: &'static str,
        /// The object's size in bytes.
        size: usize,
        /// The maximum size in bytes.
        most: usize,
    },
    /// A unit of work returned its own error. Nothing of it was written.
    #[error("{0}")]
    Unit(Arc<dyn Error + Send + Sync>),
}

impl StoreError {
    /// Creates the error of a unit of work that fails for its own reason.
    pub fn unit(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unit(Arc::from(error.into()))
    }

    /// Returns the reason without internal detail, for readers other than the operator. It contains
    /// no address, path or database message. The full text of the error belongs in the log.
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

    /// True if the same call may succeed a little later.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy | Self::Locked | Self::Poisoned(_))
    }

    /// True if the store failed, and not the caller's own unit.
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
