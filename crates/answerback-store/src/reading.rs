//! Reading: a pool of connections, and what is computed from rows.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use answerback_ledger::tree::{consistency_proof, inclusion_proof, root_at};
use answerback_ledger::{Checkpoint, Hash, Leaf, Note, Receipt};

use crate::engine::{EngineRead, Hashes, Opener};
use crate::{Entry, EntryPage, EventPage, Filter, Gap, Head, StoreError, StreamInfo};

/// How many connections are kept for the next reader.
const IDLE: usize = 4;

/// How many entries are looked at for one page of a filter by text.
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

    /// Runs something on one moment of the store.
    pub(crate) fn read<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (mut act, mut result) = (Some(act), None);
        self.opener.aside(&mut || result = act.take().map(|act| self.read_here(act)));
        // It was run, for nothing else is done with it.
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
        // A connection that does not end its transaction is not used again.
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

/// An entry with its parts.
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

/// The indexes that a page may hold: what is kept, past the cursor, within the times.
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
    // Times rise with the index, so both ends are found by halving.
    if let Some(since) = filter.since {
        range.start = range.start.max(first_at(read, head, since)?);
    }
    if let Some(until) = filter.until {
        range.end = range.end.min(first_at(read, head, until)?);
    }
    Ok(range)
}

/// The first entry at this time or later.
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
    // One more than asked for tells whether there is a next page.
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

/// Entries that an index for full text found, as far as the rest of the filter admits them. At most so many are looked
/// at for it.
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
    // Looking ended before the log did: the next page goes on from there, however few this one has.
    if page.next.is_none() && !range.is_empty() && looks >= most {
        page.next = Some(looked);
    }
    Ok(page)
}

/// The receipt of an entry, against the newest checkpoint.
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

/// The root of the tree when it had this size.
pub(crate) fn root(read: &mut dyn EngineRead, size: u64) -> Result<Hash, StoreError> {
    let has = head(read)?.size;
    if size > has {
        return Err(StoreError::Missing(format!("root of {size} entries; it has {has}")));
    }
    Ok(root_at(size, &Hashes::of(read))?)
}

/// The newest checkpoint, with what witnesses signed under it.
pub(crate) fn newest_checkpoint(read: &mut dyn EngineRead) -> Result<Option<Note>, StoreError> {
    let note = read.newest_checkpoint()?.map(|note| parsed_note(&note)).transpose()?;
    Ok(cosigned(read, note.into_iter().collect())?.pop())
}

/// The checkpoints of larger trees than this, smallest first, with what witnesses signed under them.
pub(crate) fn checkpoints(
    read: &mut dyn EngineRead,
    above: u64,
    limit: usize,
) -> Result<Vec<Note>, StoreError> {
    let notes = read.checkpoints(above, limit)?;
    let notes: Result<_, _> = notes.iter().map(|note| parsed_note(note)).collect();
    cosigned(read, notes?)
}

/// Adds what witnesses signed to checkpoints, which come in the order of their sizes.
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

/// A stream as the list has it.
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
    // What pruning leaves of our own streams lies in the gap: who reads one of them sees it, who reads all does not.
    let from = gap.filter(|_| stream.is_none()).map_or(after, |gap| gap.to);
    let events = read.events(from, stream, limit)?;
    // A page that is not full saw everything there is.
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

    /// However little is looked at for a page, its end leads on, and all that is there is found once.
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
