use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use answerback::Digest;
use answerback::finding::secrets;
use answerback::retry::Turn;

use crate::marker::Marker;

/// Who calls: one connection of a client.
#[derive(Debug)]
pub struct Client {
    principal: String,
    connection: Arc<str>,
    /// The number of its first turn, which no other connection's are near.
    first_turn: u64,
    answers: AtomicU64,
    /// What our own blocks of text carry on it. None if there was no randomness.
    marker: Option<Marker>,
}

impl Client {
    /// A connection of a principal.
    ///
    /// # Errors
    ///
    /// When there is no randomness for the connection's name.
    pub fn new(principal: impl Into<String>) -> std::io::Result<Self> {
        let connection = answerback_record::system::uuid()?.to_string().into();
        let first_turn = u64::from_be_bytes(answerback_record::system::random()?);
        let answers = AtomicU64::new(0);
        let marker = Some(Marker::random()?);
        Ok(Self { principal: principal.into(), connection, first_turn, answers, marker })
    }

    /// A principal whose clients have no connections: requests that name no conversation are one conversation, which
    /// outlives us.
    pub fn stateless(principal: impl Into<String>) -> Self {
        let connection = "stateless".into();
        let (answers, marker) = (AtomicU64::new(0), Marker::random().ok());
        Self { principal: principal.into(), connection, first_turn: 0, answers, marker }
    }

    /// On whose behalf it calls.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Returns the marker of our own blocks of text on this connection.
    ///
    /// # Errors
    ///
    /// When there was no randomness for it.
    pub(crate) fn marker(&self) -> std::io::Result<Marker> {
        let missing = || std::io::Error::other("there was no randomness for a connection's marker");
        self.marker.clone().ok_or_else(missing)
    }

    /// What its connection is called.
    pub(crate) fn connection(&self) -> Arc<str> {
        Arc::clone(&self.connection)
    }

    /// What attempts are counted under beside the tool: principal, upstream and conversation, which is the connection
    /// where the client names none.
    pub(crate) fn conversation(&self, upstream: &str, named: Option<&str>) -> String {
        let named = named.map(conversation_name);
        let conversation = named.as_deref().unwrap_or(&self.connection);
        // Texts in a list can always be written.
        serde_json::to_string(&[&*self.principal, upstream, conversation]).unwrap_or_default()
    }

    /// How many failing calls were answered so far: calls that arrive before the answer to one was given are parallel
    /// calls.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Acquire)
    }

    /// The turn that calls belong to which arrived after so many answers.
    pub(crate) fn turn(&self, answers: u64) -> Turn {
        Turn::from(self.first_turn.wrapping_add(answers))
    }

    /// Notes that the answer to a failing call was given.
    pub(crate) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::AcqRel);
    }
}

/// Returns the name of a conversation as it is stored and printed: its digest, if there is a secret in it.
pub(crate) fn conversation_name(named: &str) -> Cow<'_, str> {
    if secrets::find(named).is_empty() {
        return named.into();
    }
    format!("sha256:{}", Digest::of_bytes(named.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_with_an_answer() {
        let client = Client::new("local").unwrap();
        let first = client.turn(client.answers());
        assert_eq!(client.turn(client.answers()), first);
        client.answered();
        assert_ne!(client.turn(client.answers()), first);
    }

    #[test]
    fn conversations_are_apart() {
        let (one, other) = (Client::new("local").unwrap(), Client::new("local").unwrap());
        assert_ne!(one.conversation("u", None), other.conversation("u", None));
        assert_eq!(one.conversation("u", Some("c")), other.conversation("u", Some("c")));
        assert_ne!(one.conversation("u", Some("c")), one.conversation("v", Some("c")));
        let secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";
        assert!(!one.conversation("u", Some(secret)).contains(secret));
        assert_eq!(one.conversation("u", Some(secret)), other.conversation("u", Some(secret)));
    }
}
