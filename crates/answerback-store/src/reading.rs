//! Reads from the store: a pool of connections, and results computed from rows.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use answerback_ledger::tree::{consistency_proof, inclusion_proof, root_at};
use answerback_ledger::{Checkpoint, Hash, Leaf, Note, Receipt};

use crate::engine::{EngineRead, Hashes, Opener};
use crate::{Entry, EntryPage, EventPage, Filter, Gap, Head, StoreError, StreamInfo};

/// The maximum number of idle connections in the pool.
const IDLE: usize = 4;

/// The maximum number of entries that a page of a text search examines.
pub(crate) const LOOKS: usize = 1 << 14;

pub(crate) struct Readers {
    opener: Arc<dyn Opener>,
    idle: Mutex<Vec<Box<dyn EngineRead>>>,
}

impl Readers {
    pub(crate) fn new(opener: Arc<dyn Opener>) -> Self {
        Self { opener, idle: Mutex::default() }
    }

    pub(crate) fn opener(&self) -> &dyn Opener {
        self.opener.as_ref()
    }

    /// Runs a function on one consistent state of the store.
    pub(crate) fn read<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (mut act, mut result) = (Some(act), None);
        self.opener.aside(&mut || result = act.take().map(|act| self.read_here(act)));
        // `aside` always runs the closure, so the error below does not occur.
        result.unwrap_or_else(|| Err(StoreError::unit("nothing was read")))
    }

    fn read_here<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut read = match idle {
            Some(read) => read,
            None => self.opener.reader()?,
        };
        read.begin_read()?;
        let result = act(read.as_mut());
        // A connection that failed to end its transaction is dropped.
        if read.end_read().is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(read);
            }
        }
        result
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut idle = Some(idle);
        self.opener.aside(&mut || drop(idle.take()));
    }
}

pub(crate) fn head(read: &mut dyn EngineRead) -> Result<Head, StoreError> {
    read.head()?.ok_or_else(|| StoreError::Missing("log yet".to_owned()))
}

/// Reads an entry with its parts.
pub(crate) fn entry(read: &mut dyn EngineRead, index: u64) -> Result<Option<Entry>, StoreError> {
    let Some(bytes) = read.leaf(index)? else { return Ok(None) };
    let mut entry = parsed(index, &bytes)?;
    entry.parts = read.parts(index)?;
    Ok(Some(entry))
}

fn parsed(index: u64, bytes: &[u8]) -> Result<Entry, StoreError> {
    let damaged = |error| StoreError::Damaged(format!("the entry at {index}: {error}"));
    let leaf = Leaf::parse(bytes).map_err(damaged)?;
    Ok(Entry { index, hash: leaf.hash(), leaf, parts: Vec::new() })
}

/// Returns the indexes that a page may contain: stored entries after the cursor within the filter's
/// times.
fn within(
    read: &mut dyn EngineRead,
    head: &Head,
    filter: &Filter,
    cursor: Option<u64>,
) -> Result<Range<u64>, StoreError> {
    let mut range = head.minimum..head.size;
    if let Some(cursor) = cursor {
        if filter.newest_first {
            range.end = range.end.min(cursor);
        } else {
            range.start = range.start.max(cursor.saturating_add(1));
        }
    }
    // Times increase with the index, so a binary search finds both ends.
    if let Some(since) = filter.since {
        range.start = range.start.max(first_at(read, head, since)?);
    }
    if let Some(until) = filter.until {
        range.end = range.end.min(first_at(read, head, until)?);
    }
    Ok(range)
}

