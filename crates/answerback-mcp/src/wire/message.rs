use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::splice::range_of;
use super::{Id, Object, json_scanner};

/// The number of other member names that are compared pairwise. A message with more of them was made to be slow.
const MAX_COMPARED: usize = 32;

/// Classifies a message by the members that JSON-RPC defines.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "code that forwards messages must handle every shape")]
pub enum Shape {
    /// A message that expects a response.
    Request {
        /// The id that the response repeats.
        id: Id,
        /// The requested method.
        method: String,
    },
    /// A message that expects no response.
    Notification {
        /// The method of the notification.
        method: String,
    },
    /// A response, with a result or an error.
    Response {
        /// The id of the request that it answers.
        id: Id,
    },
    /// Several messages in one list, as one revision of the protocol allowed.
    Batch,
}

/// Holds one message: its original text and its shape.
#[derive(Clone, Debug)]
pub struct Message {
    text: String,
    shape: Shape,
    /// The position of the parameters in the text, if it is known.
    params: Option<Range<usize>>,
    /// True if a member name occurs twice at the top level.
    repeats: bool,
}

/// Holds the JSON text of the members that JSON-RPC defines.
#[derive(Debug, Default)]
struct MessageOutline<'t> {
    /// A null id differs from an absent one. A request with a null id would otherwise pass as a notification,
    /// which is neither checked nor answered.
    id: Option<&'t str>,
    method: Option<&'t str>,
    result: Option<&'t str>,
    error: Option<&'t str>,
    /// `None` if the message has no parameters, or has them twice. The reader of the parameters decides which of
    /// them counts.
    params: Option<&'t str>,
    /// True if a member that does not decide the shape occurs twice.
    repeats: bool,
}

impl<'t> MessageOutline<'t> {
    fn read(text: &'t str) -> Result<Self, MessageError> {
        let mut outline = Self::default();
        let (mut is_repeated, mut params, mut has_version) = (false, 0, false);
        // Nearly all messages have no other members, so this list rarely allocates.
        let mut others: Vec<Cow<'t, str>> = Vec::new();
        let is_object = json_scanner::for_each_member(text, |name, value| {
            let Some(name) = json_scanner::string_content(name) else { return false };
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
                    if others.len() <= MAX_COMPARED {
                        outline.repeats |= others.contains(&name);
                        others.push(name);
                    }
                    return true;
                }
            };
            // Two parsers could use different values of a repeated member.
            is_repeated |= place.replace(value).is_some();
            true
        });
        if !is_object || is_repeated {
            return Err(MessageError::of(text));
        }
        if others.len() > MAX_COMPARED {
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
    /// Returns an error if the text is not JSON, or is JSON but not a message.
    pub fn read(text: String) -> Result<Self, MessageError> {
        Self::read_or_return(text).map_err(|(_, error)| error)
    }

    /// Reads a message. On failure, returns the text together with the error.
    pub(crate) fn read_or_return(text: String) -> Result<Self, (String, MessageError)> {
        match Self::parse_shape(&text) {
            Ok((shape, params, repeats)) => Ok(Self { text, shape, params, repeats }),
            Err(error) => Err((text, error)),
        }
    }

    /// Returns the shape of a message, the position of its parameters, and true if a member name occurs twice.
    fn parse_shape(text: &str) -> Result<(Shape, Option<Range<usize>>, bool), MessageError> {
        if text.trim_start().starts_with('[') {
            return if json_scanner::is_json(text) {
                Ok((Shape::Batch, None, false))
            } else {
                Err(MessageError::of(text))
            };
        }
        let outline = MessageOutline::read(text)?;
        let no_message = || MessageError::NotMessage;
        let id = outline.id.map(|id| Id::read(id).ok_or_else(no_message)).transpose()?;
        let method = outline.method.filter(|method| *method != "null");
        let method =
            method.map(|method| json_scanner::string_content(method).ok_or_else(no_message));
        let shape = match (id, method.transpose()?) {
            (Some(id), Some(method)) => Shape::Request { id, method: method.into_owned() },
            (None, Some(method)) => Shape::Notification { method: method.into_owned() },
            (Some(id), None) if outline.result.is_some() || outline.error.is_some() => {
                Shape::Response { id }
            }
            _ => return Err(MessageError::NotMessage),
        };
        Ok((shape, outline.params.map(|params| range_of(text, params)), outline.repeats))
    }

    /// Builds a request of our own.
    pub fn request(id: &Id, method: &str, params: &Value) -> Self {
        let method = Value::from(method);
        let id = id.as_json();
        Self::from_built_text(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#
        ))
    }

    /// Builds a notification of our own.
    pub fn notification(method: &str, params: &Value) -> Self {
        let method = Value::from(method);
        Self::from_built_text(format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#))
    }

    /// Builds a response with this result, which must be JSON.
    pub fn result(id: &Id, result: &str) -> Self {
        Self::from_built_text(format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
            id.as_json()
        ))
    }

    /// Builds an error response. Without an id it answers a message that could not be read.
    pub fn error(id: Option<&Id>, code: i32, message: &str, data: Option<&Value>) -> Self {
        let mut error = serde_json::json!({"code": code, "message": message});
        if let Some(data) = data {
            error["data"] = data.clone();
        }
        let id = id.map_or("null", Id::as_json);
        // A response without an id has no shape of its own, so `from_built_text` gives it the shape of a batch.
        Self::from_built_text(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
    }

    fn from_built_text(text: String) -> Self {
        let (shape, params, repeats) =
            Self::parse_shape(&text).unwrap_or((Shape::Batch, None, false));
        Self { text, shape, params, repeats }
    }

    /// Returns the message with another id and every other byte unchanged. A message without an id stays as it
    /// is.
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
            MessageOutline::read(&text).ok().and_then(|outline| Some(range_of(&text, outline.id?)));
        let mut text = text;
        if let Some(place) = place {
            text.replace_range(place, id.as_json());
        }
        Self { text, shape, params: None, repeats }
    }

    /// Returns a message with the same shape and another text.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        Self { text, shape: self.shape, params: None, repeats: self.repeats }
    }

    /// Returns the text of the message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the shape of the message.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the JSON text of the parameters. Returns `None` if they occur twice, or if the text was replaced
    /// after it was read.
    pub fn params(&self) -> Option<&str> {
        self.params.clone().and_then(|place| self.text.get(place))
    }

    /// Returns true if a member name occurs twice, because parsers disagree about which value counts. Members
    /// that decide the shape never do: such a text is not a message.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Consumes the message and returns its text.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Reports a text that is not a message.
#[derive(Debug, thiserror::Error)]
#[expect(clippy::exhaustive_enums, reason = "a text fails in exactly these two ways")]
pub enum MessageError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The text is JSON, but neither a request, nor a notification, nor a response.
    #[error("neither a request, nor a notification, nor a response")]
    NotMessage,
}

impl MessageError {
    /// Returns the error for a text that the scanner rejected, with the detail that `serde_json` reports.
    fn of(text: &str) -> Self {
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Self::NotMessage,
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
            assert!(matches!(error, MessageError::NotMessage), "{text}: {error}");
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
