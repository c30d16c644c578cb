use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use answerback::Digest;
use answerback::finding::secrets;
use answerback::retry::Turn;

use crate::marker::Marker;

/// Identifies the caller: one connection of a client.
#[derive(Debug)]
pub struct Client {
    principal: String,
    connection: Arc<str>,
    /// The number of the connection's first turn. It is random, so the turns of connections do not overlap.
    first_turn: u64,
    failed_calls: AtomicU64,
    /// The marker of our own text blocks on this connection, or `None` if there was no randomness.
    marker: Option<Marker>,
}

impl Client {
    /// Creates a connection of a principal.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no randomness for the connection's name.
    pub fn new(principal: impl Into<String>) -> std::io::Result<Self> {
        let connection = answerback_store::system::uuid()?.to_string().into();
        let first_turn = u64::from_be_bytes(answerback_store::system::random()?);
        let failed_calls = AtomicU64::new(0);
        let marker = Some(Marker::random()?);
        Ok(Self { principal: principal.into(), connection, first_turn, failed_calls, marker })
    }

    /// Creates a principal whose clients have no connections. Requests that name no conversation then share one,
    /// which survives a restart of the gateway.
    pub fn stateless(principal: impl Into<String>) -> Self {
        let connection = "stateless".into();
        let (failed_calls, marker) = (AtomicU64::new(0), Marker::random().ok());
        Self { principal: principal.into(), connection, first_turn: 0, failed_calls, marker }
    }

    /// Returns the principal that makes the calls.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Returns the marker of our own text blocks on this connection.
    ///
    /// # Errors
    ///
    /// Returns an error if there was no randomness for it.
    pub(crate) fn marker(&self) -> std::io::Result<Marker> {
        let missing = || std::io::Error::other("there was no randomness for a connection's marker");
        self.marker.clone().ok_or_else(missing)
    }

    /// Returns the name of the connection.
    pub(crate) fn connection(&self) -> Arc<str> {
        Arc::clone(&self.connection)
    }

    /// Returns the key that attempts are counted under, together with the tool. It consists of principal,
    /// upstream and conversation. A client that names no conversation uses its connection.
    pub(crate) fn conversation(&self, upstream: &str, requested: Option<&str>) -> String {
        let requested = requested.map(stored_conversation_name);
        let conversation = requested.as_deref().unwrap_or(&self.connection);
        // Serializing a list of strings cannot fail.
        serde_json::to_string(&[&*self.principal, upstream, conversation]).unwrap_or_default()
    }

    /// Returns the number of failed calls that were answered so far. Calls that arrive before the answer to one
    /// are parallel calls.
    pub(crate) fn failed_calls(&self) -> u64 {
        self.failed_calls.load(Ordering::Acquire)
    }

    /// Returns the turn of calls that arrived after this many answers.
    pub(crate) fn turn(&self, failed_calls: u64) -> Turn {
        Turn::from(self.first_turn.wrapping_add(failed_calls))
    }

    /// Records that a failed call was answered.
    pub(crate) fn count_failed_call(&self) {
        self.failed_calls.fetch_add(1, Ordering::AcqRel);
    }
}

/// Returns the name of a conversation as it is stored and printed. A name that contains a secret is replaced with
/// its digest.
pub(crate) fn stored_conversation_name(requested: &str) -> Cow<'_, str> {
    if secrets::find(requested).is_empty() {
        return requested.into();
    }
    format!("sha256:{}", Digest::of_bytes(requested.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_with_an_answer() {
        let client = Client::new("local").unwrap();
        let first = client.turn(client.failed_calls());
        assert_eq!(client.turn(client.failed_calls()), first);
        client.count_failed_call();
        assert_ne!(client.turn(client.failed_calls()), first);
    }

    #[test]
    fn conversations_of_connections_and_upstreams_differ() {
        let (one, other) = (Client::new("local").unwrap(), Client::new("local").unwrap());
        assert_ne!(one.conversation("u", None), other.conversation("u", None));
        assert_eq!(one.conversation("u", Some("c")), other.conversation("u", Some("c")));
        assert_ne!(one.conversation("u", Some("c")), one.conversation("v", Some("c")));
        let secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";
        assert!(!one.conversation("u", Some(secret)).contains(secret));
        assert_eq!(one.conversation("u", Some(secret)), other.conversation("u", Some(secret)));
    }
}
