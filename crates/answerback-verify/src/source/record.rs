//! The records and statements that a source returns.

use crate::hash::MerkleHash;

/// The unverified statements of a source about the log as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceClaims {
    /// The log's origin.
    pub origin: String,
    /// The verifier key in force at the first available entry.
    pub vkey: String,
    /// The index of the first available entry.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
    /// True if a prune entry must account for missing entries below `from`. A partial export needs
    /// none.
    pub missing_needs_prune: bool,
    /// The head row of a store.
    pub head: Option<SourceHead>,
    /// The hash tiles that must be present.
    pub tiles: StoredTiles,
}

/// The hash tiles that a source has in addition to its entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoredTiles {
    /// No tiles: the export contains only entries.
    None,
    /// All full tiles.
    Full,
    /// All full tiles, and the partial tile at the end of each level.
    FullAndPartial,
}

/// The head row of a store.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceHead {
    /// The roots of the complete subtrees, largest first.
    pub frontier: Vec<u8>,
    /// The root.
    pub root: Vec<u8>,
    /// The time of the newest entry, in microseconds.
    pub last_ts: i64,
    /// The verifier key in force.
    pub signer: String,
}

/// One record of a log.
#[derive(Clone, Copy, Debug)]
pub enum SourceRecord<'a> {
    /// The leaf hash of the next entry, which was pruned.
    PrunedHash(MerkleHash),
    /// The roots of the complete subtrees to the left of the first entry. They precede all entries.
    Subtrees(&'a [MerkleHash]),
    /// The next entry.
    Entry(SourceEntry<'a>),
    /// A checkpoint. It follows the last entry of its tree, or comes at the end if there is no such
    /// entry.
    Checkpoint {
        /// The signed note.
        note: &'a str,
        /// The size that the store records for it.
        filed_under: Option<u64>,
    },
    /// A part that belongs to no available entry.
    StrayPart {
        /// The index of the entry that the store records for it.
        index: u64,
        /// The name of the part.
        name: &'a [u8],
    },
}

/// An entry with its parts and columns.
#[derive(Clone, Copy, Debug)]
pub struct SourceEntry<'a> {
    /// The index of the entry.
    pub index: u64,
    /// The exact bytes of the leaf.
    pub leaf: &'a [u8],
    /// The available parts.
    pub parts: &'a [SourcePart<'a>],
    /// The columns of a store.
    pub columns: Option<EntryColumns<'a>>,
}

/// The content of a part with its salt.
#[derive(Clone, Copy, Debug)]
pub struct SourcePart<'a> {
    /// The name of the part.
    pub name: &'a [u8],
    /// The key of its commitment.
    pub salt: &'a [u8],
    /// The exact bytes of the content.
    pub bytes: &'a [u8],
}

/// The columns in which a store repeats data of the leaf for searches.
#[derive(Clone, Copy, Debug)]
pub struct EntryColumns<'a> {
    /// The member `ts`, in microseconds.
    pub ts: i64,
    /// The member `kind`.
    pub kind: &'a [u8],
    /// The member `agent_id`.
    pub agent: Option<&'a [u8]>,
    /// The member `tool`.
    pub tool: Option<&'a [u8]>,
    /// The member `outcome`.
    pub outcome: Option<&'a [u8]>,
    /// The member `request_id`, as 16 bytes.
    pub request_id: Option<&'a [u8]>,
    /// The member `response_id`, as 16 bytes.
    pub response_id: Option<&'a [u8]>,
    /// The member `reply_id`, as 16 bytes.
    pub reply_id: Option<&'a [u8]>,
    /// The leaf's hash.
    pub leaf_hash: &'a [u8],
}

/// A hash tile.
#[derive(Clone, Copy, Debug)]
pub struct SourceTile<'a> {
    /// The tile level.
    pub level: u64,
    /// The number of the tile within its level.
    pub number: u64,
    /// The hashes, concatenated.
    pub hashes: &'a [u8],
    /// The root of the tile, if the source stores it.
    pub root: Option<&'a [u8]>,
}

/// A row next to the log, which entries commit to.
#[derive(Clone, Copy, Debug)]
pub enum StoredState<'a> {
    /// A case.
    Case(StoredCase<'a>),
    /// A retry state.
    Attempt(StoredAttempt<'a>),
}

/// A case as its row stores it. A column with the wrong type is `None`.
#[derive(Clone, Copy, Debug)]
pub struct StoredCase<'a> {
    /// The id of the case.
    pub id: &'a [u8],
    /// True if the row marks the case as decided.
    pub decided: Option<bool>,
    /// The expiry, in milliseconds.
    pub expires: Option<i64>,
    /// The revision.
    pub revision: Option<i64>,
    /// The case as JSON.
    pub body: &'a [u8],
    /// The content shown to the person.
    pub content: &'a [u8],
}

/// A retry state as its row stores it. A column with the wrong type is `None`.
#[derive(Clone, Copy, Debug)]
pub struct StoredAttempt<'a> {
    /// The retry key.
    pub key: &'a [u8],
    /// The expiry, in milliseconds.
    pub expires: Option<i64>,
    /// True if the row marks the state as blocked.
    pub blocked: Option<bool>,
    /// The state as JSON.
    pub state: &'a [u8],
}
