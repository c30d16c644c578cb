use std::io::Write;

use serde_json::json;

use super::confirm::confirm;
use super::location::Location;
use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::{Leavable, sanitise};
use crate::plural::counted;

/// Go on with a ledger that was restored from an older copy
///
/// A ledger that is behind its anchor is not written to: entries that were signed are gone, and going on in silence would
/// be a second history. Where the older copy is all there is, this records the rollback as an entry, with what the anchor
/// remembered, and starts the anchor anew. The old anchor is kept next to it. Whoever has a newer checkpoint or receipt
/// still sees that the ledger does not match it, and a witness goes on refusing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger adopt
  answerback ledger --store postgresql://answerback@db.internal/answerback --key ledger.key adopt --yes

JSON output: {\"adopted_by\", \"size\", \"anchored\", \"kept\"}
Exit codes: 0 adopted, 1 not adopted because the answer was no, 2 it could not be done, or there is nothing to adopt.")]
pub(crate) struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    let size = location.read()?.head()?.size;
    let entries = counted(size, "entry");
    let question =
        format!("the ledger will go on from {entries}; what was signed after that is given up");
    if !confirm(&question, arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    let adopted = location.adopt()?;
    let mut output = Leavable::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "adopted {}; entry {} records that the anchor remembered {}",
                counted(adopted.size, "entry"),
                adopted.index,
                adopted.anchored
            )?;
            for kept in &adopted.backups {
                writeln!(output, "the old anchor is kept as {}", sanitise(kept))?;
            }
        }
        OutputFormat::Json => {
            let value = json!({
                "adopted_by": adopted.index, "size": adopted.size.to_string(),
                "anchored": adopted.anchored.to_string(), "kept": adopted.backups,
            });
            writeln!(output, "{value}")?;
        }
    }
    Ok(Exit::Good)
}
