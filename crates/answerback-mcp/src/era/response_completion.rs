//! Completes the responses of a legacy server for a modern client.

use super::terms::{code, method};
use crate::link::Incoming;
use crate::wire::{Object, ObjectError, code as wire_code, splice};

/// Adds the members that a modern client requires, if they are missing. Everything else stays unchanged.
pub(super) fn complete_response(answer: Incoming, method: &str) -> Incoming {
    match completed_text(answer.message.text(), method) {
        Ok(Some(text)) => Incoming { message: answer.message.with_text(text), ..answer },
        // A malformed response is forwarded unchanged, so that the client can report it.
        Ok(None) | Err(_) => answer,
    }
}

fn completed_text(text: &str, method: &str) -> Result<Option<String>, ObjectError> {
    let message = Object::read(text)?;
    if let Some(error) = message.get("error") {
        let error = Object::read(error)?;
        return Ok((error.get("code") == Some(code::RESOURCE_NOT_FOUND)).then(|| {
            message.with("error", &error.with("code", &wire_code::INVALID_PARAMS.to_string()))
        }));
    }
    let Some(result) = message.get("result") else { return Ok(None) };
    let mut result = result.to_owned();
    let cacheable = [("ttlMs", "0"), ("cacheScope", r#""private""#)];
    let cacheable = if method::is_cacheable(method) { &cacheable[..] } else { &[] };
    for (name, value) in [("resultType", r#""complete""#)].iter().chain(cacheable) {
        let object = Object::read(&result)?;
        if object.get(name).is_none() {
            result = object.with(name, value);
        }
    }
    splice::with(text, &["result"], &result).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Message;

    #[test]
    fn what_is_absent_is_added_and_nothing_else_changes() {
        for (method, text, expected) in [
            (
                "tools/call",
                r#"{"id":1, "result":{"content":[ ],"n":1.0}}"#,
                r#"{"id":1, "result":{"content":[ ],"n":1.0,"resultType":"complete"}}"#,
            ),
            (
                "tools/list",
                r#"{"id":1,"result":{"ttlMs":5}}"#,
                r#"{"id":1,"result":{"ttlMs":5,"resultType":"complete","cacheScope":"private"}}"#,
            ),
            (
                "resources/read",
                r#"{"id":1,"error":{"code":-32002,"message":"no","data":{"uri":"a"}}}"#,
                r#"{"id":1,"error":{"code":-32602,"message":"no","data":{"uri":"a"}}}"#,
            ),
            (
                "tools/call",
                r#"{"id":1,"error":{"code":-32603,"message":"no"}}"#,
                r#"{"id":1,"error":{"code":-32603,"message":"no"}}"#,
            ),
            ("tools/call", r#"{"id":1,"result":null}"#, r#"{"id":1,"result":null}"#),
        ] {
            let answer = Incoming::from(Message::read(text.to_owned()).unwrap());
            assert_eq!(complete_response(answer, method).message.text(), expected);
        }
    }
}
