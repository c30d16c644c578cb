//! The operations of a unit of work. They are committed together or not at all.

use answerback::case::{Case, DecisionSubmission};
use answerback::retry::{RetryKey, RetryState};
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::{Draft, Hash, LeafId};

use crate::{CaseRecord, LedgerEntry, StoreError, StoredEvent, StoredRetryState};

/// The place of an appended entry in the log. It is final when the unit's ticket completes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AppendedEntry {
    /// The index of the entry.
    pub index: u64,
    /// The hash of its leaf.
    pub leaf_hash: Hash,
    /// The time of the entry, in microseconds since 1970.
    pub micros: i64,
    /// True if the entry already existed, because the same response was appended before.
    pub is_repeated: bool,
}

impl AppendedEntry {
    pub(crate) const fn new(index: u64, leaf_hash: Hash, micros: i64, is_repeated: bool) -> Self {
        Self { index, leaf_hash, micros, is_repeated }
    }
}

/// Returns the reference to an entry. Events, cases, blobs and retry states use it. Erasing or
/// pruning the entry also erases their content.
pub fn entry_reference(index: u64) -> String {
    format!("entry/{index}")
}

/// Returns the reference to a case. Erasing the words of people on the case also erases the events
/// with this reference.
pub fn case_reference(id: &UuidV7) -> String {
    format!("case/{}", id.as_str().to_ascii_lowercase())
}

/// Appends to and reads the audit log.
pub trait Log {
    /// Appends an entry. The ledger adds the time, and for a response the index of its request. If
    /// the clock is far behind the newest entry, the part `observed_ts` records its reading.
    ///
    /// A response or rejection is not appended again if its `response_id` is already in the log, or
    /// without one its `reply_id`. The existing entry is returned instead.
    ///
    /// # Errors
    ///
    /// Returns an error if the format does not allow the draft, or its request is already answered.
    fn append(&mut self, draft: &Draft) -> Result<AppendedEntry, StoreError>;

    /// Returns the existing entry with the `response_id` of a draft, or without one with its
    /// `reply_id`. It includes the entry's stored parts. The caller must check whether the content
    /// is the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the entry cannot be read.
    fn recorded(&mut self, draft: &Draft) -> Result<Option<LedgerEntry>, StoreError>;

    /// Returns the index of the request with this id.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn request_index(&mut self, id: LeafId) -> Result<Option<u64>, StoreError>;
}

/// Stores the states of the retry tracker, with compare and swap.
pub trait RetryStates {
    /// Returns the retry state of a key, unless it has expired.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn retry_state(&mut self, key: &RetryKey) -> Result<Option<StoredRetryState>, StoreError>;

    /// Replaces the state, or removes it with `None`, if the stored revision equals `expected`.
    /// `None` expects that no state exists. Returns true if the swap succeeded.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be written.
    fn replace_retry_state(
        &mut self,
        key: &RetryKey,
        expected: Option<u64>,
        state: Option<&RetryState>,
    ) -> Result<bool, StoreError>;

    /// Records that a stored state contains text from an entry, which [`entry_reference`] names.
    /// Erasing or pruning the entry removes the state. A swap records the entry of the first call
    /// automatically.
    ///
    /// # Errors
    ///
    /// Returns an error if the reference cannot be written.
    fn add_attempt_source(&mut self, key: &RetryKey, reference: &str) -> Result<(), StoreError>;

    /// Returns the references to the entries whose text a stored state contains.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    fn attempt_sources(&mut self, key: &RetryKey) -> Result<Vec<String>, StoreError>;
}

/// Stores named texts for a limited time. They expire, and count toward the maximum number of retry
/// states.
pub trait Notes {
    /// Returns the note with this name, unless it has expired.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn note(&mut self, name: &str) -> Result<Option<String>, StoreError>;

    /// Stores a note under a name until it expires, and replaces an earlier one. If it contains
    /// text from an entry, pass the entry's [`entry_reference`]. Erasing or pruning the entry then
    /// removes the note.
    ///
    /// # Errors
    ///
    /// Returns an error if the note cannot be written.
    fn store_note(
        &mut self,
        name: &str,
        text: &str,
        expires: Timestamp,
        reference: Option<&str>,
    ) -> Result<(), StoreError>;
}

