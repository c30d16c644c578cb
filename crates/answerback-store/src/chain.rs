//! The log as this process writes it: the connection, the key, the right edge of the tree and the
//! anchors.
//!
//! Opening it checks for damage that a crash, a bad disk or an old backup may have caused. The
//! writer reopens it the same way after a failure.

use std::error::Error;

use answerback::UuidV4;
use answerback_ledger::anchor::AnchorError;
use answerback_ledger::tree::{Edge, Frontier, frontier_at, root_at};
use answerback_ledger::{Anchor, Checkpoint, Hash, KeyFile, Note, SigningKey, VerifierKey, anchor};

use crate::engine::{Engine, EngineResult, Hashes, Opener};
use crate::scrub_schedule::ScrubSchedule;
use crate::stats::StoreCounters;
use crate::{LogHead, Settings, StoreError};

/// The maximum number of entries of other processes that are followed one by one.
const FURTHEST: u64 = 16 * 1024;

pub(crate) struct Chain {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) origin: String,
    pub(crate) key_file: KeyFile,
    pub(crate) key: SigningKey,
    pub(crate) anchors: Vec<Box<dyn Anchor>>,
    /// The tree as this process last saw it.
    pub(crate) edge: Edge,
    pub(crate) frontier: Frontier,
    /// The last clock reading, if it was behind the newest entry.
    pub(crate) set_back_at: Option<i64>,
    /// Tracks whether erased content may still be in the files.
    pub(crate) scrub: ScrubSchedule,
}

impl Chain {
    /// Opens the store and checks its newest entries, its newest checkpoint and its anchors.
    pub(crate) fn open(opener: &dyn Opener, settings: &Settings) -> Result<Self, StoreError> {
        let anchors = settings.anchors.iter().map(|make| make()).collect();
        Self::open_with(opener, settings, anchors)
    }

    /// Opens an existing store and checks everything except the anchors.
    pub(crate) fn open_unanchored(
        opener: &dyn Opener,
        settings: &Settings,
    ) -> Result<Self, StoreError> {
        if opener.reader()?.head()?.is_none() {
            return Err(StoreError::Missing("log yet".to_owned()));
        }
        Self::open_with(opener, settings, Vec::new())
    }

    fn open_with(
        opener: &dyn Opener,
        settings: &Settings,
        anchors: Vec<Box<dyn Anchor>>,
    ) -> Result<Self, StoreError> {
        let mut engine = opener.writer()?;
        let key_file = KeyFile::new(&settings.key);
        let head = engine.begin()?;
        let examined = match head {
            Some(head) => match engine.moved()? {
                Some(to) => Err(StoreError::Moved(to)),
                None => examine(engine.as_mut(), settings, &key_file, &head, &anchors),
            },
            None => create(engine.as_mut(), settings, &key_file, &anchors),
        };
        let OpenedChain { origin, key, edge, frontier, is_new } = match examined {
            Ok(fine) => fine,
            Err(error) => {
                engine.rollback();
                return Err(error);
            }
        };
        // The first batch writes the first entry of a new log before anything else.
        if is_new {
            engine.commit()?;
        } else {
            engine.rollback();
        }
        let mut chain = Self {
            engine,
            origin,
            key_file,
            key,
            anchors,
            edge,
            frontier,
            set_back_at: None,
            scrub: ScrubSchedule::default(),
        };
        chain.check_for_erased_content()?;
        Ok(chain)
    }

    /// Schedules a scrub if another process erased content and could not scrub the files itself.
    pub(crate) fn check_for_erased_content(&mut self) -> EngineResult<()> {
        if !self.engine.is_scrubbed()? {
            self.scrub.remember();
        }
        Ok(())
    }

    /// Scrubs the files if a scrub is due. An open reader of an older state delays it.
    pub(crate) fn scrub_if_due(&mut self) -> EngineResult<()> {
        if self.scrub.is_due() {
            let scrubbed = self.engine.scrub();
            self.scrub.tried(matches!(scrubbed, Ok(true)));
            scrubbed?;
        }
        Ok(())
    }

