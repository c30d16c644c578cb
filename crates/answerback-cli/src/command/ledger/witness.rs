//! Having checkpoints signed by the witnesses of the configuration.

use answerback_ledger::Note;
use anyhow::bail;

use super::location::Location;
use crate::exit::Exit;

/// Asks every witness to sign the newest checkpoint. Gives it with what they signed, and whether all did.
#[cfg(feature = "witness")]
pub(super) fn sign(location: &Location) -> anyhow::Result<(Note, Exit)> {
    use answerback_ledger::WitnessKey;
    use answerback_store::Witness;
    use anyhow::Context;

    use crate::output::say;

    let configured = &location.configuration()?.config.ledger.witness;
    if configured.is_empty() {
        bail!(
            "no witness is configured: ledger.witness in a configuration that is named or trusted"
        );
    }
    let witnesses: Vec<Witness> = configured
        .iter()
        .enumerate()
        .map(|(place, witness)| {
            let key = WitnessKey::parse(&witness.key);
            let key = key.with_context(|| format!("ledger.witness.{place}.key"))?;
            Ok(Witness::new(&witness.url, key))
        })
        .collect::<anyhow::Result<_>>()?;
    let store = location.write()?;
    let (mut signed, mut exit) = (None, Exit::Good);
    for witness in &witnesses {
        let name = witness.key().name();
        match store.ask_witness(witness) {
            Ok(answer) => {
                say(&format!("witness {name} signed for {} entries", answer.size));
                signed = signed.max(Some(answer.size));
            }
            Err(error) => {
                say(&format!("warning: witness {name} did not sign: {error}"));
                exit = Exit::NotGood;
            }
        }
    }
    // Others may have appended meanwhile: the one that was signed is meant, with all that signed it.
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
