//! Selects the manifest and lock for verifying governed responses, and for the log.

use std::path::PathBuf;

use answerback::json::Limits;
use answerback_store::recording::{ActiveGovernance, GovernanceDocument};
use anyhow::Context;

use crate::configuration::Configuration;
use crate::input::InputSource;

/// The options that select manifest and lock.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AuthorityOptions {
    /// The manifest that governed responses are verified against, which is also logged [default: from the configuration]
    #[arg(long, value_name = "FILE", requires = "lock")]
    manifest: Option<PathBuf>,

    /// The lock that governed responses are verified against, which is also logged [default: from the configuration]
    #[arg(long, value_name = "FILE", requires = "manifest")]
    lock: Option<PathBuf>,
}

impl AuthorityOptions {
    pub(crate) fn read(
        &self,
        configuration: &Configuration,
        limits: Limits,
    ) -> anyhow::Result<Option<ActiveGovernance>> {
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
        let (manifest, lock) = (InputSource::new(&manifest), InputSource::new(&lock));
        let read_manifest = GovernanceDocument::manifest(manifest.bytes(limits)?, limits);
        let read_lock = GovernanceDocument::lock(lock.bytes(limits)?, limits);
        let read_manifest = read_manifest.with_context(|| manifest.name())?;
        Ok(Some(ActiveGovernance::new(read_manifest, read_lock.with_context(|| lock.name())?)))
    }
}
