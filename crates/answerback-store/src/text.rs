//! The index for full text: a second file that can be thrown away, filled from the log by a thread.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use answerback_ledger::{Kind, Leaf, Part};

use crate::StoreError;
use crate::engine::Outcome;
use crate::reading::Readers;
use crate::scrub::Scrub;
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
    /// Takes a step, all at once.
    fn advance(&mut self, step: &Step) -> Outcome<()>;
    /// Removes an entry at once.
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
    /// Whether no file of the index holds what was removed from it.
    fn is_scrubbed(&mut self) -> Outcome<bool> {
        Ok(true)
    }
    /// Makes sure of that, and waits for nobody. `false` when somebody still reads the old state and it has to be tried
    /// again.
    fn scrub(&mut self) -> Outcome<bool> {
        Ok(true)
    }
}

/// What the next entries of the log mean for the index.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// Texts by their entries; they replace what is there.
    pub(crate) add: Vec<(u64, String)>,
    /// Whether something was erased, so that no trace of it may stay.
    pub(crate) erases: bool,
    /// Entries below this one were pruned.
    pub(crate) below: u64,
    /// The next entry that is to be indexed.
    pub(crate) position: u64,
}

/// Fills an index until told to stop.
pub(crate) fn follow(
    mut index: Box<dyn TextIndex>,
    readers: &Readers,
    counters: &Counters,
    stop: &Arc<AtomicBool>,
) {
    let (mut scrub, mut trouble): (Scrub, Option<String>) = Default::default();
    while !stop.load(Ordering::Relaxed) {
        let moved = step(index.as_mut(), readers);
        let moved = moved.and_then(|moved| Ok((moved, look_after(index.as_mut(), &mut scrub)?)));
        let reason = moved.as_ref().err().map(ToString::to_string);
        // Told when it begins or changes, not at every try.
        if let Some(reason) = reason.as_ref().filter(|reason| trouble.as_ref() != Some(*reason)) {
            tracing::warn!(%reason, "the index for full text is not filled");
        }
        trouble = reason;
        match moved {
            Ok((Some(position), ())) => {
                counters.text_position.store(position, Ordering::Relaxed);
            }
            _ => std::thread::park_timeout(REST),
        }
    }
}

/// Scrubs the files of the index where that is due, whoever removed something from it.
fn look_after(index: &mut dyn TextIndex, scrub: &mut Scrub) -> Outcome<()> {
    if !index.is_scrubbed()? {
        scrub.remember();
        if scrub.is_due() {
            scrub.tried(index.scrub()?);
        }
    }
    Ok(())
}

/// Indexes the next entries. `None` when there are none.
pub(crate) fn step(
    index: &mut dyn TextIndex,
    readers: &Readers,
) -> Result<Option<u64>, StoreError> {
    let position = index.position()?;
    let step = readers.read(|read| {
        let mut step = Step { position, ..Step::default() };
        let Some(head) = read.head()? else { return Ok(step) };
        let from = position.max(head.minimum);
        step.position = head.size.min(from + STEP).max(position);
        for at in from..step.position {
            let Some(leaf) = read.leaf(at)?.and_then(|bytes| Leaf::parse(&bytes).ok()) else {
                continue;
            };
            match (leaf.kind(), leaf.index("target_index"), leaf.index("below")) {
                // What is left of the entry is indexed anew.
                (Kind::Erasure, Some(target), _) => {
                    step.add.push((target, words(&read.parts(target)?)));
                    step.erases = true;
                }
                (Kind::Prune, _, Some(below)) => {
                    step.below = step.below.max(below);
                    step.erases = true;
                }
                _ => {}
            }
            step.add.push((at, words(&read.parts(at)?)));
        }
        Ok(step)
    })?;
    if step.position == position {
        return Ok(None);
    }
    index.advance(&step)?;
    Ok(Some(step.position))
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
