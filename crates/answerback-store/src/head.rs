use answerback_ledger::tree::Frontier;
use answerback_ledger::{Hash, VerifierKey};

/// The head of the log: what a writer reads under the lock and leaves behind.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Head {
    /// How many entries the log has.
    pub size: u64,
    /// The roots of its complete subtrees.
    pub frontier: Frontier,
    /// The root over all entries.
    pub root: Hash,
    /// The time of the newest entry, in microseconds since 1970.
    pub last_ts: i64,
    /// Entries below this index were pruned.
    pub minimum: u64,
    /// The sequence number of the newest event.
    pub event_seq: u64,
    /// The key in force.
    pub signer: VerifierKey,
}
