//! Builds the gateway that a configuration describes, for `wrap` and `serve`.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use answerback::contract::tool::McpHost;
use answerback_gateway::{Attestor, Gateway, GatewaySettings, Recorder};
use answerback_store::Store;
use anyhow::{Context, bail};

use crate::configuration::{Configuration, for_all};
use crate::ledger_location::LedgerLocation;
use crate::output::say;

/// The options of a gateway: its checks and its ledger.
#[derive(Debug, clap::Args)]
pub(crate) struct GatewayOptions {
    /// Check and count calls without recording anything
    #[arg(long, conflicts_with_all = ["store", "key", "anchor"])]
    pub(crate) no_record: bool,

    /// Treat an unknown field as an error even if the schema allows it
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    pub(crate) location: LedgerLocation,

    /// True if the default ledger cannot be written and the user named no other.
    #[arg(skip)]
    is_unrecorded: Cell<bool>,
}

impl GatewayOptions {
    /// Creates the options for a gateway with its ledger and configuration in one folder.
    pub(crate) fn within(folder: &Path) -> Self {
        let (location, is_unrecorded) = (LedgerLocation::within(folder), Cell::default());
        Self { no_record: false, strict: false, location, is_unrecorded }
    }

    /// Allows running without a ledger, with a warning, if the default location cannot be used. If the user named a
    /// location, its failure stays an error.
    pub(crate) fn allow_unrecorded(&self) -> anyhow::Result<()> {
        if self.no_record || self.location.is_configured()? {
            return Ok(());
        }
        if let Err(error) = self.location.check_writable() {
            self.is_unrecorded.set(true);
            say(&format!(
                "warning: nothing is recorded: {error:#}; calls are still checked and counted. Name a ledger with \
                 --store FILE --anchor FILE, or add --no-record"
            ));
        }
        Ok(())
    }

    fn is_unrecorded(&self) -> bool {
        self.no_record || self.is_unrecorded.get()
    }

    /// Creates the gateway with its ledger, and with the attesting agent if one is configured. Creates the ledger if
    /// needed. With `full_text`, the full-text index is updated as the ledger grows.
    pub(crate) fn gateway(&self, full_text: bool) -> anyhow::Result<Gateway> {
        let configuration = self.location.configuration()?;
        if self.is_unrecorded() {
            if configuration.config.governance.agent.is_some() {
                say(
                    "warning: governance.agent has no effect, because nothing is attested without a ledger",
                );
            }
            return unrecorded_gateway(configuration, self.strict);
        }
        let gateway = recorded_gateway(configuration, self.strict, || {
            Ok(Recorder::new(self.location.start_long_running(full_text)?)?)
        })?;
        Ok(gateway.with_commands(self.location.commands()))
    }

    /// Creates the gateway for a reloaded configuration, with the existing ledger.
    pub(crate) fn reloaded_gateway(
        &self,
        configuration: &Configuration,
        recorder: Option<Recorder>,
    ) -> anyhow::Result<Gateway> {
        match recorder {
            Some(recorder) => {
                let gateway = recorded_gateway(configuration, self.strict, || Ok(recorder))?;
                Ok(gateway.with_commands(self.location.commands()))
            }
            None => unrecorded_gateway(configuration, self.strict),
        }
    }

    /// Returns the file for a server's tool definitions, next to the ledger if there is one.
    pub(crate) fn pins(&self, server: &str) -> anyhow::Result<Option<PathBuf>> {
        self.pins_under(server, server)
    }

    /// Returns the file for a server whose name may not be unique. The key is unique.
    pub(crate) fn pins_under(&self, server: &str, key: &str) -> anyhow::Result<Option<PathBuf>> {
        if self.is_unrecorded() { Ok(None) } else { pins(&self.location, server, key).map(Some) }
    }
}

