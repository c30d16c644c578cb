//! Reads the `tools/call` requests of clients.

use answerback::UuidV7;
use answerback::checker::{CallRequest, CallRequestError};
use answerback::json::Limits;
use serde_json::Value;

use answerback_mcp::wire::{Id, Message, Object, ObjectError, Shape, meta, splice};

/// The member of a request's `_meta` that names the conversation.
const CONVERSATION: &str = "dev.answerback/conversation";

/// Holds a `tools/call` request as it was received.
#[derive(Clone, Debug)]
pub struct ToolCallRequest {
    /// The id of the request.
    pub(crate) id: Id,
    /// The whole message.
    pub(crate) message: Message,
    /// The parameters as JSON text.
    pub(crate) params: String,
    /// The tool's name.
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) arguments: Option<String>,
    /// The request's `_meta` as JSON text.
    pub(crate) meta: Option<String>,
    /// The conversation that the request names.
    pub(crate) conversation: Option<String>,
    /// True if the request belongs to a stateless revision of the protocol.
    pub(crate) is_modern: bool,
    /// The user's answers, if the client repeats the call after `input_required`.
    pub(crate) answers: Option<ElicitationAnswers>,
    /// The case that the call waited for and that a person has decided.
    pub(crate) decided_case: Option<UuidV7>,
    /// The number of failed calls that the client had been answered when this call arrived. `None` means the
    /// number at the time of the check.
    pub(crate) failed_calls_before: Option<u64>,
    /// True if the client's user can be asked about the call when it is blocked.
    pub(crate) may_ask_user: bool,
}

/// Holds the answers in a call that is repeated after `input_required`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ElicitationAnswers {
    /// The `requestState` that we issued with the question.
    pub(crate) state: String,
    /// The `inputResponses` as JSON text.
    pub(crate) responses: String,
}

impl ToolCallRequest {
    /// The method of these requests.
    pub const METHOD: &'static str = "tools/call";

    /// Reads a `tools/call` request.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is not a request, or its parameters do not name a tool.
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
        let meta_members = own_meta.as_deref().map(Object::read).transpose()?;
        let conversation = meta_members.as_ref().and_then(|meta| text(meta.get(CONVERSATION)?));
        let is_modern = meta_members
            .as_ref()
            .is_some_and(|meta_members| meta_members.get(meta::VERSION).is_some());
        let answers = members.get("requestState").and_then(text).map(|state| {
            let responses = members.get("inputResponses").unwrap_or("{}").to_owned();
            ElicitationAnswers { state, responses }
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
            decided_case: None,
            failed_calls_before: None,
            may_ask_user: false,
        })
    }

    /// Builds a call from another message about it, such as a request for a task's result. A notification has no
    /// id, so its id is empty.
    pub(crate) fn about_task(request: Message, tool: &str) -> Option<Self> {
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
            decided_case: None,
            failed_calls_before: None,
            may_ask_user: false,
            message: request,
        })
    }

    /// Sets how many failed calls the client had been answered when this call arrived. Calls that arrive before
    /// the answer to a failed call are parallel to it, even if they are checked later.
    pub(crate) fn with_failed_calls_before(mut self, answers: impl Into<Option<u64>>) -> Self {
        self.failed_calls_before = answers.into();
        self
    }

    /// Sets if the client's user can be asked about the call when it is blocked.
    pub(crate) fn with_may_ask_user(mut self, may_ask_user: bool) -> Self {
        self.may_ask_user = may_ask_user;
        self
    }

    /// Returns true if the request declares that the client can show forms to its user.
    pub(crate) fn supports_forms(&self) -> bool {
        let meta_members: Value = self
            .meta
            .as_deref()
            .and_then(|meta| serde_json::from_str(meta).ok())
            .unwrap_or_default();
        has_form_capability(&meta_members[meta::CAPABILITIES])
    }

    /// Returns the call without the user's answers, as it was sent first.
    pub(crate) fn without_answers(&self) -> Result<Self, CallReadError> {
        let params = Object::read(&self.params)?.without("inputResponses");
        let params = Object::read(&params)?.without("requestState");
        let text = Object::read(self.message.text())?.with("params", &params);
        Self::read(self.message.clone().with_text(text))
    }

    /// Returns the call as a line that the library can check.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments exceed the limits.
    pub(crate) fn call_line(&self, limits: Limits) -> Result<CallRequest, CallRequestError> {
        let line = match self.arguments.as_deref() {
            // The library parses a string as text that a model wrote. Here a string is an ordinary JSON value.
            Some(text) if text.starts_with('"') => CallRequest::new(&self.name, Value::from(text)),
            text => CallRequest::from_text(&self.name, text.unwrap_or("{}"), limits)?,
        };
        Ok(line.with_id(self.id.as_json()))
    }

    /// Marks the call as one that waited for this case. It is checked again, and corrected arguments then run as
    /// its result.
    pub(crate) fn with_decided_case(mut self, case: UuidV7) -> Self {
        self.decided_case = Some(case);
        self.with_failed_calls_before(None)
    }

    /// Returns the message with other arguments.
    pub(crate) fn with_arguments(&self, arguments: &Value) -> Result<Message, ObjectError> {
        let message = Object::read(self.message.text())?;
        // The message may contain more than the call did originally, such as a trace context.
        let params = Object::read(message.get("params").unwrap_or(&self.params))?;
        let text = message.with("params", &params.with("arguments", &arguments.to_string()));
        Ok(self.message.clone().with_text(text))
    }
}

/// Returns true if a client with these capabilities can show forms to its user.
pub(crate) fn has_form_capability(capabilities: &Value) -> bool {
    // A capability without modes means forms.
    capabilities["elicitation"]
        .as_object()
        .is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

fn text(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// Reports a request that is not a call of a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallReadError {
    /// The message is not a request.
    #[error("a call is a request with an id")]
    NoRequest,
    /// The request does not name a tool.
    #[error("tools/call needs params with the name of a tool")]
    NoName,
    /// A part of the request is not a JSON object.
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
    fn a_call_keeps_its_text() {
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
    fn other_requests_are_rejected() {
        for params in
            ["{}", "[]", r#"{"name":1}"#, r#"{"name":"a","_meta":1}"#, r#"{"name":"a","name":"b"}"#]
        {
            assert!(call(params).is_err(), "{params}");
        }
    }

    #[test]
    fn arguments_are_parsed_as_they_are() {
        for (params, expected) in [
            (r#"{"name":"a"}"#, json!({})),
            (r#"{"name":"a","arguments":[1]}"#, json!([1])),
            // A string that contains JSON is still a string.
            (r#"{"name":"a","arguments":"{}"}"#, json!("\"{}\"")),
        ] {
            let line = call(params).unwrap().call_line(Limits::default()).unwrap();
            assert_eq!(line.arguments, Some(expected), "{params}");
        }
    }
}
