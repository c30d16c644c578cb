//! What a unit of work may do. All of it happens together or not at all.

use answerback::case::{Case, Submission};
use answerback::retry::{RetryKey, State};
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::{Draft, Hash, Id};

use crate::{CaseRecord, Entry, Event, KeptAttempt, StoreError};

/// Where a draft became an entry. It counts once the unit's ticket says that it is durable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Appended {
    /// The entry's index.
    pub index: u64,
    /// The hash of its leaf.
    pub leaf_hash: Hash,
    /// Its time, in microseconds since 1970.
    pub micros: i64,
    /// Whether the entry was there already: the same response came again.
    pub is_repeated: bool,
}

impl Appended {
    pub(crate) const fn new(index: u64, leaf_hash: Hash, micros: i64, is_repeated: bool) -> Self {
        Self { index, leaf_hash, micros, is_repeated }
    }
}

/// The reference by which events, cases, blobs and retry states belong to an entry, so that erasing or
/// pruning the entry takes their content along.
pub fn entry_reference(index: u64) -> String {
    format!("entry/{index}")
}

/// The reference by which events belong to a case: they go with what people said of it.
pub fn case_reference(id: &UuidV7) -> String {
    format!("case/{}", id.as_str().to_ascii_lowercase())
}

/// The audit log.
pub trait Log {
    /// Appends an entry. The ledger gives it its time, and a response the index of its request. Where the clock reads
    /// much earlier than the newest entry, the entry has its reading in a part, `observed_ts`.
    ///
    /// A response or rejection whose `response_id` (or, without one, whose `reply_id`) is in the log is
    /// not appended again: the entry that is there is given.
    ///
    /// # Errors
    ///
    /// When the format refuses the draft, or the request it answers is answered already.
    fn append(&mut self, draft: &Draft) -> Result<Appended, StoreError>;

    /// The entry that has the `response_id` of a draft (or, without one, its `reply_id`) already, with those of its parts
    /// that are still there. Whether it says the same is for the caller to see.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn recorded(&mut self, draft: &Draft) -> Result<Option<Entry>, StoreError>;

    /// The index of the request with this id.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn request_index(&mut self, id: Id) -> Result<Option<u64>, StoreError>;
}

/// The states of the retry tracker: load, step, compare and swap.
pub trait RetryStates {
    /// What is remembered of a key, unless it lapsed.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn attempt(&mut self, key: &RetryKey) -> Result<Option<KeptAttempt>, StoreError>;

    /// Swaps a state in, or out with `None`, when the kept revision is the expected one; `None` expects
    /// that nothing is kept. Says whether it did.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn swap_attempt(
        &mut self,
        key: &RetryKey,
        expected: Option<u64>,
        state: Option<&State>,
    ) -> Result<bool, StoreError>;

    /// Notes an entry, as [`entry_reference`] names it, that a kept state tells something of: erasing or pruning the
    /// entry takes the state along. The first call's own record is noted with the state.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn attempt_from(&mut self, key: &RetryKey, reference: &str) -> Result<(), StoreError>;

    /// The entries that a kept state tells something of.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn attempt_sources(&mut self, key: &RetryKey) -> Result<Vec<String>, StoreError>;
}

/// What is remembered for a while under a name. It lapses, and is counted among the states of the retry tracker, of which
/// there are so many at most.
pub trait Notes {
    /// What is noted under a name, unless it lapsed.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn note(&mut self, name: &str) -> Result<Option<String>, StoreError>;

    /// Notes a text under a name, in the place of what was noted there, until a time. Where it tells what an entry tells,
    /// as [`entry_reference`] names it, erasing or pruning that takes it along.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn keep_note(
        &mut self,
        name: &str,
        text: &str,
        expires: Timestamp,
        reference: Option<&str>,
    ) -> Result<(), StoreError>;
}

