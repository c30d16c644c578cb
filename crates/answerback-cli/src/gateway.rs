//! The gateway that a configuration describes, for whichever command carries its messages.

use answerback::contract::tool::McpHost;
use answerback_gateway::{Gateway, GatewaySettings, Recorder};

use crate::command::ledger::location::Location;
use crate::configuration::{Configuration, for_all};
use crate::output::say;

/// The gateway with its record. The record begins here if it is not there yet.
pub(crate) fn gateway(
    configuration: &Configuration,
    location: &Location,
    strict: bool,
    no_record: bool,
) -> anyhow::Result<Gateway> {
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
    if no_record {
        return Ok(gateway);
    }
    Ok(gateway.with_recorder(Recorder::new(location.start()?)?))
}