    /// Appends the entries of other processes to the tree in memory, and checks the head against
    /// it.
    pub(crate) fn catch_up(&mut self, head: &LogHead) -> Result<(), StoreError> {
        let known = self.edge.size();
        if head.size < known {
            return Err(StoreError::Damaged(format!(
                "it had {known} entries and has {} now",
                head.size
            )));
        }
        if head.size - known > FURTHEST || head.minimum > known {
            // There are too many entries to follow one by one. Read the tree again and check that
            // it extends the known one.
            let hashes = Hashes::of(self.engine.as_mut());
            let begins_alike = root_at(known, &hashes)? == self.frontier.root();
            if !begins_alike {
                return Err(StoreError::Damaged(format!("its first {known} entries have changed")));
            }
            self.edge = Edge::read(head.size, &hashes)?;
            self.frontier = frontier_at(head.size, &hashes)?;
        } else if head.size > known {
            for hash in self.engine.leaf_hashes(known..head.size)? {
                self.edge.append(hash, &mut |_| ());
                self.frontier.append(hash);
            }
        }
        if self.frontier != head.frontier || self.frontier.root() != head.root {
            return Err(StoreError::Damaged(format!(
                "the head of {} entries is not that of the entries",
                head.size
            )));
        }
        if head.signer != self.key.verifier() {
            self.key = self.key_file.holding(&head.signer)?;
        }
        Ok(())
    }

    /// Passes the newest checkpoint to the anchors. A failing anchor does not stop the log; it is
    /// counted and reported.
    pub(crate) fn anchor(&mut self, note: &Note, now: i64, counters: &StoreCounters) {
        self.each_anchor(counters, |anchor| anchor.record(note, now));
    }

    /// Makes the anchors store the checkpoints that they skipped.
    pub(crate) fn close_anchors(&mut self, counters: &StoreCounters) {
        self.each_anchor(counters, |anchor| anchor.close());
    }

    fn each_anchor(
        &mut self,
        counters: &StoreCounters,
        mut act: impl FnMut(&mut dyn Anchor) -> Result<(), AnchorError>,
    ) {
        let results = self.anchors.iter_mut().map(|anchor| act(anchor.as_mut()));
        let failures: Vec<_> = results.filter_map(Result::err).collect();
        StoreCounters::add(&counters.anchor_failures, failures.len() as u64);
        counters.set_anchors_failing(failures.iter().map(|error| with_causes(error)).collect());
    }
}

pub(crate) struct OpenedChain {
    origin: String,
    key: SigningKey,
    edge: Edge,
    frontier: Frontier,
    is_new: bool,
}

/// Checks an existing log as far as possible without reading all of it.
pub(crate) fn examine(
    engine: &mut dyn Engine,
    settings: &Settings,
    key_file: &KeyFile,
    head: &LogHead,
    anchors: &[Box<dyn Anchor>],
) -> Result<OpenedChain, StoreError> {
    let damaged = |what: &str| StoreError::Damaged(what.to_owned());
    let origin = engine.meta("origin")?.ok_or_else(|| damaged("it has no origin"))?;
    if settings.origin.as_ref().is_some_and(|wanted| *wanted != origin) {
        return Err(StoreError::Unfit(format!(
            "the store is the log {origin}; name that origin in the configuration, or another store"
        )));
    }
    let key = key_file.holding(&head.signer)?;
    check_tail(engine, head)?;
    let edge = Edge::read(head.size, &Hashes::of(engine))?;
    if frontier_at(head.size, &Hashes::of(engine))? != head.frontier {
        return Err(damaged("the frontier is not that of the entries"));
    }
    if head.frontier.root() != head.root {
        return Err(damaged("the root is not that of the frontier"));
    }
    check_newest_checkpoint(engine, head, &origin)?;
    for anchor in anchors {
        check_anchor(engine, anchor.as_ref(), &origin, head.size)?;
    }
    Ok(OpenedChain { origin, key, edge, frontier: head.frontier.clone(), is_new: false })
}

