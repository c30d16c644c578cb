//! Parses a stream of server-sent events.
//!
//! This parser is our own, because it limits the size of an event while the bytes arrive.

use std::time::Duration;

/// The longest event id that is stored, because the id is sent back in a header.
const LONGEST_ID: usize = 4096;
/// The length of the longest prefix before the data of a line.
const BEFORE_DATA: usize = "data: ".len();

/// The default delay before a stream is resumed, and the limits for the delay that a server may set.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Holds the content of an event.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum ServerSentEvent {
    /// The data of the event.
    Data(String),
    /// The data is over the limit.
    TooLong,
    /// The data is not UTF-8.
    NotText,
}

/// Parses events from bytes that may be split at any place.
#[derive(Debug)]
pub(super) struct EventReader {
    most: usize,
    line: PartialLine,
    /// True if the last line ended with a carriage return. A line feed that follows belongs to it.
    after_return: bool,
    is_first_line: bool,
    draft: EventDraft,
    last_id: Option<String>,
    /// The delay before resuming that the server set with `retry`.
    retry_delay: Option<Duration>,
    has_progressed: bool,
}

/// Holds a line whose end has not arrived.
#[derive(Debug, Default)]
struct PartialLine {
    bytes: Vec<u8>,
    /// True if the line was longer than the stored part.
    is_cut: bool,
}

/// Holds an event whose end has not arrived.
#[derive(Debug, Default)]
struct EventDraft {
    data: Option<Vec<u8>>,
    is_too_long: bool,
    /// True if the event has a type other than `message`.
    is_other: bool,
    id: Option<String>,
}

impl EventReader {
    /// Creates a parser that accepts at most `most` bytes of data per event.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            line: PartialLine::default(),
            after_return: false,
            is_first_line: true,
            draft: EventDraft::default(),
            last_id: None,
            retry_delay: None,
            has_progressed: false,
        }
    }

    /// Returns the next event that these bytes complete. Returns `None` after it has consumed all bytes.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<ServerSentEvent> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', bytes);
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.line.add(piece, self.most + BEFORE_DATA);
            *bytes = rest;
            let (end, rest) = rest.split_first()?;
            *bytes = rest;
            self.after_return = *end == b'\r';
            if let Some(event) = self.end_line() {
                return Some(event);
            }
        }
        None
    }

    /// Returns the event id with which the stream can be resumed.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the delay before the stream is resumed. It begins with the server's `retry` value and doubles with
    /// each attempt.
    pub(super) fn pause(&self, attempt: u32) -> Duration {
        let first = self.retry_delay.unwrap_or(PAUSE).max(SHORTEST_PAUSE);
        let doublings = attempt.saturating_sub(1).min(16);
        first.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
    }

    /// Returns true if an event was completed since the last call.
    pub(super) fn has_progressed(&mut self) -> bool {
        std::mem::take(&mut self.has_progressed)
    }

    /// Prepares for the stream that resumes this one. An incomplete event is discarded, because the server sends
    /// it again.
    pub(super) fn resume(&mut self) {
        let (last_id, retry_delay) = (self.last_id.take(), self.retry_delay);
        *self = Self { last_id, retry_delay, ..Self::new(self.most) };
    }

    fn end_line(&mut self) -> Option<ServerSentEvent> {
        let is_cut = std::mem::take(&mut self.line.is_cut);
        let mut line = &self.line.bytes[..];
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.line.bytes.clear();
            return self.end_event();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.draft.add(value, is_cut, self.most),
            b"event" => self.draft.is_other = !value.is_empty() && value != b"message",
            b"id"
                if !is_cut
                    && value.len() <= LONGEST_ID
                    && !value.iter().any(u8::is_ascii_control) =>
            {
                self.draft.id = str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" if !is_cut && value.iter().all(u8::is_ascii_digit) => {
                let number = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry_delay = number.map(Duration::from_millis).or(self.retry_delay);
            }
            // Comments and unknown fields are ignored.
            _ => {}
        }
        self.line.bytes.clear();
        None
    }

    fn end_event(&mut self) -> Option<ServerSentEvent> {
        let EventDraft { data, is_too_long, is_other, id } = std::mem::take(&mut self.draft);
        self.has_progressed |= data.is_some() || id.is_some();
        if let Some(id) = id {
            // An empty id resets the stored one.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        match data {
            _ if is_other => None,
            _ if is_too_long => Some(ServerSentEvent::TooLong),
            // An event without data only sets the id.
            Some(data) if !data.is_empty() => Some(
                String::from_utf8(data).map_or(ServerSentEvent::NotText, ServerSentEvent::Data),
            ),
            _ => None,
        }
    }
}

impl PartialLine {
    /// Adds bytes to the line, and stores at most `most` bytes of it.
    fn add(&mut self, piece: &[u8], most: usize) {
        let room = most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        self.is_cut |= piece.len() > room;
    }
}

