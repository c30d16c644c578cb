//! Checks that the headers of a stateless request agree with its message.

use answerback_mcp::link::HeaderArguments;
use answerback_mcp::wire::{MODERN_REVISION, Message, Shape, meta, splice, word};
use axum::http::HeaderMap;
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::ToolCallRequest;

/// The stateless revisions that the gateway supports.
pub(crate) const VERSIONS: &[&str] = &[MODERN_REVISION];
/// The header with the protocol revision.
pub(crate) const VERSION_HEADER: &str = "mcp-protocol-version";

/// The error codes of this check.
mod code {
    pub(super) const HEADER_MISMATCH: i32 = -32020;
    pub(super) const UNSUPPORTED_VERSION: i32 = -32022;
    pub(super) const INVALID_PARAMS: i32 = -32602;
}

/// Reads the revision that a message states in its `_meta`.
pub(crate) fn version(message: &Message) -> Option<String> {
    // A message of an older revision is not parsed further.
    if !word::VERSION.is_in(message) {
        return None;
    }
    splice::string_at(message.text(), &["params", "_meta", meta::VERSION])
}

/// Checks that headers and message agree. The error is the response.
pub(crate) fn check(
    headers: &HeaderMap,
    message: &Message,
    version: Option<&str>,
) -> Result<(), Message> {
    let (id, method) = match message.shape() {
        Shape::Request { id, method } => (Some(id), method),
        Shape::Notification { method } => (None, method),
        Shape::Response { .. } | Shape::Batch => return Ok(()),
    };
    let refuse = |code, text: String, data: Option<Value>| {
        Err(Message::error(id, code, &text, data.as_ref()))
    };
    let mismatch = |name: &str, expected: &str| {
        let text = format!("the header {name} is missing or does not say what the message does");
        refuse(code::HEADER_MISMATCH, text, Some(json!({"header": name, "expected": expected})))
    };
    let Some(version) = version else {
        if id.is_none() {
            return Ok(());
        }
        let text = format!("the request needs {} in its _meta, as the header says", meta::VERSION);
        return refuse(code::INVALID_PARAMS, text, None);
    };
    if header(headers, VERSION_HEADER).as_deref() != Some(version) {
        return mismatch("MCP-Protocol-Version", version);
    }
    if !VERSIONS.contains(&version) {
        let data = json!({"supported": VERSIONS, "requested": version});
        let text = format!("the revision {version} of the protocol is not supported");
        return refuse(code::UNSUPPORTED_VERSION, text, Some(data));
    }
    if header(headers, "mcp-method").as_deref() != Some(method.as_str()) {
        return mismatch("Mcp-Method", method);
    }
    if let Some(name) = name(message, method)
        && header(headers, "mcp-name").as_deref() != Some(name.as_str())
    {
        return mismatch("Mcp-Name", &name);
    }
    if id.is_some() && !has_capabilities(message) {
        let text = format!("the request needs {} in its _meta, an object", meta::CAPABILITIES);
        return refuse(code::INVALID_PARAMS, text, None);
    }
    Ok(())
}

/// Checks that headers repeat a call's arguments, if its tool requires that.
pub(crate) fn check_arguments(
    headers: &HeaderMap,
    call: &ToolCallRequest,
    required: &HeaderArguments,
) -> Result<(), Message> {
    let arguments = call.arguments.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let arguments: Value = arguments.unwrap_or_default();
    for (name, expected) in required.expected(&arguments) {
        // An unreadable header matches no argument.
        let exists = headers.contains_key(name);
        let value = header(headers, name.as_str());
        if value != expected || (exists && value.is_none()) {
            let text =
                format!("the header {name} is missing or does not say what the arguments do");
            let data = json!({"header": name.as_str(), "expected": expected});
            return Err(Message::error(Some(&call.id), code::HEADER_MISMATCH, &text, Some(&data)));
        }
    }
    Ok(())
}

/// Reads the call in a message. The result is `None` if the message is not a call.
pub(crate) fn call_of(message: &Message) -> Option<ToolCallRequest> {
    let is_call = matches!(message.shape(), Shape::Request { method, .. } if method == ToolCallRequest::METHOD);
    is_call.then(|| ToolCallRequest::read(message.clone()).ok())?
}

/// The name that the headers of a request must repeat.
fn name(message: &Message, method: &str) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    splice::string_at(message.text(), &["params", member])
}

fn has_capabilities(message: &Message) -> bool {
    splice::at(message.text(), &["params", "_meta", meta::CAPABILITIES])
        .is_some_and(|capabilities| capabilities.trim_start().starts_with('{'))
}

