//! The index for full text: a second file that can be thrown away, filled from the log by a thread.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use answerback_ledger::{Kind, Leaf};

use crate::engine::{EngineRead, EngineResult};
use crate::reading::Readers;
use crate::scrub::Scrub;
use crate::stats::Counters;
use crate::{Filter, Head, StoreError};

/// How often the thread looks how far the log is.
const LOOK: Duration = Duration::from_millis(250);

/// How many entries whoever waits for them indexes at a time.
pub(crate) const STEP: u64 = 256;

/// How many entries the thread indexes at a time: what a transaction costs beside its entries is shared by more.
const LARGE_STEP: u64 = 1024;

/// While the log grows, as many entries wait to be indexed …
const MOST_WAITING: u64 = 2048;

/// … or for as long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Entries whose text is read at a time.
const READ_AT_ONCE: u64 = 64;

/// A step with so much text is large enough, in bytes.
const LARGEST: usize = 4 << 20;

/// The most text of one part that is indexed, in bytes.
const LONGEST: usize = 256 * 1024;

/// What an index must do.
pub(crate) trait TextIndex: Send {
    /// The next entry that is to be indexed.
    fn position(&mut self) -> EngineResult<u64>;
    /// Takes a step, all at once.
    fn advance(&mut self, step: &IndexStep) -> EngineResult<()>;
    /// Removes an entry at once.
    fn remove(&mut self, index: u64) -> EngineResult<()>;
    /// Entries within the range whose text has all words.
    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        limit: usize,
    ) -> EngineResult<Vec<u64>>;
    /// Throws everything away.
    fn clear(&mut self) -> EngineResult<()>;
    /// Whether no file of the index holds what was removed from it.
    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
    /// Makes sure of that, and waits for nobody. `false` when somebody still reads the old state and it has to be tried
    /// again.
    fn scrub(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
}

/// What the next entries of the log mean for the index.
#[derive(Debug, Default)]
pub(crate) struct IndexStep {
    /// The texts of entries that the index has not seen.
    pub(crate) add: BTreeMap<u64, String>,
    /// What is left of entries that it has seen and that lost text since.
    pub(crate) replace: BTreeMap<u64, String>,
    /// Whether something was erased, so that no trace of it may stay.
    pub(crate) erases: bool,
    /// Entries below this one were pruned.
    pub(crate) below: u64,
    /// The next entry that is to be indexed.
    pub(crate) position: u64,
}

/// How far the index is, and the log.
#[derive(Debug, Default)]
struct Backlog {
    position: u64,
    size: u64,
    /// Whether something is to be taken out of the index.
    erases: bool,
}

/// When the index is brought up to date: not in the middle of a busy moment, where calls need the processor, and not much
/// later either.
#[derive(Debug, Default)]
struct Pace {
    size: u64,
    /// Since when something waits.
    since: Option<Instant>,
    hurries: bool,
}

impl Pace {
    /// Whether it is time, with this waiting now.
    fn is_time(&mut self, backlog: &Backlog, now: Instant) -> bool {
        let is_quiet = backlog.size == std::mem::replace(&mut self.size, backlog.size);
        let waiting = backlog.size.saturating_sub(backlog.position);
        if waiting == 0 {
            (self.since, self.hurries) = (None, false);
            return false;
        }
        // It stays so until it is done, also where a first try fails.
        self.hurries |= backlog.erases;
        let since = *self.since.get_or_insert(now);
        is_quiet
            || self.hurries
            || waiting >= MOST_WAITING
            || now.duration_since(since) >= LONGEST_WAIT
    }
}