/// Hashes the entries to the right of the last full tile again and compares the hashes.
fn check_tail(engine: &mut dyn Engine, head: &LogHead) -> Result<(), StoreError> {
    let from = (head.size - head.size % answerback_ledger::tile::WIDTH).max(head.minimum);
    let stored = engine.leaf_hashes(from..head.size)?;
    if stored.len() as u64 != head.size - from {
        return Err(StoreError::Damaged(format!("entries from {from} on are missing")));
    }
    for (index, stored) in (from..).zip(stored) {
        let leaf = engine.leaf(index)?;
        if leaf.is_none_or(|leaf| Hash::of_leaf(&leaf) != stored) {
            return Err(StoreError::Damaged(format!(
                "the entry at {index} is not what was hashed"
            )));
        }
    }
    let beyond = engine.leaf(head.size)?.is_some();
    let last = head.size.checked_sub(1).filter(|last| *last >= head.minimum);
    let time = last.map(|last| engine.time_at(last)).transpose()?.flatten();
    if beyond || time.is_some_and(|time| time != head.last_ts) {
        return Err(StoreError::Damaged("the head is not that of the newest entry".to_owned()));
    }
    Ok(())
}

fn check_newest_checkpoint(
    engine: &mut dyn Engine,
    head: &LogHead,
    origin: &str,
) -> Result<(), StoreError> {
    let damaged = |what: &str| StoreError::Damaged(format!("its newest checkpoint {what}"));
    let Some(text) = engine.newest_checkpoint()? else {
        return if head.size == 0 { Ok(()) } else { Err(damaged("is missing")) };
    };
    let note = Note::parse(&text).map_err(|error| damaged(&error.to_string()))?;
    let checkpoint = Checkpoint::read(&note).map_err(|error| damaged(&error.to_string()))?;
    let wanted = Checkpoint::new(origin, head.size, head.root);
    if wanted != Ok(checkpoint) {
        return Err(damaged("is not that of the head"));
    }
    if note.is_signed_by(&head.signer) != Ok(true) {
        return Err(damaged("is not signed by the key in force"));
    }
    Ok(())
}

fn check_anchor(
    engine: &mut dyn Engine,
    anchor: &dyn Anchor,
    origin: &str,
    size: u64,
) -> Result<(), StoreError> {
    let Some(anchored) = anchor.newest()? else { return Ok(()) };
    let root = |size| root_at(size, &Hashes::of(engine));
    anchor::check(&anchored, origin, size, root)??;
    Ok(())
}

/// Creates the log in an empty store, with its origin and its key.
fn create(
    engine: &mut dyn Engine,
    settings: &Settings,
    key_file: &KeyFile,
    anchors: &[Box<dyn Anchor>],
) -> Result<OpenedChain, StoreError> {
    let key = match key_file.read()? {
        Some(key) => key,
        None => {
            let origin = match &settings.origin {
                Some(origin) => origin.clone(),
                None => format!("answerback.local/{}", UuidV4::from_random(settings.random()?)),
            };
            key_file.create(&SigningKey::new(&origin, &settings.random()?)?)?
        }
    };
    let origin = key.name().to_owned();
    if settings.origin.as_ref().is_some_and(|wanted| *wanted != origin) {
        return Err(StoreError::Unfit(format!(
            "the key {} belongs to the log {origin}; name another key file for a new log",
            key_file.path().display()
        )));
    }
    for anchor in anchors {
        check_anchor(engine, anchor.as_ref(), &origin, 0)?;
    }
    engine.initialise(&origin, &key.verifier().to_string())?;
    let (edge, frontier) = (Edge::default(), Frontier::default());
    Ok(OpenedChain { origin, key, edge, frontier, is_new: true })
}

/// Formats an error with its causes on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}

/// Parses a verifier key from the store.
pub(crate) fn stored_key(text: &str) -> Result<VerifierKey, StoreError> {
    VerifierKey::parse(text).map_err(|error| StoreError::Damaged(error.to_string()))
}
