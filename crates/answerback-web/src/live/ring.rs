use std::collections::VecDeque;

use answerback_store::recording::CASE_STREAMS;
use answerback_store::{OWN_STREAMS, StoredEvent};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::artifact;
use crate::stream::EventDocument;

/// The largest number of events in the ring.
const MAX_FRAMES: usize = 8192;
/// The largest number of bytes in the ring.
const MAX_BYTES: usize = 32 << 20;

/// An event in the form in which it is sent, encoded once for all followers.
#[derive(Clone, Debug)]
pub(crate) struct EventFrame {
    pub(crate) seq: u64,
    pub(crate) stream: String,
    /// The encoded event, or empty if it is not sent.
    pub(crate) bytes: Bytes,
}

impl EventFrame {
    pub(crate) fn of(event: &StoredEvent) -> Self {
        let bytes = message(event).map(|(name, data)| {
            Bytes::from(format!("id: {}\nevent: {name}\ndata: {data}\n\n", event.seq))
        });
        Self { seq: event.seq, stream: event.stream.clone(), bytes: bytes.unwrap_or_default() }
    }
}

/// Returns the event name and the data to send. Internal streams send artifact and case events, but not their end.
fn message(event: &StoredEvent) -> Option<(&'static str, Value)> {
    if !event.stream.starts_with(OWN_STREAMS) {
        return Some(("live", serde_json::to_value(EventDocument::from(event)).ok()?));
    }
    if event.kind == StoredEvent::END {
        return None;
    }
    if let Some(artifact) = artifact::live_message(event) {
        return Some(("artifact", artifact));
    }
    let case = event.stream.strip_prefix(CASE_STREAMS)?;
    let body: Value = event
        .body
        .as_deref()
        .and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or_default();
    let (seq, time) = (event.seq, event.time.to_offset_micros());
    let decision = json!({
        "seq": seq, "time": time, "case": case, "kind": body["kind"], "decision": body["decision"],
        "state": event.kind,
    });
    Some(("decision", decision))
}

/// The newest events, without gaps.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    frames: VecDeque<EventFrame>,
    bytes: usize,
    /// The sequence number of the last event that was read.
    end: u64,
}

impl Ring {
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Discards all frames and continues after this position. Earlier events are read from the store.
    pub(crate) fn restart(&mut self, end: u64) {
        *self = Self { end, ..Self::default() };
    }

    pub(crate) fn push(&mut self, frames: impl IntoIterator<Item = EventFrame>, end: u64) {
        for frame in frames {
            self.bytes += frame.bytes.len();
            self.frames.push_back(frame);
        }
        self.end = end;
        while self.frames.len() > MAX_FRAMES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.bytes.len();
        }
    }

    /// Returns at most `most` frames after a position, and the position to continue after. Returns `None` if the ring
    /// does not reach back that far.
    pub(crate) fn after(&self, after: u64, most: usize) -> Option<(Vec<EventFrame>, u64)> {
        if after >= self.end {
            return Some((Vec::new(), after));
        }
        // Sequence numbers have no gaps, so the index of the next frame can be computed.
        let oldest = self.frames.front().map_or(self.end + 1, |frame| frame.seq);
        let skip = usize::try_from((after + 1).checked_sub(oldest)?).ok()?;
        let frames: Vec<EventFrame> = self.frames.iter().skip(skip).take(most).cloned().collect();
        let end = frames.last().map_or(self.end, |frame| frame.seq);
        Some((frames, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seq: u64) -> EventFrame {
        EventFrame { seq, stream: "s".into(), bytes: Bytes::from_static(b"x") }
    }

    #[test]
    fn a_reader_goes_on_where_it_was_or_is_sent_to_the_store() {
        let mut ring = Ring::default();
        ring.restart(10);
        assert!(ring.after(9, 5).is_none());
        assert_eq!(ring.after(10, 5).unwrap().1, 10);
        ring.push((11..=20).map(frame), 20);
        let seen = |after, most| {
            ring.after(after, most).map(|(frames, end)| {
                (frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), end)
            })
        };
        assert_eq!(seen(10, 3), Some((vec![11, 12, 13], 13)));
        assert_eq!(seen(18, 9), Some((vec![19, 20], 20)));
        assert_eq!(seen(20, 9), Some((vec![], 20)));
        assert_eq!(seen(9, 9), None);
        let mut small = Ring::default();
        small.push((1..=MAX_FRAMES as u64 + 5).map(frame), MAX_FRAMES as u64 + 5);
        assert!(small.after(4, 1).is_none() && small.after(5, 1).is_some());
    }
}
