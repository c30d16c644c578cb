//! Detects the era of a client or a server from its messages.

use serde_json::json;

use super::Era;
use super::terms::{MODERN, code, meta, method};
use crate::wire::{Id, Message, Shape, splice};

/// Returns the era that a client's message shows, if it shows one.
pub(super) fn client_era(message: &Message) -> Option<Era> {
    let Shape::Request { method, .. } = message.shape() else { return None };
    match method.as_str() {
        method::INITIALIZE => Some(Era::Legacy),
        method::DISCOVER => Some(Era::Modern),
        _ => splice::at(message.text(), &["params", "_meta", meta::VERSION]).map(|_| Era::Modern),
    }
}

/// Returns true if this response to `server/discover` or `initialize` comes from a modern server.
pub(super) fn is_from_modern_server(answer: &str) -> bool {
    let error = splice::at(answer, &["error", "code"]);
    let path = match error.map(serde_json::from_str) {
        None => &["result", "supportedVersions"][..],
        Some(Ok(code::UNSUPPORTED_VERSION)) => &["error", "data", "supported"],
        Some(error) => return error.is_ok_and(|error| code::MODERN.contains(&error)),
    };
    let versions = splice::at(answer, path).and_then(|text| serde_json::from_str(text).ok());
    let versions: Vec<String> = versions.unwrap_or_default();
    // A library may know the modern format although its server supports only legacy revisions.
    versions.iter().any(|version| is_modern_version(version))
}

/// Returns true if the response to `initialize` opens a session. A modern revision in the response does not,
/// unless the client requested that revision.
pub(super) fn opens_session(answer: &str, initialize: &Message) -> bool {
    let requested = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
    let answered = splice::string_at(answer, &["result", "protocolVersion"]);
    splice::at(answer, &["result"]).is_some()
        && (answered == requested || !answered.is_some_and(|answered| is_modern_version(&answered)))
}

/// Revisions are dates, so comparing their text compares their age.
fn is_modern_version(version: &str) -> bool {
    version >= MODERN
}

/// Builds the request that asks if the server is modern, with the description of the client that sent this
/// message.
pub(super) fn probe_request(id: &Id, message: &Message) -> Message {
    // The first two members are required in every request, and the third is recommended.
    let mut members = json!({meta::VERSION: MODERN, meta::CAPABILITIES: {}});
    for name in [meta::VERSION, meta::CAPABILITIES, meta::CLIENT] {
        let value = splice::at(message.text(), &["params", "_meta", name]);
        if let Some(value) = value.and_then(|value| serde_json::from_str(value).ok()) {
            members[name] = value;
        }
    }
    Message::request(id, method::DISCOVER, &json!({"_meta": members}))
}
