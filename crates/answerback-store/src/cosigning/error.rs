use crate::StoreError;

/// Explains why there is no cosignature.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The witness does not respond in time.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The witness does not know the log.
    #[error("it does not know this log; give its operator the log's key")]
    UnknownLog,
    /// The witness knows the log by another key.
    #[error(
        "it does not trust the key that signed the checkpoint; give its operator the log's key"
    )]
    Untrusted,
    /// The witness has seen a longer log: this one was rolled back.
    #[error(
        "it has seen {seen} entries and the log has {size}: the log was restored from an older copy"
    )]
    Ahead {
        /// The size that the witness has seen.
        seen: u64,
        /// The size of the log.
        size: u64,
    },
    /// The witness has seen another history.
    #[error(
        "the first {seen} entries of the log are not those that it has seen: history was rewritten"
    )]
    Inconsistent {
        /// The size at which the histories differ.
        seen: u64,
    },
    /// Other processes kept sending newer checkpoints.
    #[error("others show it newer checkpoints all the time; try again later")]
    Busy,
    /// The witness responded with an unexpected HTTP status.
    #[error("it answered with status {0}")]
    Status(u16),
    /// The witness's response is malformed.
    #[error("its answer is not one: {0}")]
    Answer(&'static str),
    /// The witness responded with cosignatures of other keys.
    #[error("it did not sign with the key that is configured for it")]
    Unsigned,
    /// The cosignature is not valid.
    #[error("its cosignature is not one of this checkpoint")]
    Forged,
    /// The store cannot be read, or cannot store the cosignature.
    #[error(transparent)]
    Store(#[from] StoreError),
}
