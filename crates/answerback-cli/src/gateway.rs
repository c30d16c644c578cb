//! The gateway that a configuration describes, for whichever command carries its messages.

use answerback::contract::tool::McpHost;
use answerback_gateway::{Attestor, Gateway, GatewaySettings, Recorder};
use answerback_store::Store;
use anyhow::{Context, bail};

use crate::command::ledger::location::Location;
use crate::configuration::{Configuration, for_all};
use crate::output::say;

/// The gateway with its record, and with the agent that answers for results where one is configured. The record
/// begins here if it is not there yet.
pub(crate) fn gateway(
    configuration: &Configuration,
    location: &Location,
    strict: bool,
    no_record: bool,
) -> anyhow::Result<Gateway> {
    if no_record {
        if configuration.config.governance.agent.is_some() {
            say("warning: governance.agent is set, and nothing is attested without a record");
        }
        return judging(configuration, strict);
    }
    recorded(configuration, strict, || Ok(Recorder::new(location.start()?)?))
}

/// The gateway with a record, which is opened when all else is well: who cannot speak leaves nothing behind.
pub(crate) fn recorded(
    configuration: &Configuration,
    strict: bool,
    open: impl FnOnce() -> anyhow::Result<Recorder>,
) -> anyhow::Result<Gateway> {
    let gateway = judging(configuration, strict)?;
    let attestor = attestor(configuration)?;
    let recorder = open()?;
    let gateway = match attestor {
        Some(attestor) => gateway.with_attestor(in_force(attestor, recorder.store())?),
        None => gateway,
    };
    Ok(gateway.with_recorder(recorder))
}

/// The gateway as it judges, without a record.
pub(crate) fn judging(configuration: &Configuration, strict: bool) -> anyhow::Result<Gateway> {
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
    Ok(Gateway::new(validation, settings).with_host(host))
}

/// The agent under whose identity results are given, where there is one.
fn attestor(configuration: &Configuration) -> anyhow::Result<Option<Attestor>> {
    let governance = &configuration.config.governance;
    let Some(agent) = &governance.agent else { return Ok(None) };
    let (Some(manifest), Some(lock)) = (&governance.manifest, &governance.lock) else {
        bail!(
            "governance.agent speaks under a manifest and a lock; name governance.manifest and governance.lock"
        );
    };
    let (manifest, lock) = (configuration.path(manifest), configuration.path(lock));
    let attestor = Attestor::open(manifest, lock, agent);
    attestor.map(Some).with_context(|| format!("governance.agent {agent} cannot speak"))
}

/// Notes what is in force before anything is said under it.
fn in_force(attestor: Attestor, store: &Store) -> anyhow::Result<Attestor> {
    attestor.log(store).context("manifest and lock could not be recorded")?;
    Ok(attestor)
}