/// Reads the text of a header, decoded if it is Base64.
fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(BASE64.decode(encoded.as_bytes()).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// The HTTP status for a response of the stateless revisions.
pub(crate) fn status(answer: &Message) -> axum::http::StatusCode {
    use axum::http::StatusCode;
    let code = splice::at(answer.text(), &["error", "code"]);
    match code.and_then(|code| code.parse::<i64>().ok()) {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020 | -32600 | -32700) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use answerback_mcp::wire::Id;

    use super::*;

    fn request(method: &str, params: &str) -> Message {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let text = format!(r#"{{"id":1,"method":"{method}","params":{{{params}{meta}}}}}"#);
        Message::read(text).unwrap()
    }

    #[test]
    fn an_escaped_slash_in_the_revision_is_read() {
        let message = request("tools/list", "");
        let escaped = message.text().replace('/', r"\/");
        for message in [message, Message::read(escaped).unwrap()] {
            assert_eq!(version(&message).as_deref(), Some(MODERN_REVISION));
        }
    }

    fn checked(message: &Message, headers: &[(&str, &str)]) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(axum::http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        check(&map, message, version(message).as_deref()).err().map(Message::into_text)
    }

    #[test]
    fn headers_and_message_agree() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let call = request("tools/call", r#""name":"é","#);
        let list = request("tools/list", "");
        assert_eq!(checked(&list, &[version, ("mcp-method", "tools/list")]), None);
        let name = ("mcp-name", "=?base64?w6k=?=");
        assert_eq!(checked(&call, &[version, ("mcp-method", "tools/call"), name]), None);
        for headers in [
            &[version][..],
            &[("mcp-method", "tools/list")],
            &[version, ("mcp-method", "tools/call")],
            &[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
        ] {
            let answer = checked(&list, headers).unwrap();
            assert!(answer.contains("-32020"), "{answer}");
        }
        let answer = checked(&call, &[version, ("mcp-method", "tools/call")]).unwrap();
        assert!(answer.contains("Mcp-Name"), "{answer}");
        let task = request("tasks/get", r#""taskId":"7","#);
        let method = ("mcp-method", "tasks/get");
        assert_eq!(checked(&task, &[version, method, ("mcp-name", "7")]), None);
        for headers in [&[version, method][..], &[version, method, ("mcp-name", "8")]] {
            let answer = checked(&task, headers).unwrap();
            assert!(answer.contains("-32020") && answer.contains("Mcp-Name"), "{answer}");
        }
    }

    #[test]
    fn the_message_must_state_its_revision() {
        let message =
            Message::read(r#"{"id":1,"method":"tools/list","params":{}}"#.to_owned()).unwrap();
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
        let answer = checked(&message, &headers).unwrap();
        assert!(answer.contains("-32602"), "{answer}");
    }

    #[test]
    fn arguments_are_repeated_in_headers_if_a_tool_requires_it() {
        let schema =
            json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
        let required = HeaderArguments::of(&schema).unwrap();
        let is_accepted = |arguments: &str, value: Option<&str>| {
            let text = format!(
                r#"{{"id":1,"method":"tools/call","params":{{"name":"a","arguments":{arguments}}}}}"#
            );
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert("mcp-param-region", value.parse().unwrap());
            }
            let call = call_of(&Message::read(text).unwrap()).unwrap();
            check_arguments(&headers, &call, &required).is_ok()
        };
        assert!(is_accepted(r#"{"region":"eu"}"#, Some("eu")));
        assert!(is_accepted(r#"{"region":"é"}"#, Some("=?base64?w6k=?=")));
        assert!(is_accepted("{}", None));
        assert!(!is_accepted(r#"{"region":"eu"}"#, Some("us")));
        assert!(!is_accepted(r#"{"region":"eu"}"#, None));
        assert!(!is_accepted("{}", Some("eu")));
        assert!(!is_accepted(r#"{"region":"eu"}"#, Some("=?base64?%%%?=")));
    }

    #[test]
    fn an_unknown_revision_is_rejected() {
        let text = r#"{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}"#;
        let message = Message::read(text.to_owned()).unwrap();
        let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "m")];
        insta::assert_snapshot!(checked(&message, &headers).unwrap(), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the revision 2099-01-01 of the protocol is not supported","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}}"#);
    }

    #[test]
    fn the_status_follows_the_error() {
        let id = Id::of_text("a");
        for (code, status_expected) in [(-32601, 404), (-32602, 200), (-32020, 400), (-32600, 400)]
        {
            assert_eq!(
                status(&Message::error(Some(&id), code, "x", None)).as_u16(),
                status_expected
            );
        }
        assert_eq!(status(&Message::result(&id, "{}")).as_u16(), 200);
    }
}