/// A case that comes in.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct NewCase {
    pub(crate) case: Case,
    pub(crate) content: Vec<u8>,
    pub(crate) private: Option<Vec<u8>>,
    pub(crate) reference: Option<String>,
    pub(crate) sources: Vec<String>,
    pub(crate) blocked: Option<RetryKey>,
}

impl NewCase {
    /// A case with what the person is shown.
    pub fn new(case: Case, content: impl Into<Vec<u8>>) -> Self {
        Self {
            case,
            content: content.into(),
            private: None,
            reference: None,
            sources: Vec::new(),
            blocked: None,
        }
    }

    /// The retry state that the case blocks from this unit on. The log records it, so that deleting the state shows.
    pub fn with_blocked_key(mut self, key: &RetryKey) -> Self {
        self.blocked = Some(key.clone());
        self
    }

    /// What only the caller can read, kept until the case is decided or lapses.
    pub fn with_private(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.private = Some(bytes.into());
        self
    }

    /// What it belongs to, such as [`entry_reference`].
    pub fn with_reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Something else that its content tells of, in the same form: erasing or pruning that takes the content along.
    pub fn with_source(mut self, reference: impl Into<String>) -> Self {
        self.sources.push(reference.into());
        self
    }
}

/// What waits for people.
pub trait Cases {
    /// Keeps a new case. A case with this id that is there already stays as it is, and is given. The next entry about a
    /// case in this unit records it, or else an entry of its own.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn put_case(&mut self, new: &NewCase) -> Result<CaseRecord, StoreError>;

    /// The case with this id.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn case(&mut self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError>;

    /// Keeps other private bytes with a case, or none: of a decided one, too, until its time is over.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn keep_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> Result<(), StoreError>;

    /// Notes the entry, as [`entry_reference`] names it, that has what a person said about a case: erasing or pruning
    /// the entry takes the words along.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn said_in(&mut self, id: &UuidV7, reference: &str) -> Result<(), StoreError>;

    /// Decides a case by the rule of [`answerback::case::decide`]: the first decision wins, and the very
    /// same one again is answered alike. The decision's entry in the log is the caller's to append, in
    /// the same unit, and to name with [`Self::said_in`]. What was private comes with the record this last time.
    ///
    /// # Errors
    ///
    /// When there is no such case or the decision does not hold.
    fn decide_case(
        &mut self,
        id: &UuidV7,
        submission: &Submission,
    ) -> Result<CaseRecord, StoreError>;
}

/// The sequence that viewers follow.
pub trait EventLog {
    /// Appends an event and gives its sequence number, which counts without holes.
    ///
    /// # Errors
    ///
    /// When the stream has ended.
    fn append_event(
        &mut self,
        stream: &str,
        kind: &str,
        reference: Option<&str>,
        body: &[u8],
    ) -> Result<u64, StoreError>;

    /// Ends a stream with an event that holds the digest over all its events. Ending it again does nothing.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn end_stream(
        &mut self,
        stream: &str,
        reference: Option<&str>,
    ) -> Result<Option<u64>, StoreError>;

    /// The newest events of a stream that are kept, newest first, with those of this transaction.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn newest_events(&mut self, stream: &str, limit: usize) -> Result<Vec<Event>, StoreError>;
}

/// Content by its digest.
pub trait Blobs {
    /// Keeps bytes under their SHA-256.
    ///
    /// # Errors
    ///
    /// When they are too many.
    fn put_blob(&mut self, bytes: &[u8], reference: Option<&str>) -> Result<Digest, StoreError>;

    /// The bytes with this digest.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn blob(&mut self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
}

/// All of the store in one transaction.
///
/// A unit of work may be run more than once before its ticket is answered, and what it did in a run
/// that failed is gone. So it should change nothing else.
pub trait Transaction: Log + RetryStates + Notes + Cases + EventLog + Blobs {
    /// The time of this transaction by the ledger's clock: not before the newest entry, unless the clock was set back.
    fn now(&self) -> Timestamp;
}
