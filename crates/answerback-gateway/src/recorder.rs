//! Writes redacted documents to the ledger.

use std::sync::Arc;

use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, LeafToken, Part};
use answerback_store::recording::MemberSchema;
use answerback_store::{AppendedEntry, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::blocking;
use crate::case_encryption::CaseCipher;

/// Writes calls and results to the ledger and redacts them first.
#[derive(Clone, Debug)]
pub struct Recorder {
    store: Store,
    origin: String,
    cipher: Option<Arc<CaseCipher>>,
    /// Notifies this process that a case was decided.
    pub(crate) decided_cases: watch::Sender<()>,
}

impl Recorder {
    /// Creates a recorder for a store.
    ///
    /// # Errors
    ///
    /// Returns an error if the ledger's name cannot be read.
    pub fn new(store: Store) -> Result<Self, StoreError> {
        let origin = store.origin()?;
        let cipher = CaseCipher::of(&store).map(Arc::new);
        Ok(Self { store, origin, cipher, decided_cases: watch::Sender::new(()) })
    }

    /// Returns the cipher that encrypts stored arguments.
    pub(crate) fn cipher(&self) -> Option<Arc<CaseCipher>> {
        self.cipher.clone()
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
    pub(crate) fn redacted_parts(
        &self,
        name: &str,
        document: &str,
        hide: Option<MemberSchema<'_>>,
    ) -> Result<Vec<Part>, StoreError> {
        // The whole document is searched for secrets, which may take long.
        blocking::run(document.len(), || {
            answerback_store::recording::redacted_parts(&self.store, name, document, hide)
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
        for part in self.redacted_parts("document", &text, None)? {
            draft = draft.with_part(part);
        }
        if matches!(subject, Subject::Start) {
            draft = draft.with_verifier_key(&self.store.verifier_key()?);
        }
        self.store.append(draft)?.await?;
        Ok(())
    }
}
