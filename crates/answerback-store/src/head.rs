use answerback_ledger::tree::Frontier;
use answerback_ledger::{Hash, VerifierKey};

/// The head of the log, which a writer reads and updates under the lock.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LogHead {
    /// The number of entries in the log.
    pub size: u64,
    /// The roots of the tree's complete subtrees.
    pub frontier: Frontier,
    /// The root over all entries.
    pub root: Hash,
    /// The time of the newest entry, in microseconds since 1970.
    pub last_ts: i64,
    /// The index below which all entries were pruned.
    pub minimum: u64,
    /// The sequence number of the newest event.
    pub event_seq: u64,
    /// The key in force.
    pub signer: VerifierKey,
}
