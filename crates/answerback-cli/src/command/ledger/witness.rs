//! Has checkpoints signed by the configured witnesses.

use answerback_ledger::Note;
#[cfg(feature = "witness")]
use answerback_ledger::WitnessKey;
use answerback_store::Settings;
#[cfg(feature = "witness")]
use answerback_store::Witness;
#[cfg(feature = "witness")]
use anyhow::Context;
use anyhow::bail;

use super::location::Location;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::output::say;
use crate::plural::counted;

/// Returns the configured witnesses.
#[cfg(feature = "witness")]
fn configured(configuration: &Configuration) -> anyhow::Result<Vec<Witness>> {
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
pub(super) fn asked_by(
    settings: Settings,
    configuration: &Configuration,
) -> anyhow::Result<Settings> {
    Ok(configured(configuration)?.into_iter().fold(settings, Settings::with_witness))
}

#[cfg(not(feature = "witness"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `witness` a key may be invalid")]
pub(super) fn asked_by(
    settings: Settings,
    configuration: &Configuration,
) -> anyhow::Result<Settings> {
    if !configuration.config.ledger.witness.is_empty() {
        say("warning: ledger.witness is set, and this program was built without witnesses");
    }
    Ok(settings)
}

/// Asks every witness to sign the newest checkpoint. Returns the checkpoint with their signatures, and `NotGood` if one
/// did not sign.
#[cfg(feature = "witness")]
pub(super) fn sign(location: &Location) -> anyhow::Result<(Note, Exit)> {
    let witnesses = configured(location.configuration()?)?;
    if witnesses.is_empty() {
        bail!(
            "no witness is configured: ledger.witness in a configuration that is named or trusted"
        );
    }
    let store = location.write()?;
    let (mut signed, mut exit) = (None, Exit::Good);
    for witness in &witnesses {
        let name = witness.key().name();
        match store.ask_witness(witness) {
            Ok(answer) => {
                say(&format!("witness {name} signed for {}", counted(answer.size, "entry")));
                signed = signed.max(Some(answer.size));
            }
            Err(error) => {
                say(&format!("warning: witness {name} did not sign: {error}"));
                exit = Exit::NotGood;
            }
        }
    }
    // Another process may have appended in the meantime, so this returns the signed checkpoint, not the newest one.
    let note = match signed {
        Some(size) => store.checkpoints(size.saturating_sub(1), 1)?.pop(),
        None => None,
    };
    Ok((note.map_or_else(|| store.checkpoint(), Ok)?, exit))
}

#[cfg(not(feature = "witness"))]
pub(super) fn sign(_: &Location) -> anyhow::Result<(Note, Exit)> {
    bail!("this program was built without witnesses; build it with: cargo build --features witness")
}
