use answerback::UuidV7;
use answerback::json::Limits;
use answerback::judge::{CallLine, CallLineError};
use serde_json::Value;

use answerback_mcp::wire::{Id, Message, Object, ObjectError, Shape, meta, splice};

/// The member of a request's `_meta` that names the conversation.
const CONVERSATION: &str = "dev.answerback/conversation";

/// A `tools/call`, as it came.
#[derive(Clone, Debug)]
pub struct ToolCallRequest {
    /// The id of the request.
    pub(crate) id: Id,
    /// The whole message.
    pub(crate) message: Message,
    /// The parameters, as they are written.
    pub(crate) params: String,
    /// The tool's name.
    pub(crate) name: String,
    /// The arguments, as they are written.
    pub(crate) arguments: Option<String>,
    /// The request's `_meta`, as it is written.
    pub(crate) meta: Option<String>,
    /// The conversation that it names.
    pub(crate) conversation: Option<String>,
    /// Whether it is of a stateless revision of the protocol.
    pub(crate) is_modern: bool,
    /// What it answers, where it is made again with what a person said.
    pub(crate) answers: Option<Answers>,
    /// The case that it waited for, where a person was asked about it.
    pub(crate) waited_for: Option<UuidV7>,
    /// After how many answers to its client it arrived; as many as there are when it is looked at, where nobody noted it.
    pub(crate) arrived: Option<u64>,
    /// True if the client's user is asked about the call when it is blocked.
    pub(crate) asks_user: bool,
}

/// A call that is made again, with the answers to what it was answered with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answers {
    /// What we gave along to know it again.
    pub(crate) state: String,
    /// The answers, as they are written.
    pub(crate) responses: String,
}

impl ToolCallRequest {
    /// The method of such a request.
    pub const METHOD: &'static str = "tools/call";

    /// Reads a request for a tool.
    ///
    /// # Errors
    ///
    /// When it is no request, or its parameters do not name a tool.
    pub fn read(message: Message) -> Result<Self, CallReadError> {
        let Shape::Request { id, .. } = message.shape() else {
            return Err(CallReadError::NoRequest);
        };
        let id = id.clone();
        let params = match message.params() {
            Some(params) => params,
            None => Object::read(message.text())?.get("params").ok_or(CallReadError::NoName)?,
        };
        let members = Object::read(params)?;
        let name = members.get("name").and_then(text).ok_or(CallReadError::NoName)?;
        let arguments = members.get("arguments").map(str::to_owned);
        let own_meta = members.get("_meta").map(str::to_owned);
        let said = own_meta.as_deref().map(Object::read).transpose()?;
        let conversation = said.as_ref().and_then(|meta| text(meta.get(CONVERSATION)?));
        let is_modern = said.as_ref().is_some_and(|said| said.get(meta::VERSION).is_some());
        let answers = members.get("requestState").and_then(text).map(|state| {
            let responses = members.get("inputResponses").unwrap_or("{}").to_owned();
            Answers { state, responses }
        });
        let params = params.to_owned();
        Ok(Self {
            id,
            message,
            params,
            name,
            arguments,
            meta: own_meta,
            conversation,
            is_modern,
            answers,
            waited_for: None,
            arrived: None,
            asks_user: false,
        })
    }

    /// What is said about a call of this tool, without being one: a request, or a notification, which has no id.
    pub(crate) fn named(request: Message, tool: &str) -> Option<Self> {
        let id = match request.shape() {
            Shape::Request { id, .. } => id.clone(),
            _ => Id::of_text(""),
        };
        let params = Object::read(request.text()).ok()?.get("params")?.to_owned();
        let own_meta = splice::at(&params, &["_meta"]).map(str::to_owned);
        let is_modern = splice::at(&params, &["_meta", meta::VERSION]).is_some();
        Some(Self {
            id,
            params,
            name: tool.to_owned(),
            arguments: None,
            meta: own_meta,
            conversation: None,
            is_modern,
            answers: None,
            waited_for: None,
            arrived: None,
            asks_user: false,
            message: request,
        })
    }

    /// The call as one that arrived after so many answers: calls that arrive before the answer to a failing one was given
    /// are parallel, however late they are looked at.
    pub(crate) fn arrived_after(mut self, answers: impl Into<Option<u64>>) -> Self {
        self.arrived = answers.into();
        self
    }