impl EventDraft {
    /// Adds a line of data to the event.
    fn add(&mut self, value: &[u8], is_cut: bool, most: usize) {
        let between = usize::from(self.data.is_some());
        let data = self.data.get_or_insert_default();
        self.is_too_long |= is_cut || data.len() + between + value.len() > most;
        if self.is_too_long {
            *data = Vec::new();
            return;
        }
        if between == 1 {
            data.push(b'\n');
        }
        data.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> ServerSentEvent {
        ServerSentEvent::Data(text.to_owned())
    }

    /// Reads a stream in pieces of `size` bytes.
    fn read(stream: &[u8], size: usize, most: usize) -> (Vec<ServerSentEvent>, EventReader) {
        let mut reader = EventReader::new(most);
        let mut events = Vec::new();
        for mut piece in stream.chunks(size) {
            while let Some(event) = reader.next(&mut piece) {
                events.push(event);
            }
            assert!(piece.is_empty());
        }
        (events, reader)
    }

    #[test]
    fn events_however_the_bytes_are_split() {
        for (stream, expected, last_id) in [
            ("data: a\n\n", vec![data("a")], None),
            ("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", vec![data("a"), data("b"), data(" c")], None),
            ("\u{feff}data: a\n\n", vec![data("a")], None),
            (": hello\n\n:\r\n\r\ndata: a\n: in between\ndata: b\n\n", vec![data("a\nb")], None),
            (
                "event: message\nid: 1\ndata: a\n\nevent: endpoint\ndata: /x\n\n",
                vec![data("a")],
                Some("1"),
            ),
            // An event with only an id sets the place to resume at.
            ("id: 7\ndata:\n\n", vec![], Some("7")),
            ("id: 7\n\nid\n\n", vec![], None),
            ("id: 7\n\nid: \0\n\n", vec![], Some("7")),
            // Incomplete events do not count.
            ("id: 7\ndata: a\n\nid: 8\ndata: b\n", vec![data("a")], Some("7")),
            ("data: {\"é\":\"→\"}\n\n", vec![data("{\"é\":\"→\"}")], None),
            ("unknown: x\ndatax: y\ndata\ndata: a\n\n", vec![data("\na")], None),
        ] {
            for size in 1..=stream.len() {
                let (events, reader) = read(stream.as_bytes(), size, 100);
                assert_eq!(events, expected, "{stream:?} in pieces of {size}");
                assert_eq!(reader.last_id(), last_id, "{stream:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn what_is_too_long_or_no_text_is_told_and_the_next_event_is_read() {
        let stream = b"data: 1234567890\n\ndata: 12345678901\n\ndata: 12345\ndata: 67890\n\n:12345678901234567890\n\
            data: \xff\n\nid: 12345678901234567890\ndata: z\n\n";
        for size in 1..=stream.len() {
            let (events, reader) = read(stream, size, 10);
            let expected = [
                data("1234567890"),
                ServerSentEvent::TooLong,
                ServerSentEvent::TooLong,
                ServerSentEvent::NotText,
                data("z"),
            ];
            assert_eq!(events, expected, "pieces of {size}");
            assert_eq!(reader.last_id(), None);
            assert!(reader.line.bytes.capacity() <= 64 && reader.draft.data.is_none());
        }
    }

    #[test]
    fn a_stream_is_taken_up_again() {
        let (_, mut reader) = read(b"retry: 250\nid: 3\ndata: a\n\nid: 4\ndata: half", 5, 100);
        assert!(reader.has_progressed() && !reader.has_progressed());
        reader.resume();
        assert_eq!(
            (reader.last_id(), reader.retry_delay),
            (Some("3"), Some(Duration::from_millis(250)))
        );
        assert_eq!(reader.next(&mut &b"id: 4\ndata: whole\n\n"[..]), Some(data("whole")));
        assert_eq!(reader.last_id(), Some("4"));
        let (_, reader) = read(b"retry: soon\nretry: -1\n\n", 5, 100);
        assert_eq!(reader.retry_delay, None);
    }

    #[test]
    fn pauses_grow_from_what_the_server_wishes() {
        for (retry_delay, attempts, expected) in [
            (
                "",
                vec![0, 1, 2, 3, 5, 6, u32::MAX],
                vec![1000, 1000, 2000, 4000, 16000, 30000, 30000],
            ),
            ("retry: 250\n", vec![1, 2, 3], vec![250, 500, 1000]),
            ("retry: 99999999\n", vec![1], vec![30000]),
            // A server must not cause an endless loop of requests.
            ("retry: 0\n", vec![1, 2, 12], vec![10, 20, 20480]),
        ] {
            let (_, reader) = read(retry_delay.as_bytes(), 5, 100);
            let pauses: Vec<_> =
                attempts.into_iter().map(|attempt| reader.pause(attempt).as_millis()).collect();
            assert_eq!(pauses, expected, "{retry_delay}");
        }
    }
}