/// Returns the first entry at or after this time.
fn first_at(read: &mut dyn EngineRead, head: &Head, micros: i64) -> Result<u64, StoreError> {
    let (mut low, mut high) = (head.minimum, head.size);
    while low < high {
        let middle = low + (high - low) / 2;
        if read.time_at(middle)?.is_some_and(|time| time < micros) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

pub(crate) fn entries(
    read: &mut dyn EngineRead,
    filter: &Filter,
    cursor: Option<u64>,
    limit: usize,
) -> Result<EntryPage, StoreError> {
    let head = head(read)?;
    let range = within(read, &head, filter, cursor)?;
    // One extra row shows whether there is a next page.
    let rows = read.leaves(filter, range, limit.saturating_add(1))?;
    page(rows, limit)
}

fn page(mut rows: Vec<(u64, Vec<u8>)>, limit: usize) -> Result<EntryPage, StoreError> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(index, _)| *index);
    let entries: Result<_, _> = rows.iter().map(|(index, bytes)| parsed(*index, bytes)).collect();
    Ok(EntryPage { entries: entries?, next })
}

/// Returns the entries that the full-text index finds and that match the other criteria. It
/// examines about `most` entries at most.
pub(crate) fn entries_found(
    read: &mut dyn EngineRead,
    filter: &Filter,
    cursor: Option<u64>,
    limit: usize,
    most: usize,
    mut find: impl FnMut(Range<u64>, usize) -> Result<Vec<u64>, StoreError>,
) -> Result<EntryPage, StoreError> {
    let head = head(read)?;
    let mut range = within(read, &head, filter, cursor)?;
    let mut rows = Vec::new();
    let mut looks = 0;
    while rows.len() <= limit && looks < most && !range.is_empty() {
        let found = find(range.clone(), 256)?;
        let Some(last) = found.last() else { break };
        looks += found.len();
        range = if filter.newest_first { range.start..*last } else { *last + 1..range.end };
        for index in found {
            let Some(bytes) = read.leaf(index)? else { continue };
            if filter.admits(&parsed(index, &bytes)?.leaf) {
                rows.push((index, bytes));
            }
        }
    }
    let looked = if filter.newest_first { range.end } else { range.start.saturating_sub(1) };
    let mut page = page(rows, limit)?;
    // The search stopped before the end of the log. The next page continues there, even if this
    // page has few entries.
    if page.next.is_none() && !range.is_empty() && looks >= most {
        page.next = Some(looked);
    }
    Ok(page)
}

/// Creates the receipt of an entry against the newest checkpoint.
pub(crate) fn receipt(read: &mut dyn EngineRead, index: u64) -> Result<Receipt, StoreError> {
    let missing = || StoreError::Missing(format!("entry {index}"));
    let leaf = read.leaf(index)?.ok_or_else(missing)?;
    let note = newest_checkpoint(read)?.ok_or_else(missing)?;
    let checkpoint =
        Checkpoint::read(&note).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let path = inclusion_proof(index, checkpoint.size(), &Hashes::of(read))?;
    Ok(Receipt::new(leaf, index, path, note))
}

pub(crate) fn consistency(
    read: &mut dyn EngineRead,
    old: u64,
    new: u64,
) -> Result<Vec<Hash>, StoreError> {
    let size = head(read)?.size;
    if old > new || new > size {
        return Err(StoreError::Missing(format!(
            "proof from {old} to {new} entries; it has {size}"
        )));
    }
    Ok(consistency_proof(old, new, &Hashes::of(read))?)
}

/// Returns the root that the tree had at this size.
pub(crate) fn root(read: &mut dyn EngineRead, size: u64) -> Result<Hash, StoreError> {
    let has = head(read)?.size;
    if size > has {
        return Err(StoreError::Missing(format!("root of {size} entries; it has {has}")));
    }
    Ok(root_at(size, &Hashes::of(read))?)
}

/// Returns the newest checkpoint with its cosignatures.
pub(crate) fn newest_checkpoint(read: &mut dyn EngineRead) -> Result<Option<Note>, StoreError> {
    let note = read.newest_checkpoint()?.map(|note| parsed_note(&note)).transpose()?;
    Ok(cosigned(read, note.into_iter().collect())?.pop())
}

