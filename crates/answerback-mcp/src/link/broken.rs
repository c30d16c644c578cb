//! Answers of a link that has no server: they look like errors of the protocol, and can be told from those.

use serde_json::json;

use crate::wire::{Id, Message, Object, code};

/// The member of an error's `data` by which an error of the link is told from one of the server.
const LINK: &str = "dev.answerback/link";

/// The answer to a request that a server will not answer, with the status that an HTTP server gave instead.
pub fn broken(request: &Id, reason: &str, status: Option<u16>) -> Message {
    let mut data = json!({ LINK: "broken" });
    if let Some(status) = status {
        data["status"] = status.into();
    }
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Why there is no answer of the server, where this is an answer of the link.
pub fn broken_because(answer: &Message) -> Option<String> {
    // Most answers are results, and long ones; only one that could be meant is looked into.
    memchr::memmem::find(answer.text().as_bytes(), LINK.as_bytes())?;
    let error = Object::read(answer.text()).ok()?.get("error")?;
    let error = Object::read(error).ok()?;
    Object::read(error.get("data")?).ok()?.get(LINK)?;
    serde_json::from_str(error.get("message")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_link_is_broken() {
        let id = Id::of_text("a");
        assert_eq!(broken_because(&broken(&id, "why", Some(502))).as_deref(), Some("why"));
        for answer in
            [Message::result(&id, "{}"), Message::error(Some(&id), -32603, "no", Some(&json!(1)))]
        {
            assert_eq!(broken_because(&answer), None);
        }
    }
}
