//! Encodes server-sent events.
//!
//! This is our own encoder. `axum::response::sse` encodes into its own response type, and offers no bytes to store.

use std::fmt;

use answerback_mcp::wire::Message;
use axum::body::Bytes;

/// The delay before a client resumes a stream that ended early, in milliseconds.
const RETRY: u32 = 1000;

/// The parts of an event id: the client, the stream, and the number of the event in the stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EventId<'a> {
    pub(super) client: &'a str,
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl<'a> EventId<'a> {
    /// Parses an id that [`Display`](fmt::Display) wrote.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (rest, number) = text.rsplit_once('-')?;
        let (client, stream) = rest.rsplit_once('-')?;
        let number_of = |digits: &str| {
            let number: u64 = digits.parse().ok()?;
            // Other spellings of a number are rejected, so that each event has one id.
            (number.to_string() == digits).then_some(number)
        };
        Some(Self { client, stream: number_of(stream)?, number: number_of(number)? })
    }
}

impl fmt::Display for EventId<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}", self.client, self.stream, self.number)
    }
}

/// Builds an event without a message. It gives the client an id to resume from and the delay before it does so.
pub(super) fn priming_event(id: &EventId<'_>) -> Bytes {
    Bytes::from(format!("id: {id}\nretry: {RETRY}\ndata: \n\n"))
}

/// Builds an event that reports the number of missing messages. Its type is not `message`, so clients ignore it.
pub(super) fn gap_event(lost: u64) -> Bytes {
    Bytes::from(format!("event: gap\ndata: {{\"lost\":{lost}}}\n\n"))
}

/// Builds the event for a message, with an id.
pub(super) fn message_event(id: &EventId<'_>, message: &Message) -> Bytes {
    append_message(format!("id: {id}\nevent: message\ndata: "), message)
}

/// Builds the event for a message that cannot be resumed from.
pub(crate) fn unresumable_event(message: &Message) -> Bytes {
    append_message("event: message\ndata: ".to_owned(), message)
}

/// Appends a message to the first lines of its event. Each line of the message becomes a line of the event.
fn append_message(mut event: String, message: &Message) -> Bytes {
    let text = message.text();
    event.reserve(text.len() + 32);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            event.push_str("\ndata: ");
        }
        event.push_str(line.strip_suffix('\r').unwrap_or(line));
    }
    event.push_str("\n\n");
    Bytes::from(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: EventId<'_> = EventId { client: "c0ffee", stream: 3, number: 7 };

    #[test]
    fn an_event_contains_the_whole_message() {
        let parse = |text: &str| Message::read(text.to_owned()).unwrap();
        let plain = parse(r#"{"method":"m"}"#);
        assert_eq!(
            unresumable_event(&plain),
            "event: message\ndata: {\"method\":\"m\"}\n\n".as_bytes()
        );
        assert_eq!(
            unresumable_event(&parse("{\r\n \"method\":\n\"m\"}")),
            "event: message\ndata: {\ndata:  \"method\":\ndata: \"m\"}\n\n".as_bytes()
        );
        assert_eq!(
            message_event(&ID, &plain),
            "id: c0ffee-3-7\nevent: message\ndata: {\"method\":\"m\"}\n\n".as_bytes()
        );
        assert_eq!(priming_event(&ID), "id: c0ffee-3-7\nretry: 1000\ndata: \n\n".as_bytes());
    }

    #[test]
    fn an_id_has_exactly_one_spelling() {
        assert_eq!(EventId::parse("c0ffee-3-7"), Some(ID));
        for other in ["", "-", "c0ffee-3", "c0ffee-3-", "c0ffee-03-7", "c0ffee-3-+7", "c0ffee-3-7 "]
        {
            assert_eq!(EventId::parse(other), None, "{other:?}");
        }
    }
}
