use std::borrow::Cow;
use std::sync::Arc;

use answerback::UuidV4;
use answerback::call::Schema;
use answerback::finding::secrets;
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, Hash, Id, Part, Salt, Token};
use answerback_store::{Store, StoreError};
use serde_json::{Value, json};

use answerback_mcp::wire::Object;

use crate::seal::Seal;

/// Writes what crosses the gateway into the ledger, redacted first.
#[derive(Clone, Debug)]
pub struct Recorder {
    store: Store,
    origin: String,
    seal: Option<Arc<Seal>>,
}

/// What every entry about one call says of it.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The call's own id, by which request and response are linked.
    pub(crate) id: Id,
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

    /// An entry with what is known of the call.
    pub(crate) fn on(&self, draft: Draft) -> Draft {
        let mut draft = draft.with_request_id(self.id).with_correlation_id(self.id);
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
        Ok(Self { store, origin, seal })
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

    /// The parts of an entry for a document: the document without its secrets, and where there are any, a commitment
    /// to the document as it was. Whoever has the original can show that it is the one.
    pub(crate) fn parts(
        &self,
        name: &str,
        document: &str,
        hide: Option<Hide<'_>>,
    ) -> Result<Vec<Part>, StoreError> {
        let Cow::Owned(redacted) = redacted(document, hide) else {
            return Ok(vec![self.store.part(name, document.as_bytes())?]);
        };
        let salt: [u8; 32] =
            crate::surroundings::random().map_err(|error| StoreError::unit(error.to_string()))?;
        let commitment = json!({
            "alg": "hmac-sha256",
            "commit": Salt::new(salt).commit(document.as_bytes()).to_string(),
            "len": document.len(),
            "salt": Hash::from(salt).to_string(),
        });
        Ok(vec![
            self.store.part(name, redacted.into_bytes())?,
            self.store.part(&format!("{name}.original"), commitment.to_string().into_bytes())?,
        ])
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

/// Where in a document a schema says what is secret.
#[derive(Clone, Copy)]
pub(crate) struct Hide<'a> {
    pub(crate) member: &'static str,
    pub(crate) schema: &'a Schema,
}

/// A document without its secrets; as it is, where it has none.
pub(crate) fn redacted<'t>(document: &'t str, hide: Option<Hide<'_>>) -> Cow<'t, str> {
    let Ok(value) = serde_json::from_str::<Value>(document) else {
        return secrets::redact(document);
    };
    let mut shown = secrets::redact_value(&value);
    if let Some(Hide { member, schema }) = hide
        && schema.has_secrets()
        && let Some(hidden) = value.get(member)
    {
        shown[member] = secrets::redact_value(&schema.without_secrets(hidden));
    }
    if shown == value { Cow::Borrowed(document) } else { Cow::Owned(shown.to_string()) }
}

/// Of a result only what we added, since the rest is in the record as it was received.
pub(crate) fn delivered(result: &str) -> String {
    let meta = Object::read(result).ok().and_then(|object| object.get("_meta").map(str::to_owned));
    format!(r#"{{"same_as":"received","but":{{"_meta":{}}}}}"#, meta.as_deref().unwrap_or("null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_the_record() {
        let plain = r#"{"name":"a","arguments":{"n":1.0}}"#;
        assert!(matches!(redacted(plain, None), Cow::Borrowed(_)));
        let secret = r#"{"name":"a","arguments":{"password":"hunter22"}}"#;
        let shown = redacted(secret, None);
        assert!(!shown.contains("hunter22"), "{shown}");
        let schema = Schema::compile(json!({"properties": {"word": {"writeOnly": true}}})).unwrap();
        let hide = Hide { member: "arguments", schema: &schema };
        let shown = redacted(r#"{"arguments":{"word":"swordfish"}}"#, Some(hide));
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
