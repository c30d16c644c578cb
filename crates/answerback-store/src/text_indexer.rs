//! The full-text index. It is separate from the log, can be rebuilt, and a thread fills it from the
//! log.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use answerback_ledger::{Leaf, LeafKind};

use crate::engine::{EngineRead, EngineResult, IndexStep, TextIndex};
use crate::reading::Readers;
use crate::scrub_schedule::ScrubSchedule;
use crate::stats::StoreCounters;
use crate::{EntryFilter, LogHead, StoreError};

/// The interval at which the thread compares the index with the log.
const LOOK: Duration = Duration::from_millis(250);

/// The number of entries that a caller indexes at a time.
pub(crate) const STEP: u64 = 256;

/// The number of entries that the thread indexes at a time. A larger step spreads the cost of a
/// transaction over more entries.
const LARGE_STEP: u64 = 1024;

/// The maximum number of entries that wait to be indexed while the log grows.
const MOST_WAITING: u64 = 2048;

/// The maximum time that entries wait to be indexed while the log grows.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The number of entries whose text is read at a time.
const READ_AT_ONCE: u64 = 64;

/// The amount of text, in bytes, that ends a step early.
const LARGEST: usize = 4 << 20;

/// The maximum length of one part's indexed text, in bytes.
const LONGEST: usize = 256 * 1024;

/// The position of the index and the size of the log.
#[derive(Debug, Default)]
struct Backlog {
    position: u64,
    size: u64,
    /// True if the new entries include an erasure or a pruning.
    erases: bool,
}

/// Decides when to update the index. It avoids busy moments, when calls need the processor, but
/// limits the delay.
#[derive(Debug, Default)]
struct Pace {
    size: u64,
    /// The time since which entries have been waiting.
    since: Option<Instant>,
    hurries: bool,
}

impl Pace {
    /// True if the index should be updated now, given this backlog.
    fn is_time(&mut self, backlog: &Backlog, now: Instant) -> bool {
        let is_quiet = backlog.size == std::mem::replace(&mut self.size, backlog.size);
        let waiting = backlog.size.saturating_sub(backlog.position);
        if waiting == 0 {
            (self.since, self.hurries) = (None, false);
            return false;
        }
        // The flag stays set until the index is up to date, even if an attempt fails.
        self.hurries |= backlog.erases;
        let since = *self.since.get_or_insert(now);
        is_quiet
            || self.hurries
            || waiting >= MOST_WAITING
            || now.duration_since(since) >= LONGEST_WAIT
    }
}

