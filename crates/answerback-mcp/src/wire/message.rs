use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::splice::place;
use super::{Id, Object, scan};

/// How many names that JSON-RPC does not know are compared with each other; a message with more was made to be slow.
const COMPARED: usize = 32;

/// What a message is, by what JSON-RPC says of its members.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever relays messages has to know all of them")]
pub enum Shape {
    /// Something that wants an answer.
    Request {
        /// By which the answer is known.
        id: Id,
        /// What is asked.
        method: String,
    },
    /// Something that wants none.
    Notification {
        /// What is said.
        method: String,
    },
    /// An answer.
    Response {
        /// To which request.
        id: Id,
    },
    /// Several messages in one, as one revision of the protocol had it.
    Batch,
}

/// One message: its text as it came, and its shape.
#[derive(Clone, Debug)]
pub struct Message {
    text: String,
    shape: Shape,
    /// Where its parameters lie, where that is known.
    params: Option<Range<usize>>,
    /// Whether a name stands twice among its members.
    repeats: bool,
}

/// What JSON-RPC looks at in a message, as it is written.
#[derive(Debug, Default)]
struct MessageOutline<'t> {
    /// Null is not as good as absent: a request whose id is null would pass for a notification, which nobody answers and
    /// nobody looks at.
    id: Option<&'t str>,
    method: Option<&'t str>,
    result: Option<&'t str>,
    error: Option<&'t str>,
    /// Nothing, also where they stand twice: which of them is meant is for whoever reads them to say.
    params: Option<&'t str>,
    /// Whether a name stands twice that does not say what the message is.
    repeats: bool,
}

