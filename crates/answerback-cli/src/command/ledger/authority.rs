//! Manifest and lock as files: what a governed response is verified against, and logged with.

use std::path::PathBuf;

use answerback::Digest;
use answerback::governance::Authority;
use answerback::json::{Limits, read};
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, Kind};
use answerback_store::{Filter, Store};
use anyhow::Context;
use serde_json::Value;

use crate::configuration::Configuration;
use crate::input::Input;

/// Which manifest and lock are in force.
#[derive(Debug, clap::Args)]
pub(super) struct AuthorityOptions {
    /// The manifest that governed responses are verified against; it is logged, too; otherwise the configuration's
    #[arg(long, value_name = "FILE", requires = "lock")]
    manifest: Option<PathBuf>,

    /// The lock that governed responses are verified against; it is logged, too; otherwise the configuration's
    #[arg(long, value_name = "FILE", requires = "manifest")]
    lock: Option<PathBuf>,
}

impl AuthorityOptions {
    pub(super) fn read(
        &self,
        configuration: &Configuration,
        limits: Limits,
    ) -> anyhow::Result<Option<InForce>> {
        let configured = &configuration.config.governance;
        let (manifest, lock) = match (&self.manifest, &self.lock) {
            (Some(manifest), Some(lock)) => (manifest.clone(), lock.clone()),
            _ => match (&configured.manifest, &configured.lock) {
                (Some(manifest), Some(lock)) => {
                    (configuration.path(manifest), configuration.path(lock))
                }
                _ => return Ok(None),
            },
        };
        let manifest = Content::read(Subject::Manifest, &Input::new(&manifest), limits)?;
        let lock = Content::read(Subject::Lock, &Input::new(&lock), limits)?;
        let authority = Authority::new(&manifest.value, &lock.value);
        Ok(Some(InForce { authority, manifest, lock }))
    }
}

/// A manifest and its lock.
pub(super) struct InForce {
    pub(super) authority: Authority,
    manifest: Content,
    lock: Content,
}

struct Content {
    subject: Subject,
    bytes: Vec<u8>,
    digest: Digest,
    value: Value,
}

impl Content {
    fn read(subject: Subject, input: &Input, limits: Limits) -> anyhow::Result<Self> {
        let bytes = input.bytes(limits)?;
        let value = read(&bytes, limits).with_context(|| input.name())?.value;
        Ok(Self { subject, digest: Digest::of_bytes(&bytes), bytes, value })
    }

    /// Logs it, unless it is what the log has in force.
    fn log(&self, store: &Store) -> anyhow::Result<()> {
        if in_force(store, self.subject)?.as_deref() == Some(self.digest.to_string().as_str()) {
            return Ok(());
        }
        let part = store.part(self.subject.as_str(), self.bytes.as_slice())?;
        let draft = Draft::config(self.subject).with_sha256(self.digest).with_part(part);
        store.append(draft)?.wait()?;
        Ok(())
    }
}

impl InForce {
    /// Logs manifest and lock where the log has others in force: a verifier judges by what was logged.
    pub(super) fn log(&self, store: &Store) -> anyhow::Result<()> {
        self.manifest.log(store)?;
        self.lock.log(store)
    }

    /// The digests of both, for an answer that was verified against them.
    pub(super) fn name(&self, draft: Draft) -> Draft {
        draft.with_governance(self.manifest.digest, self.lock.digest)
    }
}

/// The digest of what was logged last about a subject.
fn in_force(store: &Store, subject: Subject) -> anyhow::Result<Option<String>> {
    let filter = Filter::default().with_kind(Kind::Config).newest_first();
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
