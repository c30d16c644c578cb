//! Reads the configured witnesses.

#[cfg(feature = "witness")]
use answerback_ledger::WitnessKey;
use answerback_store::Settings;
#[cfg(feature = "witness")]
use answerback_store::Witness;
#[cfg(feature = "witness")]
use anyhow::Context;

use crate::configuration::Configuration;
#[cfg(not(feature = "witness"))]
use crate::output::say;

/// Returns the configured witnesses.
#[cfg(feature = "witness")]
pub(crate) fn configured(configuration: &Configuration) -> anyhow::Result<Vec<Witness>> {
    let configured = configuration.config.ledger.witness.iter().enumerate();
    configured
        .map(|(place, witness)| {
            let key = WitnessKey::parse(&witness.key);
            let key = key.with_context(|| format!("ledger.witness.{place}.key"))?;
            Ok(Witness::new(&witness.url, key))
        })
        .collect()
}

/// Adds the configured witnesses to the settings. The store then asks them to sign as long as it is open.
#[cfg(feature = "witness")]
pub(crate) fn with_witnesses(
    settings: Settings,
    configuration: &Configuration,
) -> anyhow::Result<Settings> {
    Ok(configured(configuration)?.into_iter().fold(settings, Settings::with_witness))
}

#[cfg(not(feature = "witness"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `witness` a key may be invalid")]
pub(crate) fn with_witnesses(
    settings: Settings,
    configuration: &Configuration,
) -> anyhow::Result<Settings> {
    if !configuration.config.ledger.witness.is_empty() {
        say("warning: ledger.witness is set, and this program was built without witnesses");
    }
    Ok(settings)
}
