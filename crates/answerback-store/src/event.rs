use answerback::Timestamp;
use sha2::{Digest, Sha256};

/// Streams whose names begin so are our own: what happened to cases and artifacts. Their events are a memory, so pruning
/// leaves them.
pub const OWN_STREAMS: &str = "answerback/";

/// One event of the sequence that viewers follow.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Its place, counted from 1 without holes.
    pub seq: u64,
    /// When it was written.
    pub time: Timestamp,
    /// The stream it belongs to.
    pub stream: String,
    /// What it is.
    pub kind: String,
    /// What it belongs to, such as [`crate::entry_reference`].
    pub reference: Option<String>,
    /// Its content. `None` once it was erased.
    pub body: Option<Vec<u8>>,
}

impl Event {
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

/// Events that are no longer kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a gap is two ends")]
pub struct Gap {
    /// The first that is missing.
    pub from: u64,
    /// The last that is missing.
    pub to: u64,
}

/// A page of events.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct EventPage {
    /// What is missing before the first event of the page.
    pub gap: Option<Gap>,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Where to read on: everything up to here was seen.
    pub after: u64,
}

/// Where the next page of streams goes on, and which names it leaves out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct StreamFilter<'f> {
    pub(crate) without: &'f str,
    pub(crate) before: Option<u64>,
}

impl<'f> StreamFilter<'f> {
    /// Leaves out the names that begin so.
    pub const fn without(mut self, beginning: &'f str) -> Self {
        self.without = beginning;
        self
    }

    /// Only streams whose newest event lies before this one.
    pub const fn before(mut self, seq: Option<u64>) -> Self {
        self.before = seq;
        self
    }
}

/// A stream of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StreamInfo {
    /// Its name.
    pub name: String,
    /// How many events it has had.
    pub events: u64,
    /// The digest over them.
    pub digest: [u8; 32],
    /// Whether it has ended.
    pub is_ended: bool,
    /// The sequence number of its newest event; 0, where none of them is kept.
    pub newest: u64,
}

impl StreamInfo {
    pub(crate) fn new(name: String, stream: StreamDigest, newest: u64) -> Self {
        let StreamDigest { count: events, digest, ended: is_ended } = stream;
        Self { name, events, digest, is_ended, newest }
    }
}

/// What is kept of a stream: how many events, and the digest over them.
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

    /// The stream with one event more: a chain, so that its end says how it went.
    pub(crate) fn push(&mut self, kind: &str, body: &[u8]) {
        let mut hash = Sha256::new_with_prefix(self.digest);
        hash.update((kind.len() as u64).to_be_bytes());
        hash.update(kind);
        hash.update(body);
        self.digest = hash.finalize().into();
        self.count += 1;
    }
}
