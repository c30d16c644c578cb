use answerback::Timestamp;
use sha2::{Digest, Sha256};

/// The prefix of our own streams, which record the history of cases and artifacts. Pruning does not
/// remove their events.
pub const OWN_STREAMS: &str = "answerback/";

/// One event in the sequence that viewers follow.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredEvent {
    /// The sequence number, starting at 1 without gaps.
    pub seq: u64,
    /// The time at which the event was written.
    pub time: Timestamp,
    /// The name of the event's stream.
    pub stream: String,
    /// The kind of the event.
    pub kind: String,
    /// The object that the event belongs to, such as [`crate::entry_reference`].
    pub reference: Option<String>,
    /// The content. It is `None` after an erasure.
    pub body: Option<Vec<u8>>,
}

impl StoredEvent {
    /// The kind of the event that ends a stream. Its body is the stream's digest in hex.
    pub const END: &'static str = "end";

    pub(crate) const fn new(
        seq: u64,
        time: Timestamp,
        stream: String,
        kind: String,
        reference: Option<String>,
        body: Option<Vec<u8>>,
    ) -> Self {
        Self { seq, time, stream, kind, reference, body }
    }
}

/// A range of events that are no longer stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a gap has exactly two ends")]
pub struct EventGap {
    /// The sequence number of the first missing event.
    pub from: u64,
    /// The sequence number of the last missing event.
    pub to: u64,
}

/// A page of events.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct EventPage {
    /// The range of events that are missing before the page, if any.
    pub gap: Option<EventGap>,
    /// The events, oldest first.
    pub events: Vec<StoredEvent>,
    /// The cursor for the next page: the sequence number up to which this page covers all events.
    pub after: u64,
}

/// Selects the streams of a list and the position of the page.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct StreamFilter<'f> {
    pub(crate) without: &'f str,
    pub(crate) before: Option<u64>,
}

impl<'f> StreamFilter<'f> {
    /// Excludes streams whose names have this prefix.
    pub const fn without(mut self, beginning: &'f str) -> Self {
        self.without = beginning;
        self
    }

    /// Selects only streams whose newest event comes before this one.
    pub const fn before(mut self, seq: Option<u64>) -> Self {
        self.before = seq;
        self
    }
}

/// A stream in a list of streams.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StreamInfo {
    /// The name of the stream.
    pub name: String,
    /// The number of events that the stream ever had.
    pub events: u64,
    /// The digest over all its events.
    pub digest: [u8; 32],
    /// True if the stream has ended.
    pub is_ended: bool,
    /// The sequence number of its newest event, or 0 if none is stored.
    pub newest: u64,
}

impl StreamInfo {
    pub(crate) fn new(name: String, stream: StreamDigest, newest: u64) -> Self {
        let StreamDigest { count: events, digest, ended: is_ended } = stream;
        Self { name, events, digest, is_ended, newest }
    }
}

/// The stored state of a stream: the number of its events and the digest over them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StreamDigest {
    pub(crate) count: u64,
    pub(crate) digest: [u8; 32],
    pub(crate) ended: bool,
}

impl StreamDigest {
    pub(crate) const fn new() -> Self {
        Self { count: 0, digest: [0; 32], ended: false }
    }

    /// Adds one event. The digest is a hash chain, so the end event commits to all events.
    pub(crate) fn push(&mut self, kind: &str, body: &[u8]) {
        let mut hash = Sha256::new_with_prefix(self.digest);
        hash.update((kind.len() as u64).to_be_bytes());
        hash.update(kind);
        hash.update(body);
        self.digest = hash.finalize().into();
        self.count += 1;
    }
}
