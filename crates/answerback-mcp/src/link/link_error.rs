//! Builds the errors that a link returns when the server did not answer. They look like protocol errors, but
//! carry a member that identifies them.

use serde_json::json;

use crate::wire::{Id, Message, Object, code, splice, word};

/// The member of an error's `data` that marks an error of the link. Servers cannot write it, because its prefix
/// is reserved.
const LINK: &str = "dev.answerback/link";
/// The member's value if the request was never sent.
const UNSENT: &str = "unsent";
/// The member's value if the server ended during version negotiation. The restarted server receives the request
/// in the other era.
const RESTART: &str = "again";

/// Returns the error response to a request that was never sent.
pub fn unsent_error(request: &Id, reason: &str) -> Message {
    let data = json!({ LINK: UNSENT });
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Returns true if this is an error of the link for a request that was never sent. Such a request had no effect.
pub fn is_unsent_error(answer: &Message) -> bool {
    has_marker(answer, UNSENT)
}

/// Returns the error response to a request that the server did not read before it ended. The supervisor sends
/// that request to the restarted server.
pub(crate) fn restart_error(request: &Id, reason: &str) -> Message {
    let data = json!({ LINK: RESTART });
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Returns true if this is an error of the link that asks for a restart of the server.
pub(crate) fn is_restart_error(answer: &Message) -> bool {
    has_marker(answer, RESTART)
}

fn has_marker(answer: &Message, word: &str) -> bool {
    link_error_reason(answer).is_some()
        && splice::string_at(answer.text(), &["error", "data", LINK]).as_deref() == Some(word)
}

/// Returns the error response to a request that the server will not answer. It contains the HTTP status, if the
/// server sent one.
pub fn link_error(request: &Id, reason: &str, status: Option<u16>) -> Message {
    let mut data = json!({ LINK: "broken" });
    if let Some(status) = status {
        data["status"] = status.into();
    }
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Returns the reason of an error that the link made. Returns `None` for every response of a server.
pub fn link_error_reason(answer: &Message) -> Option<String> {
    // Most responses are long results, so a quick search excludes them before anything is parsed.
    if !word::LINK.is_in(answer) {
        return None;
    }
    let error = Object::read(answer.text()).ok()?.get("error")?;
    let error = Object::read(error).ok()?;
    Object::read(error.get("data")?).ok()?.get(LINK)?;
    serde_json::from_str(error.get("message")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_left_is_told_apart() {
        let id = Id::of_text("a");
        assert_eq!(link_error_reason(&unsent_error(&id, "why")).as_deref(), Some("why"));
        assert!(
            is_unsent_error(&unsent_error(&id, "why"))
                && !is_unsent_error(&link_error(&id, "why", None))
        );
        assert!(
            is_restart_error(&restart_error(&id, "why"))
                && !is_restart_error(&unsent_error(&id, "why"))
        );
    }

    #[test]
    fn only_the_link_is_broken() {
        let id = Id::of_text("a");
        assert_eq!(link_error_reason(&link_error(&id, "why", Some(502))).as_deref(), Some("why"));
        for answer in
            [Message::result(&id, "{}"), Message::error(Some(&id), -32603, "no", Some(&json!(1)))]
        {
            assert_eq!(link_error_reason(&answer), None);
        }
    }
}
