//! Answers of a link that has no server: they look like errors of the protocol, and can be told from those.

use serde_json::json;

use crate::wire::{Id, Message, Object, code, splice, word};

/// The member of an error's `data` by which an error of the link is told from one of the server.
const LINK: &str = "dev.answerback/link";
/// What it says where the request never left us.
const UNSENT: &str = "unsent";
/// What it says where the server ended over the words in which it was asked, and the next one is asked in others.
const AGAIN: &str = "again";

/// The answer to a request that never left us.
pub fn unsent(request: &Id, reason: &str) -> Message {
    let data = json!({ LINK: UNSENT });
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Whether an answer of the link says that the request never left us: then nothing can have come of it.
pub fn was_unsent(answer: &Message) -> bool {
    says(answer, UNSENT)
}

/// The answer to a request over which a server ended before it came to it. The next start takes it.
pub(crate) fn again(request: &Id, reason: &str) -> Message {
    let data = json!({ LINK: AGAIN });
    Message::error(Some(request), code::INTERNAL_ERROR, reason, Some(&data))
}

/// Whether an answer of the link says that the request is worth another start of the server.
pub(crate) fn wants_again(answer: &Message) -> bool {
    says(answer, AGAIN)
}

fn says(answer: &Message, word: &str) -> bool {
    broken_because(answer).is_some()
        && splice::string_at(answer.text(), &["error", "data", LINK]).as_deref() == Some(word)
}

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
        assert_eq!(broken_because(&unsent(&id, "why")).as_deref(), Some("why"));
        assert!(was_unsent(&unsent(&id, "why")) && !was_unsent(&broken(&id, "why", None)));
        assert!(wants_again(&again(&id, "why")) && !wants_again(&unsent(&id, "why")));
    }

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
