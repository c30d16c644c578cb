//! Recovers the id from a line that is not a message.

use crate::wire::{Id, Message, MessageError, Object, Shape, code};

/// The number of bytes at each end of a non-JSON line that are searched for an id.
const EDGE: usize = 512;

/// Describes a line that is not a message.
///
/// The id matters: a server does not repeat a response that could not be read. So the request that waits for it
/// must be answered at once.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct UnreadableLine {
    /// The id of the message, if it could be found.
    pub id: Option<Id>,
    /// True if the line looks like the response to the request with this id, and not like a request.
    pub is_answer: bool,
    /// The JSON-RPC error code for the line.
    pub code: i32,
    /// The reason, as the end of a sentence about the line: "is not UTF-8".
    pub reason: String,
}

impl UnreadableLine {
    /// Describes a line in which U+FFFD replaced invalid UTF-8. Such bytes usually are inside strings, so the
    /// members can still be read.
    pub(super) fn not_text(text: String) -> Self {
        let (id, is_answer) = match Message::read_or_return(text) {
            Ok(message) => match message.shape() {
                Shape::Request { id, .. } => (Some(id.clone()), false),
                Shape::Response { id } => (Some(id.clone()), true),
                Shape::Notification { .. } | Shape::Batch => (None, false),
            },
            Err((text, error)) => find_id(&text, &error),
        };
        Self { id, is_answer, code: code::PARSE_ERROR, reason: "is not UTF-8".to_owned() }
    }

    /// Describes a text that is not a message, with the parser's error.
    pub(super) fn not_message(text: &str, error: &MessageError) -> Self {
        let (id, is_answer) = find_id(text, error);
        let (code, reason) = match error {
            MessageError::NotJson(_) => (code::PARSE_ERROR, format!("is {error}")),
            MessageError::NotMessage => (code::INVALID_REQUEST, format!("is {error}")),
        };
        Self { id, is_answer, code, reason }
    }

    /// Describes a line of more than `max_bytes` bytes, of which only the ends are known.
    pub(super) fn too_long(head: &str, tail: &str, max_bytes: usize) -> Self {
        let (id, is_answer) = find_id_at_edges(head, tail);
        let reason = format!("has more than {max_bytes} bytes");
        Self { id, is_answer, code: code::INVALID_REQUEST, reason }
    }

    /// Returns the JSON-RPC error for the sender of the line. It contains the id only if the line is a request,
    /// because a response is never answered.
    pub fn error(&self) -> Message {
        let id = self.id.as_ref().filter(|_| !self.is_answer);
        Message::error(id, self.code, &format!("the message {}", self.reason), None)
    }
}

/// Finds the id in a text that is not a message. The second value is true if the text looks like a response.
/// Servers also write logs to their output, so the text must name the protocol to count as a message.
fn find_id(text: &str, error: &MessageError) -> (Option<Id>, bool) {
    const NO_ID: (Option<Id>, bool) = (None, false);
    match error {
        MessageError::NotMessage => {
            let Ok(object) = Object::read_repeating(text) else { return NO_ID };
            let has = |name: &str| object.get(name).is_some();
            let mut ids = object.members().filter(|(name, _)| *name == "id");
            match (ids.next(), ids.next()) {
                (Some((_, id)), None) if has("jsonrpc") => (Id::read(id), !has("method")),
                _ => NO_ID,
            }
        }
        MessageError::NotJson(_) => {
            let text = text.trim();
            let within = text.len().min(EDGE);
            // A character boundary is at most three bytes away.
            let head = (0..4).find_map(|less| text.get(..within.checked_sub(less)?));
            let tail = (0..4).find_map(|less| text.get((text.len() - within).checked_add(less)?..));
            let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
            let names_protocol = |edge: &str| edge.contains("\"jsonrpc\"");
            if text.starts_with('{') && (names_protocol(head) || names_protocol(tail)) {
                find_id_at_edges(head, tail)
            } else {
                NO_ID
            }
        }
    }
}