/// Fills an index until the store is closed.
pub(crate) fn follow(
    mut index: Box<dyn TextIndex>,
    readers: &Readers,
    counters: &StoreCounters,
    stop: &Arc<AtomicBool>,
) {
    let (mut pace, mut scrub, mut trouble): (Pace, ScrubSchedule, Option<String>) =
        Default::default();
    while !stop.load(Ordering::Relaxed) {
        let mut fill = || {
            let backlog = look(index.as_mut(), readers, pace.size)?;
            counters.text_position.store(backlog.position, Ordering::Relaxed);
            if pace.is_time(&backlog, Instant::now()) {
                // Continue to the newest entry, because the next entries may erase text that was
                // just indexed.
                while let Some(position) = step(index.as_mut(), readers, LARGE_STEP)? {
                    counters.text_position.store(position, Ordering::Relaxed);
                    scrub_if_due(index.as_mut(), &mut scrub)?;
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            Ok::<_, StoreError>(scrub_if_due(index.as_mut(), &mut scrub)?)
        };
        let reason = fill().err().map(|error| error.to_string());
        // Log only when the error occurs or changes, not at every attempt.
        if let Some(reason) = reason.as_ref().filter(|reason| trouble.as_ref() != Some(*reason)) {
            tracing::warn!(%reason, "the index for full text is not filled");
        }
        trouble = reason;
        std::thread::park_timeout(LOOK);
    }
}

/// Compares the index with the log. It checks only entries from `looked_at` on for erasures.
fn look(
    index: &mut dyn TextIndex,
    readers: &Readers,
    looked_at: u64,
) -> Result<Backlog, StoreError> {
    let position = index.position()?;
    readers.read(|read| {
        let Some(LogHead { size, .. }) = read.head()? else { return Ok(Backlog::default()) };
        let news = looked_at.max(position).min(size)..size;
        let mut has = |kind| {
            let filter = EntryFilter::default().with_kind(kind);
            Ok::<_, StoreError>(!read.leaves(&filter, news.clone(), 1)?.is_empty())
        };
        let erases = !news.is_empty() && (has(LeafKind::Erasure)? || has(LeafKind::Prune)?);
        Ok(Backlog { position, size, erases })
    })
}

/// Scrubs the files of the index if a scrub is due, no matter which process removed text.
fn scrub_if_due(index: &mut dyn TextIndex, scrub: &mut ScrubSchedule) -> EngineResult<()> {
    if !index.is_scrubbed()? {
        scrub.remember();
        if scrub.is_due() {
            scrub.tried(index.scrub()?);
        }
    }
    Ok(())
}

/// Indexes at most `most` of the next entries and returns the new position. Returns `None` if there
/// are none.
pub(crate) fn step(
    index: &mut dyn TextIndex,
    readers: &Readers,
    most: u64,
) -> Result<Option<u64>, StoreError> {
    let position = index.position()?;
    let step = readers.read(|read| {
        let mut step = IndexStep { position, ..IndexStep::default() };
        let Some(head) = read.head()? else { return Ok(step) };
        let from = position.max(head.minimum);
        let until = head.size.min(from + most).max(position);
        let (mut at, mut weight) = (from, 0);
        while at < until && weight < LARGEST {
            let next = until.min(at + READ_AT_ONCE);
            let texts = texts(read, at..next)?;
            weight += texts.values().map(String::len).sum::<usize>();
            step.add.extend(texts);
            at = next;
        }
        step.position = at.max(position);
        for (kind, name) in [(LeafKind::Erasure, "target_index"), (LeafKind::Prune, "below")] {
            let filter = EntryFilter::default().with_kind(kind);
            for (_, leaf) in read.leaves(&filter, from..step.position, usize::MAX)? {
                let named = Leaf::parse(&leaf).ok().and_then(|leaf| leaf.index(name));
                let Some(named) = named else { continue };
                step.erases = true;
                match kind {
                    LeafKind::Prune => step.below = step.below.max(named),
                    // The step has read these entries after their erasure.
                    _ if named >= from => {}
                    _ => {
                        let left = texts(read, named..named + 1)?.remove(&named);
                        step.replace.insert(named, left.unwrap_or_default());
                    }
                }
            }
        }
        Ok(step)
    })?;
    if step.position == position {
        return Ok(None);
    }
    index.advance(&step)?;
    Ok(Some(step.position))
}

/// Returns the text of the parts of entries. Invalid UTF-8 is replaced.
fn texts(
    read: &mut dyn EngineRead,
    within: Range<u64>,
) -> Result<BTreeMap<u64, String>, StoreError> {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    for (index, bytes) in read.contents(within, LONGEST)? {
        let text = texts.entry(index).or_default();
        // Nearly all content is valid UTF-8, and checking it is faster than a lossy conversion.
        match std::str::from_utf8(&bytes) {
            Ok(whole) => text.push_str(whole),
            Err(_) => text.push_str(&String::from_utf8_lossy(&bytes)),
        }
        text.push('\n');
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_indexed_when_the_log_is_quiet_or_after_a_limit() {
        let begin = Instant::now();
        let at = |millis| begin + Duration::from_millis(millis);
        let behind = |waiting, size| Backlog { position: size - waiting, size, erases: false };
        let mut pace = Pace::default();
        // A few calls, then none.
        assert!(!pace.is_time(&behind(2, 2), at(0)));
        assert!(!pace.is_time(&behind(4, 4), at(250)));
        assert!(pace.is_time(&behind(4, 4), at(500)));
        assert!(!pace.is_time(&behind(0, 4), at(750)));
        // Calls keep arriving. The first one has waited long enough after ten seconds, and the wait
        // restarts after the update.
        for step in 0..40 {
            assert!(!pace.is_time(&behind(step + 1, 5 + step), at(1000 + step * 250)), "{step}");
        }
        assert!(pace.is_time(&behind(41, 45), at(11_000)));
        assert!(!pace.is_time(&behind(0, 45), at(11_250)));
        assert!(!pace.is_time(&behind(1, 46), at(30_000)));
        // Very many calls.
        assert!(pace.is_time(&behind(MOST_WAITING, 3000), at(30_250)));
        assert!(!pace.is_time(&behind(0, 3000), at(30_500)));
        // An erasure does not wait, and neither does the attempt after a failure.
        assert!(pace.is_time(&Backlog { erases: true, ..behind(1, 3001) }, at(31_000)));
        assert!(pace.is_time(&behind(2, 3002), at(31_250)));
        assert!(!pace.is_time(&behind(0, 3002), at(31_500)));
        assert!(!pace.is_time(&behind(1, 3003), at(31_750)));
    }
}
