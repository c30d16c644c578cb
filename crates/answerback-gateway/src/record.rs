use std::sync::Arc;

use answerback::UuidV4;
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_record::Hide;
use answerback_store::{Appended, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::blocking;
use crate::seal::Seal;

/// Writes what crosses the gateway into the ledger, redacted first.
#[derive(Clone, Debug)]
pub struct Recorder {
    store: Store,
    origin: String,
    seal: Option<Arc<Seal>>,
    /// Says that something was decided in this process.
    pub(crate) news: watch::Sender<()>,
}

/// What every entry about one call says of it.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The id of the request, by which request and response are linked.
    pub(crate) id: Id,
    /// The id of the call that it is about: the same, unless the call's result is asked for later.
    pub(crate) correlation: Id,
    pub(crate) upstream: String,
    pub(crate) principal: String,
    /// The tool's name, and whether the catalogue has it.
    pub(crate) tool: (String, bool),
}

impl About {
    pub(crate) fn id_of(correlation: &UuidV4) -> Id {
        // A UUID of the library is one of the ledger.
        Id::try_from(correlation).unwrap_or_else(|_| Id::from([0; 16]))
    }

    /// The id of the request for the result of a call's task. Whoever asks again asks the same; only where the result is
    /// another one is it another request, and this is the place among them.
    pub(crate) fn late_id(call: &UuidV4, place: u32) -> Id {
        let digest = answerback::Digest::of(&json!(["result", call.as_str(), place]));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.as_bytes()[..16]);
        Self::id_of(&UuidV4::from_random(bytes))
    }

    /// An entry with what is known of the call.
    pub(crate) fn on(&self, draft: Draft) -> Draft {
        let mut draft = draft.with_request_id(self.id).with_correlation_id(self.correlation);
        if let Ok(upstream) = Token::new(&self.upstream) {
            draft = draft.with_upstream(&upstream);
        }
        if let Ok(principal) = Token::new(&self.principal) {
            draft = draft.with_principal(&principal);
        }
        match &self.tool {
            (name, true) => draft.with_tool(name),
            (name, false) => draft.with_unknown_tool(name),
        }
    }
}

/// An outcome as a leaf says it. Only words of ours come in.
pub(crate) fn outcome(draft: Draft, word: &str) -> Draft {
    match Token::new(word) {
        Ok(word) => draft.with_outcome(&word),
        Err(_) => draft,
    }
}

impl Recorder {
    /// Records into a store.
    ///
    /// # Errors
    ///
    /// When the log's name cannot be read.
    pub fn new(store: Store) -> Result<Self, StoreError> {
        let origin = store.origin()?;
        let seal = Seal::of(&store).map(Arc::new);
        Ok(Self { store, origin, seal, news: watch::Sender::new(()) })
    }

    /// What hides arguments that have to be kept.
    pub(crate) fn seal(&self) -> Option<Arc<Seal>> {
        self.seal.clone()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The name of the log.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The parts of an entry for a document, its secrets hidden.
    pub(crate) fn parts(
        &self,
        name: &str,
        document: &str,
        hide: Option<Hide<'_>>,
    ) -> Result<Vec<Part>, StoreError> {
        // Every document that is recorded is searched for secrets from its beginning to its end.
        blocking::work(document.len(), || {
            answerback_record::parts(&self.store, name, document, hide)
        })
    }

    /// Where an entry is, for whoever was answered with it.
    pub(crate) fn receipt(&self, appended: &Appended, response_id: &str) -> Value {
        json!({
            "log": self.origin,
            "index": appended.index,
            "leafHash": appended.leaf_hash.to_string(),
            "responseId": response_id,
        })
    }

    /// Notes what is in force from here on: what a server offers, and how calls are judged.
    ///
    /// # Errors
    ///
    /// When the store refuses it.
    pub(crate) async fn config(
        &self,
        subject: Subject,
        upstream: Option<&str>,
        document: &Value,
    ) -> Result<(), StoreError> {
        let text = document.to_string();
        let digest = answerback::Digest::of_bytes(text.as_bytes());
        let mut draft = Draft::config(subject).with_sha256(digest);
        if let Some(Ok(upstream)) = upstream.map(Token::new) {
            draft = draft.with_upstream(&upstream);
        }
        for part in self.parts("document", &text, None)? {
            draft = draft.with_part(part);
        }
        if matches!(subject, Subject::Start) {
            draft = draft.with_verifier_key(&self.store.verifier_key()?);
        }
        self.store.append(draft)?.await?;
        Ok(())
    }
}

/// What was delivered of a result whose rest is in the record as it was received: the members that were changed, each
/// as it was delivered, or `null` where it was taken out. The receipt, which names the record, is not in it.
pub(crate) fn same_but(changed: &[(&str, &str)]) -> String {
    if changed.is_empty() {
        return r#"{"same_as":"received"}"#.to_owned();
    }
    let room = changed.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    let mut text = String::with_capacity(room + 32);
    text.push_str(r#"{"same_as":"received","but":{"#);
    for (position, (name, value)) in changed.iter().enumerate() {
        text.push_str(if position == 0 { "\"" } else { ",\"" });
        // The names are ours, and plain.
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value);
    }
    text.push_str("}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_named_and_nothing_else() {
        assert_eq!(same_but(&[]), r#"{"same_as":"received"}"#);
        assert_eq!(
            same_but(&[("_meta", "{}"), ("content", "[1]"), ("structuredContent", "null")]),
            r#"{"same_as":"received","but":{"_meta":{},"content":[1],"structuredContent":null}}"#
        );
    }
}