impl<'t> MessageOutline<'t> {
    fn of(text: &'t str) -> Result<Self, MessageError> {
        let mut outline = Self::default();
        let (mut is_repeated, mut params, mut has_version) = (false, 0, false);
        // Nearly all messages have none, and so cost nothing here.
        let mut others: Vec<Cow<'t, str>> = Vec::new();
        let is_object = scan::members(text, |name, value| {
            let Some(name) = scan::unquoted(name) else { return false };
            let place = match &*name {
                "id" => &mut outline.id,
                "method" => &mut outline.method,
                "result" => &mut outline.result,
                "error" => &mut outline.error,
                "params" => {
                    params += 1;
                    outline.params = (params == 1).then_some(value);
                    outline.repeats |= params > 1;
                    return true;
                }
                "jsonrpc" => {
                    outline.repeats |= std::mem::replace(&mut has_version, true);
                    return true;
                }
                _ => {
                    if others.len() <= COMPARED {
                        outline.repeats |= others.contains(&name);
                        others.push(name);
                    }
                    return true;
                }
            };
            // Two readers could take it for different values.
            is_repeated |= place.replace(value).is_some();
            true
        });
        if !is_object || is_repeated {
            return Err(MessageError::of(text));
        }
        if others.len() > COMPARED {
            outline.repeats = Object::read_repeating(text).is_ok_and(|object| object.repeats());
        }
        Ok(outline)
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or JSON that is no message.
    pub fn read(text: String) -> Result<Self, MessageError> {
        Self::read_or_return(text).map_err(|(_, error)| error)
    }

    /// Reads a message, or returns the text with the reason why it is none.
    pub(crate) fn read_or_return(text: String) -> Result<Self, (String, MessageError)> {
        match Self::seen_in(&text) {
            Ok((shape, params, repeats)) => Ok(Self { text, shape, params, repeats }),
            Err(error) => Err((text, error)),
        }
    }

    /// What a text is, where its parameters lie, and whether a name stands twice in it.
    fn seen_in(text: &str) -> Result<(Shape, Option<Range<usize>>, bool), MessageError> {
        if text.trim_start().starts_with('[') {
            return if scan::is_json(text) {
                Ok((Shape::Batch, None, false))
            } else {
                Err(MessageError::of(text))
            };
        }
        let outline = MessageOutline::of(text)?;
        let no_message = || MessageError::NoMessage;
        let id = outline.id.map(|id| Id::read(id).ok_or_else(no_message)).transpose()?;
        let method = outline.method.filter(|method| *method != "null");
        let method = method.map(|method| scan::unquoted(method).ok_or_else(no_message));
        let shape = match (id, method.transpose()?) {
            (Some(id), Some(method)) => Shape::Request { id, method: method.into_owned() },
            (None, Some(method)) => Shape::Notification { method: method.into_owned() },
            (Some(id), None) if outline.result.is_some() || outline.error.is_some() => {
                Shape::Response { id }
            }
            _ => return Err(MessageError::NoMessage),
        };
        Ok((shape, outline.params.map(|params| place(text, params)), outline.repeats))
    }

    /// A request of our own.
    pub fn request(id: &Id, method: &str, params: &Value) -> Self {
        let method = Value::from(method);
        let id = id.as_json();
        Self::ours(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#))
    }

    /// A notification of our own.
    pub fn notification(method: &str, params: &Value) -> Self {
        let method = Value::from(method);
        Self::ours(format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#))
    }

    /// An answer with this result, which is JSON.
    pub fn result(id: &Id, result: &str) -> Self {
        Self::ours(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json()))
    }

    /// An answer that says what failed. Without an id it answers what could not be read.
    pub fn error(id: Option<&Id>, code: i32, message: &str, data: Option<&Value>) -> Self {
        let mut error = serde_json::json!({"code": code, "message": message});
        if let Some(data) = data {
            error["data"] = data.clone();
        }
        let id = id.map_or("null", Id::as_json);
        // An error without an id is an answer to nothing that anybody could name.
        Self::ours(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
    }

    fn ours(text: String) -> Self {
        let (shape, params, repeats) = Self::seen_in(&text).unwrap_or((Shape::Batch, None, false));
        Self { text, shape, params, repeats }
    }

    /// The same message under another id; every other byte stays. A message without an id stays as it is.
    #[must_use]
    pub fn with_id(self, id: &Id) -> Self {
        let Self { text, shape, params, repeats } = self;
        let shape = match shape {
            Shape::Request { id: ref own, .. } | Shape::Response { id: ref own } if own == id => {
                return Self { text, shape, params, repeats };
            }
            Shape::Request { method, .. } => Shape::Request { id: id.clone(), method },
            Shape::Response { .. } => Shape::Response { id: id.clone() },
            other => return Self { text, shape: other, params, repeats },
        };
        let place =
            MessageOutline::of(&text).ok().and_then(|outline| Some(place(&text, outline.id?)));
        let mut text = text;
        if let Some(place) = place {
            text.replace_range(place, id.as_json());
        }
        Self { text, shape, params: None, repeats }
    }

    /// The same message with other text, of the same shape.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        Self { text, shape: self.shape, params: None, repeats: self.repeats }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its parameters as they are written, where it was found when the message was read where they lie.
    pub fn params(&self) -> Option<&str> {
        self.params.clone().and_then(|place| self.text.get(place))
    }

    /// Whether a name stands twice among its members, of which readers may take either value. What says which message it is
    /// never does: that is no message.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// The text alone.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A text that is no message.
#[derive(Debug, thiserror::Error)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC knows these two")]
pub enum MessageError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// It is JSON, but neither request, notification nor response.
    #[error("neither a request, nor a notification, nor a response")]
    NoMessage,
}

impl MessageError {
    /// Why a text is none, in the words of whoever reads it whole.
    fn of(text: &str) -> Self {
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Self::NoMessage,
            Err(error) => Self::NotJson(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let id = || Id::of_text("a");
        let method = || "m".to_owned();
        for (text, expected) in [
            (r#"{"id":"a","method":"m","x":1}"#, Shape::Request { id: id(), method: method() }),
            (r#"{"method":"m"}"#, Shape::Notification { method: method() }),
            (r#"{"id":"a","result":null}"#, Shape::Response { id: id() }),
            (r#"{"id":"a","error":{}}"#, Shape::Response { id: id() }),
            (r#" [{"id":1}]"#, Shape::Batch),
        ] {
            let read = Message::read(text.to_owned());
            assert_eq!(read.as_ref().ok().map(Message::shape), Some(&expected), "{text}: {read:?}");
        }
    }

    #[test]
    fn parameters_are_known_where_they_stand_once_and_nothing_was_changed() {
        let read = |text: &str| Message::read(text.to_owned()).unwrap();
        for (text, expected) in [
            (r#"{"id":1,"params" : {"a":[1, 2]} ,"method":"m"}"#, Some(r#"{"a":[1, 2]}"#)),
            (r#"{"method":"m","p\u0061rams":7}"#, Some("7")),
            (r#"{"method":"m"}"#, None),
            (r#"{"method":"m","params":1,"params":2}"#, None),
            (r#"{"method":"m","params":1,"params":2,"params":3}"#, None),
        ] {
            assert_eq!(read(text).params(), expected, "{text}");
        }
        let message = read(r#"{"id":1,"method":"m","params":[]}"#);
        assert_eq!(message.clone().with_id(&Id::of_text("another")).params(), None);
        assert_eq!(message.with_text("{}".to_owned()).params(), None);
    }

    #[test]
    fn a_name_that_stands_twice_is_noted_and_nothing_is_lost() {
        let many: String = (0..100).map(|number| format!(r#""x{number}":1,"#)).collect();
        for (members, expected) in [
            (r#""jsonrpc":"2.0","x":1,"y":{"x":1,"x":2}"#, false),
            (r#""jsonrpc":"2.0","jsonrpc":"2.0""#, true),
            (r#""params":{},"p\u0061rams":{}"#, true),
            (r#""x":1,"y":2,"x":1"#, true),
            (r#""x":1,"\u0078":1"#, true),
            (&format!("{many}\"y\":1"), false),
            (&format!("{many}\"x99\":1"), true),
            (&format!("{many}\"x0\":1"), true),
        ] {
            let text = format!(r#"{{"id":1,"method":"m",{members}}}"#);
            let message = Message::read(text.clone()).unwrap();
            assert_eq!((message.repeats(), message.text()), (expected, &*text));
            let changed = message.with_id(&Id::of_text("a"));
            assert_eq!(changed.repeats(), expected, "{text}");
            assert_eq!(changed.with_text("{}".to_owned()).repeats(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_message_is_told() {
        for text in [
            "{}",
            "1",
            r#"{"id":null,"method":"m"}"#,
            r#"{"id":"a"}"#,
            r#"{"id":{},"method":"m"}"#,
            r#"{"method":1}"#,
            r#"{"method":"m","id":1,"\u0069d":2}"#,
            r#"{"method":"m","result":1,"result":2}"#,
        ] {
            let error = Message::read(text.to_owned()).unwrap_err();
            assert!(matches!(error, MessageError::NoMessage), "{text}: {error}");
        }
        for text in ["", "{", "nope", "[1"] {
            let error = Message::read(text.to_owned()).unwrap_err();
            assert!(matches!(error, MessageError::NotJson(_)), "{text}: {error}");
        }
    }

    #[test]
    fn an_id_is_replaced_and_nothing_else() {
        let id = Id::of_text("b");
        for (text, expected) in [
            (r#"{ "id" : 7, "result": {"id":7} }"#, r#"{ "id" : "b", "result": {"id":7} }"#),
            (
                r#"{"params":{"id":1.0},"method":"m","id":"a"}"#,
                r#"{"params":{"id":1.0},"method":"m","id":"b"}"#,
            ),
            (r#"{"method":"m"}"#, r#"{"method":"m"}"#),
        ] {
            let message = Message::read(text.to_owned()).unwrap().with_id(&id);
            assert_eq!(message.text(), expected);
            assert_eq!(Message::read(message.text().to_owned()).unwrap().shape(), message.shape());
        }
    }

    #[test]
    fn our_own_messages_are_messages() {
        let id = Id::of_text("answerback/1");
        let messages = [
            Message::request(&id, "tools/list", &serde_json::json!({})),
            Message::notification("notifications/cancelled", &serde_json::json!({})),
            Message::result(&id, "{}"),
            Message::error(Some(&id), -32602, "no", None),
        ];
        for message in messages {
            let read = Message::read(message.text().to_owned()).unwrap();
            assert_eq!(read.shape(), message.shape());
        }
    }
}
