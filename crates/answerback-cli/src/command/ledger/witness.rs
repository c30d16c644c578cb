//! Has checkpoints signed by the configured witnesses.

use answerback_ledger::Note;
use anyhow::bail;

use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
#[cfg(feature = "witness")]
use crate::output::say;
#[cfg(feature = "witness")]
use crate::plural::count_noun;
#[cfg(feature = "witness")]
use crate::witnesses::configured;

/// Asks every witness to sign the newest checkpoint. Returns the checkpoint with their signatures, and `NotGood` if one
/// did not sign.
#[cfg(feature = "witness")]
pub(super) fn sign(location: &LedgerLocation) -> anyhow::Result<(Note, Exit)> {
    let witnesses = configured(location.configuration()?)?;
    if witnesses.is_empty() {
        bail!(
            "no witness is configured; set ledger.witness in a configuration that is named or trusted"
        );
    }
    let store = location.write()?;
    let (mut signed, mut exit) = (None, Exit::Good);
    for witness in &witnesses {
        let name = witness.key().name();
        match store.ask_witness(witness) {
            Ok(answer) => {
                say(&format!("witness {name} signed for {}", count_noun(answer.size, "entry")));
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
pub(super) fn sign(_: &LedgerLocation) -> anyhow::Result<(Note, Exit)> {
    bail!("this program was built without witnesses; build it with: cargo build --features witness")
}