/// Fills an index until told to stop.
pub(crate) fn follow(
    mut index: Box<dyn TextIndex>,
    readers: &Readers,
    counters: &Counters,
    stop: &Arc<AtomicBool>,
) {
    let (mut pace, mut scrub, mut trouble): (Pace, Scrub, Option<String>) = Default::default();
    while !stop.load(Ordering::Relaxed) {
        let mut fill = || {
            let backlog = look(index.as_mut(), readers, pace.size)?;
            counters.text_position.store(backlog.position, Ordering::Relaxed);
            if pace.is_time(&backlog, Instant::now()) {
                // Once begun, to the end: what was erased meanwhile is among the next entries.
                while let Some(position) = step(index.as_mut(), readers, LARGE_STEP)? {
                    counters.text_position.store(position, Ordering::Relaxed);
                    look_after(index.as_mut(), &mut scrub)?;
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            Ok::<_, StoreError>(look_after(index.as_mut(), &mut scrub)?)
        };
        let reason = fill().err().map(|error| error.to_string());
        // Told when it begins or changes, not at every try.
        if let Some(reason) = reason.as_ref().filter(|reason| trouble.as_ref() != Some(*reason)) {
            tracing::warn!(%reason, "the index for full text is not filled");
        }
        trouble = reason;
        std::thread::park_timeout(LOOK);
    }
}

/// How far the index is behind the log, of which so many entries were looked at before.
fn look(
    index: &mut dyn TextIndex,
    readers: &Readers,
    looked_at: u64,
) -> Result<Backlog, StoreError> {
    let position = index.position()?;
    readers.read(|read| {
        let Some(Head { size, .. }) = read.head()? else { return Ok(Backlog::default()) };
        let news = looked_at.max(position).min(size)..size;
        let mut has = |kind| {
            let filter = Filter::default().with_kind(kind);
            Ok::<_, StoreError>(!read.leaves(&filter, news.clone(), 1)?.is_empty())
        };
        let erases = !news.is_empty() && (has(Kind::Erasure)? || has(Kind::Prune)?);
        Ok(Backlog { position, size, erases })
    })
}

/// Scrubs the files of the index where that is due, whoever removed something from it.
fn look_after(index: &mut dyn TextIndex, scrub: &mut Scrub) -> EngineResult<()> {
    if !index.is_scrubbed()? {
        scrub.remember();
        if scrub.is_due() {
            scrub.tried(index.scrub()?);
        }
    }
    Ok(())
}

/// Indexes the next entries, at most so many. `None` when there are none.
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
        for (kind, name) in [(Kind::Erasure, "target_index"), (Kind::Prune, "below")] {
            let filter = Filter::default().with_kind(kind);
            for (_, leaf) in read.leaves(&filter, from..step.position, usize::MAX)? {
                let named = Leaf::parse(&leaf).ok().and_then(|leaf| leaf.index(name));
                let Some(named) = named else { continue };
                step.erases = true;
                match kind {
                    Kind::Prune => step.below = step.below.max(named),
                    // What the index has not seen was read as it is now.
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

/// The text of entries' parts, as far as they are text.
fn texts(
    read: &mut dyn EngineRead,
    within: Range<u64>,
) -> Result<BTreeMap<u64, String>, StoreError> {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    for (index, bytes) in read.contents(within, LONGEST)? {
        let text = texts.entry(index).or_default();
        // Nearly all of it is text, which is seen faster than what is wrong with it would be found.
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
    fn what_waits_is_indexed_when_it_is_quiet_or_has_waited_long_enough() {
        let begin = Instant::now();
        let at = |millis| begin + Duration::from_millis(millis);
        let behind = |waiting, size| Backlog { position: size - waiting, size, erases: false };
        let mut pace = Pace::default();
        // A few calls, then none.
        assert!(!pace.is_time(&behind(2, 2), at(0)));
        assert!(!pace.is_time(&behind(4, 4), at(250)));
        assert!(pace.is_time(&behind(4, 4), at(500)));
        assert!(!pace.is_time(&behind(0, 4), at(750)));
        // Calls without end: at last what came first has waited long enough, counted anew after it was done.
        for step in 0..40 {
            assert!(!pace.is_time(&behind(step + 1, 5 + step), at(1000 + step * 250)), "{step}");
        }
        assert!(pace.is_time(&behind(41, 45), at(11_000)));
        assert!(!pace.is_time(&behind(0, 45), at(11_250)));
        assert!(!pace.is_time(&behind(1, 46), at(30_000)));
        // Very many calls.
        assert!(pace.is_time(&behind(MOST_WAITING, 3000), at(30_250)));
        assert!(!pace.is_time(&behind(0, 3000), at(30_500)));
        // What was erased does not wait, nor after a failure.
        assert!(pace.is_time(&Backlog { erases: true, ..behind(1, 3001) }, at(31_000)));
        assert!(pace.is_time(&behind(2, 3002), at(31_250)));
        assert!(!pace.is_time(&behind(0, 3002), at(31_500)));
        assert!(!pace.is_time(&behind(1, 3003), at(31_750)));
    }
}