/// Returns the checkpoints of trees larger than this with their cosignatures, smallest first.
pub(crate) fn checkpoints(
    read: &mut dyn EngineRead,
    above: u64,
    limit: usize,
) -> Result<Vec<Note>, StoreError> {
    let notes = read.checkpoints(above, limit)?;
    let notes: Result<_, _> = notes.iter().map(|note| parsed_note(note)).collect();
    cosigned(read, notes?)
}

/// Adds the cosignatures to checkpoints, which must be sorted by size.
fn cosigned(read: &mut dyn EngineRead, mut notes: Vec<Note>) -> Result<Vec<Note>, StoreError> {
    let damaged = |error: String| StoreError::Damaged(format!("a checkpoint: {error}"));
    let sizes: Result<Vec<u64>, _> = notes
        .iter()
        .map(|note| Checkpoint::read(note).map(|checkpoint| checkpoint.size()))
        .collect();
    let sizes = sizes.map_err(|error| damaged(error.to_string()))?;
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Ok(notes) };
    for (size, line) in read.cosignatures(*first..=*last)? {
        if let Ok(place) = sizes.binary_search(&size) {
            let note = notes[place].with_signatures(&line);
            notes[place] = note.map_err(|error| damaged(error.to_string()))?;
        }
    }
    Ok(notes)
}

pub(crate) fn parsed_note(text: &str) -> Result<Note, StoreError> {
    Note::parse(text).map_err(|error| StoreError::Damaged(format!("a checkpoint: {error}")))
}

/// Returns a stream as lists show it.
pub(crate) fn stream(
    read: &mut dyn EngineRead,
    name: &str,
) -> Result<Option<StreamInfo>, StoreError> {
    let Some(stream) = read.stream(name)? else { return Ok(None) };
    let newest = read.newest_events(name, 1)?.first().map_or(0, |newest| newest.seq);
    Ok(Some(StreamInfo::new(name.to_owned(), stream, newest)))
}

pub(crate) fn events(
    read: &mut dyn EngineRead,
    after: u64,
    stream: Option<&str>,
    limit: usize,
) -> Result<EventPage, StoreError> {
    let newest = head(read)?.event_seq;
    let minimum = read.event_minimum()?;
    let next = after.saturating_add(1);
    let gap = (next < minimum).then_some(Gap { from: next, to: minimum - 1 });
    // Events of our own streams survive pruning and lie inside the gap. A reader of one stream gets
    // them; a reader of all streams does not.
    let from = gap.filter(|_| stream.is_none()).map_or(after, |gap| gap.to);
    let events = read.events(from, stream, limit)?;
    // A page that is not full covers everything up to the newest event.
    let after = match events.last() {
        Some(last) if events.len() == limit => last.seq,
        _ => newest.max(after),
    };
    Ok(EventPage { gap, events, after })
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use answerback_ledger::Draft;

    use super::*;
    use crate::{Settings, Store};

    /// Checks that a search with a small limit still finds every entry exactly once over several
    /// pages.
    #[test]
    fn looking_that_ends_early_says_where_it_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new(folder.path().join("key"));
        let store = Store::open_sqlite(folder.path().join("store.db"), settings).unwrap();
        let tickets: Vec<_> = (1..1200_u64)
            .map(|index| {
                let tool = if index % 400 == 0 { "rare" } else { "common" };
                store.append(Draft::request().with_tool(tool)).unwrap()
            })
            .collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
        let rare = Filter::default().with_tool("rare");
        for (filter, wanted) in [(rare.clone(), [400, 800]), (rare.newest_first(), [800, 400])] {
            let (mut found, mut cursor, mut pages) = (Vec::new(), None, 0);
            loop {
                let find = |within: Range<u64>, most: usize| {
                    let all: Vec<u64> = if filter.newest_first {
                        within.rev().take(most).collect()
                    } else {
                        within.take(most).collect()
                    };
                    Ok(all)
                };
                let page =
                    store.read(|read| entries_found(read, &filter, cursor, 9, 300, find)).unwrap();
                found.extend(page.entries.iter().map(|entry| entry.index));
                pages += 1;
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!((found, pages), (wanted.to_vec(), 3));
        }
    }
}
