use std::io::Write;

use serde_json::json;

use super::confirm::confirm;
use super::location::Location;
use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::Leavable;

/// Change to a new signing key
///
/// An entry names the new key, and the next checkpoint carries the signatures of both, so whoever trusts the old key can
/// follow to the new one. The key file holds the new key afterwards; the old one is not kept. Every process on this
/// machine takes the new key up by itself. Where several machines write to one database, each of the others needs a
/// copy of the key file before it can write again: docs/how-to/rotate-the-key.md says how.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger rotate
  answerback ledger rotate --yes --format json

Exit codes: 0 changed, 1 not changed because the answer was no, 2 it could not be done.")]
pub(crate) struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    // This fails if there is no ledger, because a new one has no key to change.
    let old = location.read()?.verifier_key()?;
    let store = location.write()?;
    if !confirm(&format!("the key {old} will not sign any more"), arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    let changed = store.rotate_key()?.wait()?.value;
    let entry = store.entry(changed.index)?;
    let new = entry.as_ref().and_then(|entry| entry.leaf.text("vkey")).unwrap_or_default();
    let mut output = Leavable::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(output, "{new}\nsigns from now on; entry {} says so", changed.index)?;
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
