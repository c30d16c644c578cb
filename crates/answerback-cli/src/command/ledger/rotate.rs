use std::io::Write;

use serde_json::json;

use super::confirm::confirm;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::ClosableOutput;

/// Change to a new signing key
///
/// An entry records the new key, and the next checkpoint has the signatures of both, so trust in the old key extends to
/// the new one. The key file then contains the new key, and the old one is deleted. Every process on this machine uses
/// the new key automatically. If several machines write to one database, the others need a copy of the key file before
/// they can write again; docs/how-to/rotate-the-key.md explains how.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger rotate
  answerback ledger rotate --yes --format json

Exit codes: 0 changed, 1 not confirmed, 2 it failed.")]
pub(crate) struct Arguments {
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    // This fails if there is no ledger, because a new one has no key to change.
    let old = location.read()?.verifier_key()?;
    let store = location.write()?;
    if !confirm(&format!("the key {old} will no longer sign"), arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    let changed = store.rotate_key()?.wait()?.value;
    let entry = store.entry(changed.index)?;
    let new = entry.as_ref().and_then(|entry| entry.leaf.text("vkey")).unwrap_or_default();
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(output, "{new}\nsigns from now on; entry {} records it", changed.index)?;
        }
        OutputFormat::Json => {
            let value = json!({
                "vkey": new, "old_vkey": old.to_string(), "changed_by": changed.index.to_string(),
            });
            writeln!(output, "{value}")?;
        }
    }
    Ok(Exit::Good)
}