/// Finds the id of a message of which only the ends are known. The id is before or after the message's long
/// member. The second value is true if the message looks like a response.
fn find_id_at_edges(head: &str, tail: &str) -> (Option<Id>, bool) {
    let place = |name: &str| head.find(name);
    let answer = place("\"result\"").into_iter().chain(place("\"error\"")).min();
    let request = place("\"params\"").into_iter().chain(place("\"method\"")).min();
    let before = answer.into_iter().chain(place("\"params\"")).min().unwrap_or(head.len());
    let first = head[..before].split_once("\"id\"").map(|(_, rest)| rest);
    let last = tail.rsplit_once("\"id\"").map(|(_, rest)| rest);
    let value = |rest: &str| {
        let rest = rest.trim_start().strip_prefix(':')?;
        let end = rest.find([',', '}'])?;
        // In the tail, the id must be the last member of the message.
        Some((Id::read(rest[..end].trim())?, rest[end..].trim() == "}"))
    };
    let id = first
        .and_then(value)
        .map(|(id, _)| id)
        .or_else(|| last.and_then(value).filter(|(_, is_last)| *is_last).map(|(id, _)| id));
    let is_answer = match (answer, request) {
        (Some(answer), Some(request)) => answer < request,
        (_, request) => request.is_none(),
    };
    (id, is_answer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_id_is_seen_at_either_edge() {
        let seven = || Some("7".to_owned());
        for (head, tail, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"x"#, "xx", seven()),
            (r#"{"id" : 7 , "result""#, "", seven()),
            (r#"{"result":{"id":9,"x"#, r#"xx"},"id":7}"#, seven()),
            (r#"{"result":{"id":9,"x"#, r#""id":8},"more":1}"#, None),
            (r#"{"result":{"id":9,"x"#, "xx", None),
        ] {
            let (id, is_answer) = find_id_at_edges(head, tail);
            assert_eq!(id.map(|id| id.as_json().to_owned()), expected, "{head} … {tail}");
            assert!(is_answer, "{head} … {tail}");
        }
        for head in [
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"result":"x"#,
            r#"{"jsonrpc":"2.0","id":7,"params":{"x"#,
        ] {
            let (id, is_answer) = find_id_at_edges(head, "xx");
            assert_eq!((id, is_answer), (Id::read("7"), false), "{head}");
        }
    }

    #[test]
    fn a_line_shows_for_whom_it_was() {
        let unreadable = |text: &str| {
            let (text, error) = Message::read_or_return(text.to_owned()).unwrap_err();
            UnreadableLine::not_message(&text, &error)
        };
        for (text, id, is_answer) in [
            // JavaScript omits a result that is undefined.
            (r#"{"jsonrpc":"2.0","id":7}"#, Some("7"), true),
            (r#"{"jsonrpc":"2.0","id":7,"method":7}"#, Some("7"), false),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#, Some("7"), true),
            (r#"{"jsonrpc":"2.0","id":7,"resu"#, Some("7"), true),
            (r#"{"jsonrpc":"2.0","id":7,"id":8,"result":1}"#, None, false),
            // These are log lines.
            (r#"{"level":"info","id":7}"#, None, false),
            (r#"INFO {"jsonrpc":"2.0","id":7,"result":1}"#, None, false),
            (r#"{"id":7,"result""#, None, false),
        ] {
            let line = unreadable(text);
            assert_eq!(line.id, id.and_then(Id::read), "{text}");
            assert_eq!(line.is_answer, is_answer, "{text}");
        }
    }

    proptest! {
        /// Damage to the bytes of a string does not hide the response's id.
        #[test]
        fn an_answer_with_damaged_text_keeps_its_id(
            number in 0..1_000_000u32,
            damage in prop::collection::vec(128..=255u8, 1..8),
            is_last in any::<bool>(),
        ) {
            let (open, close) = if is_last {
                (r#"{"jsonrpc":"2.0","result":{"text":""#.to_owned(), format!(r#""}},"id":{number}}}"#))
            } else {
                (format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{"text":""#), r#""}}"#.to_owned())
            };
            let bytes = [open.as_bytes(), &damage, close.as_bytes()].concat();
            let line = UnreadableLine::not_text(String::from_utf8_lossy(&bytes).into_owned());
            prop_assert_eq!(line.id, Id::read(&number.to_string()));
            prop_assert!(line.is_answer);
        }

        /// No line of a server causes a panic.
        #[test]
        fn every_line_can_be_looked_at(text in r#"[{\[]?([\PC]|"id"|"jsonrpc"|[:,{}]|é){0,300}"#) {
            if let Err((text, error)) = Message::read_or_return(text) {
                UnreadableLine::not_message(&text, &error);
            }
        }
    }
}
