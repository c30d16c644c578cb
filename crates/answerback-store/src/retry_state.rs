use answerback::retry::RetryState;

/// A stored retry state with its revision, which a swap compares.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredRetryState {
    /// The retry state of the key.
    pub state: RetryState,
    /// The revision, which increases with every swap.
    pub revision: u64,
}

impl StoredRetryState {
    pub(crate) const fn new(state: RetryState, revision: u64) -> Self {
        Self { state, revision }
    }
}