/// Creates a gateway with a ledger. The ledger is opened last, so that a failed start leaves nothing behind.
fn recorded_gateway(
    configuration: &Configuration,
    strict: bool,
    open: impl FnOnce() -> anyhow::Result<Recorder>,
) -> anyhow::Result<Gateway> {
    let gateway = unrecorded_gateway(configuration, strict)?;
    let attestor = attestor(configuration)?;
    let recorder = open()?;
    let gateway = match attestor {
        Some(attestor) => gateway.with_attestor(log_governance(attestor, recorder.store())?),
        None => gateway,
    };
    Ok(gateway.with_recorder(recorder))
}

/// Creates a gateway without a ledger.
fn unrecorded_gateway(configuration: &Configuration, strict: bool) -> anyhow::Result<Gateway> {
    let config = &configuration.config;
    let mut validation = config.validation.clone();
    if strict {
        for_all(&mut validation, |settings| settings.strict = true);
    }
    let parsed = serde_json::json!({ "gateway": config.gateway });
    let (settings, warnings) = GatewaySettings::from_value("the configuration", &parsed)?;
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
    let host = McpHost::detect(|variable| std::env::var_os(variable).is_some());
    let gateway = Gateway::new(validation, settings).with_host(host);
    #[cfg(feature = "otel")]
    let gateway = gateway.with_tracer(tracer()?);
    Ok(gateway)
}

/// Returns the exporter of traces. All gateways of this process share it, even after a reload.
#[cfg(feature = "otel")]
fn tracer() -> anyhow::Result<Option<std::sync::Arc<answerback_gateway::Tracer>>> {
    use std::sync::{Arc, OnceLock};
    static TRACER: OnceLock<Option<Arc<answerback_gateway::Tracer>>> = OnceLock::new();
    if let Some(tracer) = TRACER.get() {
        return Ok(tracer.clone());
    }
    let tracer = answerback_gateway::Tracer::from_variables(|name| std::env::var(name).ok());
    let tracer = tracer.map_err(|reason| anyhow::anyhow!("traces: {reason}"))?.map(Arc::new);
    Ok(TRACER.get_or_init(|| tracer).clone())
}

/// The configured agent that attests results, with the paths of its manifest and lock.
pub(crate) struct ConfiguredSpeaker<'c> {
    agent: &'c str,
    manifest: PathBuf,
    lock: PathBuf,
}

/// Returns the configured agent that attests results. Returns `None` if the configuration names none. Reads no other
/// files.
pub(crate) fn speaker(
    configuration: &Configuration,
) -> anyhow::Result<Option<ConfiguredSpeaker<'_>>> {
    let governance = &configuration.config.governance;
    let Some(agent) = &governance.agent else { return Ok(None) };
    let (Some(manifest), Some(lock)) = (&governance.manifest, &governance.lock) else {
        bail!(
            "governance.agent requires a manifest and a lock; set governance.manifest and governance.lock"
        );
    };
    let (manifest, lock) = (configuration.path(manifest), configuration.path(lock));
    Ok(Some(ConfiguredSpeaker { agent, manifest, lock }))
}

/// Opens the attestor for the configured agent, if there is one.
pub(crate) fn attestor(configuration: &Configuration) -> anyhow::Result<Option<Attestor>> {
    let Some(ConfiguredSpeaker { agent, manifest, lock }) = speaker(configuration)? else {
        return Ok(None);
    };
    let attestor = Attestor::open(manifest, lock, agent);
    attestor.map(Some).with_context(|| format!("governance.agent {agent} cannot attest results"))
}

/// Logs the manifest and lock before anything is attested under them.
fn log_governance(attestor: Attestor, store: &Store) -> anyhow::Result<Attestor> {
    attestor.log(store).context("manifest and lock could not be recorded")?;
    Ok(attestor)
}

/// Returns the path of the pinned tool definitions: next to the store, named after the server's name and key.
fn pins(location: &LedgerLocation, name: &str, key: &str) -> anyhow::Result<PathBuf> {
    let digest = answerback::Digest::of_bytes(key.as_bytes()).to_string();
    let readable: String = name
        .chars()
        .filter(|it| it.is_ascii_alphanumeric() || "-_".contains(*it))
        .take(40)
        .collect();
    let file = format!("{readable}-{}.json", &digest[..8]);
    Ok(location.folder()?.join("pins").join(file))
}
