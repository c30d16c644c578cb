use std::io::Write;

use serde_json::json;

use super::confirm::confirm;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, sanitise};
use crate::plural::count_noun;

/// Continue a ledger that was restored from an older copy
///
/// A ledger with fewer entries than its anchor is not written to: signed entries are missing, and continuing would start a
/// second history. If the older copy is all that is left, this command records the rollback as an entry, with the size in
/// the anchor, and starts a new anchor. The old anchor is stored next to it. Newer checkpoints and receipts still do not
/// match the ledger, and witnesses still refuse to sign.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger adopt
  answerback ledger --store postgresql://answerback@db.internal/answerback --key ledger.key adopt --yes

JSON output: {\"adopted_by\", \"size\", \"anchored\", \"kept\"}
Exit codes: 0 adopted, 1 not confirmed, 2 it failed, or there is nothing to adopt.")]
pub(crate) struct Arguments {
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let size = location.read()?.head()?.size;
    let entries = count_noun(size, "entry");
    let question =
        format!("the ledger will continue from {entries}; later signed entries are given up");
    if !confirm(&question, arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    let adopted = location.adopt()?;
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "adopted {}; entry {} records that the anchor had {}",
                count_noun(adopted.size, "entry"),
                adopted.index,
                adopted.anchored
            )?;
            for backup in &adopted.backups {
                writeln!(output, "the old anchor was saved as {}", sanitise(backup))?;
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
