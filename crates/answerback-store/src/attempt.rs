use answerback::retry::State;

/// A retry state with the revision to compare when it is swapped.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KeptAttempt {
    /// What is remembered of the key.
    pub state: State,
    /// Goes up with every swap.
    pub revision: u64,
}

impl KeptAttempt {
    pub(crate) const fn new(state: State, revision: u64) -> Self {
        Self { state, revision }
    }
}