/// A new case to be stored.
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
    /// Creates a new case with the content shown to the person.
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

    /// Sets the retry state that the case blocks from this unit on. The log records it, so that
    /// deleting the state is detectable.
    pub fn with_blocked_key(mut self, key: &RetryKey) -> Self {
        self.blocked = Some(key.clone());
        self
    }

    /// Sets data that only the caller can read. It is stored until the case is decided or expires.
    pub fn with_private(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.private = Some(bytes.into());
        self
    }

    /// Sets the object that the case belongs to, such as [`entry_reference`].
    pub fn with_reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Adds a reference to another entry whose text the content contains. Erasing or pruning that
    /// entry erases the content.
    pub fn with_source(mut self, reference: impl Into<String>) -> Self {
        self.sources.push(reference.into());
        self
    }
}

/// Stores the cases that wait for people.
pub trait Cases {
    /// Stores a new case. If a case with this id already exists, it stays unchanged and is
    /// returned. The next entry about a case in this unit records the new case; otherwise the store
    /// appends an entry for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the case cannot be written.
    fn put_case(&mut self, new: &NewCase) -> Result<CaseRecord, StoreError>;

    /// Returns the case with this id.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn case(&mut self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError>;

    /// Replaces or removes the private data of a case. A decided case can have private data until
    /// it expires.
    ///
    /// # Errors
    ///
    /// Returns an error if the data cannot be written.
    fn store_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> Result<(), StoreError>;

    /// Records the entry that contains a person's words on a case, which [`entry_reference`] names.
    /// Erasing or pruning the entry erases the words.
    ///
    /// # Errors
    ///
    /// Returns an error if the reference cannot be written.
    fn add_words_source(&mut self, id: &UuidV7, reference: &str) -> Result<(), StoreError>;

    /// Decides a case by the rules of [`answerback::case::decide`]. The first decision wins, and
    /// repeating the same decision returns the same result. The returned record includes the
    /// private data one last time.
    ///
    /// The caller must append the decision's entry in the same unit, and name it with
    /// [`Self::add_words_source`].
    ///
    /// # Errors
    ///
    /// Returns an error if the case does not exist or the decision is not valid.
    fn decide_case(
        &mut self,
        id: &UuidV7,
        submission: &DecisionSubmission,
    ) -> Result<CaseRecord, StoreError>;
}

/// Stores the sequence of events that viewers follow.
pub trait EventLog {
    /// Appends an event and returns its sequence number. The sequence has no gaps.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream has ended.
    fn append_event(
        &mut self,
        stream: &str,
        kind: &str,
        reference: Option<&str>,
        body: &[u8],
    ) -> Result<u64, StoreError>;

    /// Ends a stream with an event that contains the digest over all its events. Ending it again
    /// has no effect.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream cannot be read.
    fn end_stream(
        &mut self,
        stream: &str,
        reference: Option<&str>,
    ) -> Result<Option<u64>, StoreError>;

    /// Returns the newest stored events of a stream, newest first, including those of this
    /// transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    fn newest_events(&mut self, stream: &str, limit: usize)
    -> Result<Vec<StoredEvent>, StoreError>;
}

/// Stores content under its digest.
pub trait Blobs {
    /// Stores bytes under their SHA-256 digest.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many bytes.
    fn put_blob(&mut self, bytes: &[u8], reference: Option<&str>) -> Result<Digest, StoreError>;

    /// Returns the blob with this digest.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    fn blob(&mut self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Combines all operations on the store in one transaction.
///
/// A unit of work may run more than once before its ticket completes, and the changes of a failed
/// run are rolled back. So a unit should not change anything else.
pub trait Transaction: Log + RetryStates + Notes + Cases + EventLog + Blobs {
    /// Returns the time of this transaction by the ledger's clock. It is not before the newest
    /// entry, unless the clock was set back.
    fn now(&self) -> Timestamp;
}
