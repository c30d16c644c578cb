//! The index for full text: a second file that can be thrown away, filled from the log by a thread.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use answerback_ledger::{Kind, Leaf, Part};

use crate::StoreError;
use crate::engine::Outcome;
use crate::reading::Readers;
use crate::stats::Counters;

/// How long the thread rests when it has caught up.
const REST: Duration = Duration::from_millis(250);

/// How many entries are indexed at a time.
const STEP: u64 = 256;

/// The most text of one part that is indexed, in bytes.
const LONGEST: usize = 256 * 1024;

/// What an index must do.
pub(crate) trait TextIndex: Send {
    /// The next entry that is to be indexed.
    fn position(&mut self) -> Outcome<u64>;
    /// Adds the texts of entries, removes others, and moves on, all at once.
    fn advance(&mut self, add: &[(u64, String)], remove: &[u64], position: u64) -> Outcome<()>;
    /// Removes an entry at once and for good.
    fn remove(&mut self, index: u64) -> Outcome<()>;
    /// Entries within the range whose text has all words.
    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        limit: usize,
    ) -> Outcome<Vec<u64>>;
    /// Throws everything away.
    fn clear(&mut self) -> Outcome<()>;
}

/// Fills an index until told to stop.
pub(crate) fn follow(
    mut index: Box<dyn TextIndex>,
    readers: &Readers,
    counters: &Counters,
    stop: &Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Relaxed) {
        let moved = step(index.as_mut(), readers).unwrap_or(None);
        match moved {
            Some(position) => counters.text_position.store(position, Ordering::Relaxed),
            None => std::thread::park_timeout(REST),
        }
    }
}

/// Indexes the next entries. `None` when there are none.
pub(crate) fn step(
    index: &mut dyn TextIndex,
    readers: &Readers,
) -> Result<Option<u64>, StoreError> {
    let position = index.position()?;
    let (add, remove, next) = readers.read(|read| {
        let Some(head) = read.head()? else { return Ok((Vec::new(), Vec::new(), position)) };
        let from = position.max(head.minimum);
        let to = head.size.min(from + STEP);
        let (mut add, mut remove) = (Vec::new(), Vec::new());
        for at in from..to {
            let Some(leaf) = read.leaf(at)?.and_then(|bytes| Leaf::parse(&bytes).ok()) else {
                continue;
            };
            // What was erased meanwhile: the entry's other parts are indexed anew.
            if let (Kind::Erasure, Some(target)) = (leaf.kind(), leaf.index("target_index")) {
                remove.push(target);
                add.push((target, words(&read.parts(target)?)));
            }
            add.push((at, words(&read.parts(at)?)));
        }
        Ok((add, remove, to.max(position)))
    })?;
    if next == position {
        return Ok(None);
    }
    index.advance(&add, &remove, next)?;
    Ok(Some(next))
}

/// The text of an entry's parts, as far as they are text.
fn words(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        let bytes = part.bytes();
        let cut = &bytes[..bytes.len().min(LONGEST)];
        text.push_str(&String::from_utf8_lossy(cut));
        text.push('\n');
    }
    text
}