    /// Sets whether the client's user is asked about the call when it is blocked.
    pub(crate) fn with_user_asked(mut self, asks_user: bool) -> Self {
        self.asks_user = asks_user;
        self
    }

    /// Whether the client says in this request that it can put a form to its user.
    pub(crate) fn can_ask(&self) -> bool {
        let said: Value = self
            .meta
            .as_deref()
            .and_then(|meta| serde_json::from_str(meta).ok())
            .unwrap_or_default();
        takes_forms(&said[meta::CAPABILITIES])
    }

    /// The call without the answers that it brought along, as it was made first.
    pub(crate) fn without_answers(&self) -> Result<Self, CallReadError> {
        let params = Object::read(&self.params)?.without("inputResponses");
        let params = Object::read(&params)?.without("requestState");
        let text = Object::read(self.message.text())?.with("params", &params);
        Self::read(self.message.clone().with_text(text))
    }

    /// The call as the library hears it.
    ///
    /// # Errors
    ///
    /// When the arguments are beyond the limits.
    pub(crate) fn line(&self, limits: Limits) -> Result<CallLine, CallLineError> {
        let line = match self.arguments.as_deref() {
            // A string stands for the text that a model wrote; here it is a value like any other.
            Some(text) if text.starts_with('"') => CallLine::new(&self.name, Value::from(text)),
            text => CallLine::written(&self.name, text.unwrap_or("{}"), limits)?,
        };
        Ok(line.with_id(self.id.as_json()))
    }

    /// The call as one that waited for a person to decide this case: it is judged anew, and what they corrected runs as
    /// its answer.
    pub(crate) fn after_waiting_for(mut self, case: UuidV7) -> Self {
        self.waited_for = Some(case);
        self.arrived_after(None)
    }

    /// The message with other arguments.
    pub(crate) fn with_arguments(&self, arguments: &Value) -> Result<Message, ObjectError> {
        let message = Object::read(self.message.text())?;
        // The message may say more than the call did when it came: to which trace it belongs.
        let params = Object::read(message.get("params").unwrap_or(&self.params))?;
        let text = message.with("params", &params.with("arguments", &arguments.to_string()));
        Ok(self.message.clone().with_text(text))
    }
}

/// Whether capabilities of a client have forms for its user.
pub(crate) fn takes_forms(capabilities: &Value) -> bool {
    // Without modes it is forms that are meant.
    capabilities["elicitation"]
        .as_object()
        .is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

fn text(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// A request that is no call of a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallReadError {
    /// It is not a request.
    #[error("a call is a request with an id")]
    NoRequest,
    /// It names no tool.
    #[error("tools/call needs params with the name of a tool")]
    NoName,
    /// Something in it is not the object that it has to be.
    #[error(transparent)]
    NoObject(#[from] ObjectError),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(params: &str) -> Result<ToolCallRequest, CallReadError> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        ToolCallRequest::read(Message::read(text).unwrap())
    }

    #[test]
    fn a_call_is_read_and_kept() {
        let read = call(
            r#"{"name":"a","arguments":{"n":1.0},"_meta":{"dev.answerback/conversation":"c","x":1}}"#,
        );
        let read = read.unwrap();
        assert_eq!((read.name.as_str(), read.arguments.as_deref()), ("a", Some(r#"{"n":1.0}"#)));
        assert_eq!((read.conversation.as_deref(), read.is_modern), (Some("c"), false));
        let changed = read.with_arguments(&json!({"n": 2})).unwrap();
        assert_eq!(
            changed.text(),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":2},"_meta":{"dev.answerback/conversation":"c","x":1}}}"#
        );
    }

    #[test]
    fn what_is_no_call_is_told() {
        for params in
            ["{}", "[]", r#"{"name":1}"#, r#"{"name":"a","_meta":1}"#, r#"{"name":"a","name":"b"}"#]
        {
            assert!(call(params).is_err(), "{params}");
        }
    }

    #[test]
    fn arguments_are_heard_as_they_are() {
        for (params, expected) in [
            (r#"{"name":"a"}"#, json!({})),
            (r#"{"name":"a","arguments":[1]}"#, json!([1])),
            // Text that is JSON is still a string.
            (r#"{"name":"a","arguments":"{}"}"#, json!("\"{}\"")),
        ] {
            let line = call(params).unwrap().line(Limits::default()).unwrap();
            assert_eq!(line.arguments, Some(expected), "{params}");
        }
    }
}
