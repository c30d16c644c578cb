use crate::{EntryFilter, Store, StoreError};
use answerback::Digest;
use answerback::contract::governed::AgentIdentity;
use answerback::governance::Authority;
use answerback::json::{Limits, ReadError, read};
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, LeafKind, LeafToken};
use serde_json::Value;

/// The manifest and lock in force. Governed responses are verified against them and logged with
/// their digests.
#[derive(Clone, Debug)]
pub struct ActiveGovernance {
    authority: Authority,
    manifest: GovernanceDocument,
    lock: GovernanceDocument,
}

/// A parsed manifest or lock, with its original bytes.
#[derive(Clone, Debug)]
pub struct GovernanceDocument {
    subject: Subject,
    bytes: Vec<u8>,
    digest: Digest,
    value: Value,
}

impl GovernanceDocument {
    /// Parses a manifest.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not one JSON document within the limits.
    pub fn manifest(bytes: Vec<u8>, limits: Limits) -> Result<Self, ReadError> {
        Self::read(Subject::Manifest, bytes, limits)
    }

    /// Parses a lock.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not one JSON document within the limits.
    pub fn lock(bytes: Vec<u8>, limits: Limits) -> Result<Self, ReadError> {
        Self::read(Subject::Lock, bytes, limits)
    }

    fn read(subject: Subject, bytes: Vec<u8>, limits: Limits) -> Result<Self, ReadError> {
        let value = read(&bytes, limits)?.value;
        Ok(Self { subject, digest: Digest::of_bytes(&bytes), bytes, value })
    }

    /// Logs the document, unless the newest one in the log has the same digest.
    fn log(&self, store: &Store) -> Result<(), StoreError> {
        if logged_digest(store, self.subject)?.as_deref() == Some(self.digest.to_string().as_str())
        {
            return Ok(());
        }
        let part = store.part(self.subject.as_str(), self.bytes.as_slice())?;
        let draft = Draft::config(self.subject).with_sha256(self.digest).with_part(part);
        store.append(draft)?.wait().map(|_| ())
    }
}

impl ActiveGovernance {
    /// Combines a manifest and a lock. The [`Authority`] reports problems in them.
    pub fn new(manifest: GovernanceDocument, lock: GovernanceDocument) -> Self {
        let authority = Authority::new(&manifest.value, &lock.value);
        Self { authority, manifest, lock }
    }

    /// Returns the authority that vouches for agents and prompts.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Logs the manifest and the lock if the log has other ones in force, because a verifier uses
    /// the logged ones. It blocks until the store has written them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read or written.
    pub fn log(&self, store: &Store) -> Result<(), StoreError> {
        self.manifest.log(store)?;
        self.lock.log(store)
    }

    /// Adds the digests of both documents to the entry of a response that was verified against
    /// them.
    pub fn add_digests(&self, draft: Draft) -> Draft {
        draft.with_governance(self.manifest.digest, self.lock.digest)
    }

    /// True if both documents have the same digests as the other's.
    pub fn is_same(&self, other: &Self) -> bool {
        let digests = |it: &Self| (it.manifest.digest, it.lock.digest);
        digests(self) == digests(other)
    }
}

/// Returns the digest in the newest config entry with this subject.
fn logged_digest(store: &Store, subject: Subject) -> Result<Option<String>, StoreError> {
    let filter = EntryFilter::default().with_kind(LeafKind::Config).newest_first();
    let mut cursor = None;
    loop {
        let page = store.entries(&filter, cursor, 256)?;
        let of_subject = |text: Option<&str>| text == Some(subject.as_str());
        let newest = page.entries.iter().find(|entry| of_subject(entry.leaf.text("subject")));
        if let Some(newest) = newest {
            return Ok(newest.leaf.text("sha256").map(ToOwned::to_owned));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Adds the agent that manifest and lock vouch for, and the digest of its prompt.
pub fn add_agent_and_prompt(draft: Draft, agent: &AgentIdentity) -> Draft {
    let draft = add_agent(draft, agent);
    match Digest::try_from(agent.prompt_hash.as_str().to_owned()) {
        Ok(prompt) => draft.with_prompt(prompt),
        Err(_) => draft,
    }
}

/// Adds the agent that manifest and lock vouch for.
pub fn add_agent(draft: Draft, agent: &AgentIdentity) -> Draft {
    let tokens = [agent.agent_id.as_str(), agent.agent_type.as_str(), agent.agent_version.as_str()]
        .map(LeafToken::new);
    match tokens {
        [Ok(id), Ok(kind), Ok(version)] => draft.with_agent(&id, &kind, &version),
        _ => draft,
    }
}
