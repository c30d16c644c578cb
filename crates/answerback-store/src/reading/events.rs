use super::head;
use crate::engine::EngineRead;
use crate::{EventGap, EventPage, StoreError, StreamInfo};

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
    let gap = (next < minimum).then_some(EventGap { from: next, to: minimum - 1 });
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
