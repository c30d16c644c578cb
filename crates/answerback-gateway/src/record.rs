use std::sync::Arc;

use answerback::UuidV4;
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, LeafId, LeafToken, Part};
use answerback_store::recording::MemberSchema;
use answerback_store::{AppendedEntry, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::blocking;
use crate::seal::Seal;

/// Writes calls and results to the ledger and redacts them first.
#[derive(Clone, Debug)]
pub struct Recorder {
    store: Store,
    origin: String,
    seal: Option<Arc<Seal>>,
    /// Notifies this process that a case was decided.
    pub(crate) news: watch::Sender<()>,
}

/// Holds the facts that every entry about one call contains.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The id of the request, which links request and response.
    pub(crate) id: LeafId,
    /// The id of the call. It differs from `id` only if the result is requested later.
    pub(crate) correlation: LeafId,
    pub(crate) upstream: String,
    pub(crate) principal: String,
    /// The tool's name, and true if the catalog has it.
    pub(crate) tool: (String, bool),
}

impl About {
    pub(crate) fn id_of(correlation: &UuidV4) -> LeafId {
        // Every UUID of the library is a valid id of the ledger.
        LeafId::try_from(correlation).unwrap_or_else(|_| LeafId::from([0; 16]))
    }

    /// Returns the id of the request for the result of a task. Repeated requests have the same id. Different
    /// results of one task have different places, and so different ids.
    pub(crate) fn late_id(call: &UuidV4, place: u32) -> LeafId {
        let digest = answerback::Digest::of(&json!(["result", call.as_str(), place]));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.as_bytes()[..16]);
        Self::id_of(&UuidV4::from_random(bytes))
    }

    /// Adds the facts about the call to an entry.
    pub(crate) fn on(&self, draft: Draft) -> Draft {
        let mut draft = draft.with_request_id(self.id).with_correlation_id(self.correlation);
        if let Ok(upstream) = LeafToken::new(&self.upstream) {
            draft = draft.with_upstream(&upstream);
        }
        if let Ok(principal) = LeafToken::new(&self.principal) {
            draft = draft.with_principal(&principal);
        }
        match &self.tool {
            (name, true) => draft.with_tool(name),
            (name, false) => draft.with_unknown_tool(name),
        }
    }
}

/// Sets the outcome of an entry. Only our own words are used here.
pub(crate) fn outcome(draft: Draft, word: &str) -> Draft {
    match LeafToken::new(word) {
        Ok(word) => draft.with_outcome(&word),
        Err(_) => draft,
    }
}

impl Recorder {
    /// Creates a recorder for a store.
    ///
    /// # Errors
    ///
    /// Returns an error if the ledger's name cannot be read.
    pub fn new(store: Store) -> Result<Self, StoreError> {
        let origin = store.origin()?;
        let seal = Seal::of(&store).map(Arc::new);
        Ok(Self { store, origin, seal, news: watch::Sender::new(()) })
    }

    /// Returns the seal that encrypts stored arguments.
    pub(crate) fn seal(&self) -> Option<Arc<Seal>> {
        self.seal.clone()
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the name of the ledger.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the parts of an entry for a document, with its secrets redacted.
    pub(crate) fn parts(
        &self,
        name: &str,
        document: &str,
        hide: Option<MemberSchema<'_>>,
    ) -> Result<Vec<Part>, StoreError> {
        // The whole document is searched for secrets, which may take long.
        blocking::work(document.len(), || {
            answerback_store::recording::parts(&self.store, name, document, hide)
        })
    }

    /// Returns the receipt for an entry.
    pub(crate) fn receipt(&self, appended: &AppendedEntry, response_id: &str) -> Value {
        json!({
            "log": self.origin,
            "index": appended.index,
            "leafHash": appended.leaf_hash.to_string(),
            "responseId": response_id,
        })
    }

    /// Records a configuration document that applies from now on, such as a server's tools or the policy.
    ///
    /// # Errors
    ///
    /// Returns an error if the store rejects it.
    pub(crate) async fn config(
        &self,
        subject: Subject,
        upstream: Option<&str>,
        document: &Value,
    ) -> Result<(), StoreError> {
        let text = document.to_string();
        let digest = answerback::Digest::of_bytes(text.as_bytes());
        let mut draft = Draft::config(subject).with_sha256(digest);
        if let Some(Ok(upstream)) = upstream.map(LeafToken::new) {
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

/// Describes a returned result whose received form is also recorded. It lists the members that were changed, or
/// `null` for those that were removed. The receipt is omitted, because it refers to the entry.
pub(crate) fn same_but(changed: &[(&str, &str)]) -> String {
    if changed.is_empty() {
        return r#"{"same_as":"received"}"#.to_owned();
    }
    let room = changed.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    let mut text = String::with_capacity(room + 32);
    text.push_str(r#"{"same_as":"received","but":{"#);
    for (position, (name, value)) in changed.iter().enumerate() {
        text.push_str(if position == 0 { "\"" } else { ",\"" });
        // The names are our own and need no escaping.
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
