//! Translates the ids of servers' requests. Each server has its own ids, so a prefix identifies the server.

use answerback_mcp::wire::{Id, Message, splice};

/// The prefix of the ids that clients see for servers' requests.
const SERVER_PREFIX: char = 's';

/// Builds the id that clients see for a server's request.
pub(super) fn client_id(server: usize, theirs: &Id) -> Id {
    Id::of_text(&format!("{SERVER_PREFIX}{server}/{}", theirs.as_json()))
}

/// Replaces the id in a server's cancellation of its own request with the id that the client knows.
pub(super) fn translate_cancellation(server: usize, message: &Message) -> Option<Message> {
    let place = ["params", "requestId"];
    let theirs = splice::id_at(message.text(), &place)?;
    let text = splice::with(message.text(), &place, client_id(server, &theirs).as_json()).ok()?;
    Some(message.clone().with_text(text))
}

/// Finds the server of a request with this id, and the server's own id.
pub(super) fn server_of_id(id: &Id) -> Option<(usize, Id)> {
    let text: String = serde_json::from_str(id.as_json()).ok()?;
    let (server, theirs) = text.strip_prefix(SERVER_PREFIX)?.split_once('/')?;
    Some((server.parse().ok()?, Id::read(theirs)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::cancellation;

    #[test]
    fn the_server_is_read_from_the_id() {
        for theirs in ["7", r#""a/b""#] {
            let theirs = Id::read(theirs).unwrap();
            assert_eq!(server_of_id(&client_id(3, &theirs)), Some((3, theirs.clone())));
            let theirs_cancelled = cancellation(&theirs, "no more");
            let translated = translate_cancellation(3, &theirs_cancelled).unwrap();
            let id = splice::id_at(translated.text(), &["params", "requestId"]).unwrap();
            assert_eq!(server_of_id(&id), Some((3, theirs)));
        }
        assert_eq!(server_of_id(&Id::of_text("x")), None);
        assert_eq!(server_of_id(&Id::of_text("sx/1")), None);
    }
}
