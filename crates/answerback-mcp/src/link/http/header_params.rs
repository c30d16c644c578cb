//! Builds the headers that repeat parts of a modern message.

use data_encoding::BASE64;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::header_arguments::HeaderAnnotations;
use crate::wire::{Message, Object, Shape, meta, word};

/// The prefix and suffix of an encoded header value.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// The header with the protocol version, in both eras.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Returns the headers of a modern message, or `None` for a legacy one.
pub(super) fn request_headers(
    message: &Message,
    annotations: &HeaderAnnotations,
) -> Option<HeaderMap> {
    let (Shape::Request { method, .. } | Shape::Notification { method }) = message.shape() else {
        return None;
    };
    if !word::VERSION.is_in(message) {
        return None;
    }
    let message = Object::read(message.text()).ok()?;
    let params = Object::read(message.get("params")?).ok()?;
    let meta = Object::read(params.get("_meta")?).ok()?;
    let version = text_of(&meta, meta::VERSION)?;
    let mut headers = HeaderMap::new();
    headers.insert(PROTOCOL_VERSION, header_value(&version));
    headers.insert(METHOD, header_value(method));
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => text_of(&params, "name"),
        "resources/read" => text_of(&params, "uri"),
        _ if method.starts_with("tasks/") => text_of(&params, "taskId"),
        _ => None,
    };
    if let Some(name) = name {
        headers.insert(NAME, header_value(&name));
        if method == "tools/call" {
            annotations.add_headers(&name, params.get("arguments"), &mut headers);
        }
    }
    Some(headers)
}

/// Returns the value of a member that is a string.
fn text_of(object: &Object<'_>, name: &str) -> Option<String> {
    serde_json::from_str(object.get(name)?).ok()
}

/// Returns a text as a header value. A text that is not plain ASCII, or looks like an encoded value, is encoded
/// as Base64.
pub(super) fn header_value(text: &str) -> HeaderValue {
    let (before, after) = ENCODED;
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with(before) && text.ends_with(after));
    let value = if is_plain { HeaderValue::from_str(text).ok() } else { None };
    value.unwrap_or_else(|| {
        let encoded = format!("{before}{}{after}", BASE64.encode(text.as_bytes()));
        // Base64 contains only characters that a header allows.
        HeaderValue::from_str(&encoded).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn values_of_headers() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("a b", "a b"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(header_value(text).to_str().unwrap(), expected);
        }
    }

    fn headers_of(method: &str, params: Value) -> Option<String> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let message = Message::read(message.to_string()).unwrap();
        let headers = request_headers(&message, &HeaderAnnotations::default())?;
        let value = |name| headers.get(name).map_or("-", |value| value.to_str().unwrap());
        Some([PROTOCOL_VERSION, METHOD, NAME].map(value).join(" "))
    }

    #[test]
    fn a_modern_message_stands_in_its_headers() {
        let meta = json!({meta::VERSION: "2026-07-28"});
        for (method, params, expected) in [
            ("tools/list", json!({"_meta": meta}), "2026-07-28 tools/list -"),
            ("tools/call", json!({"_meta": meta, "name": "add"}), "2026-07-28 tools/call add"),
            (
                "prompts/get",
                json!({"_meta": meta, "name": "ü"}),
                "2026-07-28 prompts/get =?base64?w7w=?=",
            ),
            (
                "resources/read",
                json!({"_meta": meta, "uri": "a:b"}),
                "2026-07-28 resources/read a:b",
            ),
            ("tasks/get", json!({"_meta": meta, "taskId": "7"}), "2026-07-28 tasks/get 7"),
        ] {
            assert_eq!(headers_of(method, params).as_deref(), Some(expected));
        }
        for params in
            [json!({}), json!({"_meta": {}}), json!({"_meta": {meta::VERSION: 1}}), json!([meta])]
        {
            assert_eq!(headers_of("tools/list", params), None);
        }
    }
}
