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
    #[error("the store is damaged: {0}; run `answerback ledger verify` and restore a good copy")]
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
