use std::ops::Range;

use answerback_ledger::Leaf;

use super::head;
use crate::engine::EngineRead;
use crate::{EntryFilter, EntryPage, LedgerEntry, LogHead, StoreError};

/// The maximum number of entries that a page of a text search examines.
pub(crate) const LOOKS: usize = 1 << 14;

/// Reads an entry with its parts.
pub(crate) fn entry(
    read: &mut dyn EngineRead,
    index: u64,
) -> Result<Option<LedgerEntry>, StoreError> {
    let Some(bytes) = read.leaf(index)? else { return Ok(None) };
    let mut entry = parsed(index, &bytes)?;
    entry.parts = read.parts(index)?;
    Ok(Some(entry))
}

fn parsed(index: u64, bytes: &[u8]) -> Result<LedgerEntry, StoreError> {
    let damaged = |error| StoreError::Damaged(format!("the entry at {index}: {error}"));
    let leaf = Leaf::parse(bytes).map_err(damaged)?;
    Ok(LedgerEntry { index, hash: leaf.hash(), leaf, parts: Vec::new() })
}

/// Returns the indexes that a page may contain: stored entries after the cursor within the filter's
/// times.
fn within(
    read: &mut dyn EngineRead,
    head: &LogHead,
    filter: &EntryFilter,
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
fn first_at(read: &mut dyn EngineRead, head: &LogHead, micros: i64) -> Result<u64, StoreError> {
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
    filter: &EntryFilter,
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
pub(crate) fn search_entries(
    read: &mut dyn EngineRead,
    filter: &EntryFilter,
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
