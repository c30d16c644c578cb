use std::io::Write;

use answerback::config::StoreConfig;
use answerback_store::{MoveTarget, migrate};
use anyhow::{Context, bail};
use serde_json::json;

use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::ClosableOutput;
use crate::plural::count_noun;
use crate::progress::ProgressLine;

/// Move the ledger from its file into a `PostgreSQL` database
///
/// Origin, key and root stay the same, so every receipt and checkpoint stays valid, and consistency proofs span the move.
/// Everything in the store moves: entries, content, retry states, cases, events, blobs. The file stays readable, and is
/// marked as read-only. An interrupted move leaves nothing in the database: run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger migrate --to postgresql://answerback@db.internal/answerback
  answerback ledger --store ledger.db migrate --to 'postgresql:///answerback?schema=audit'
  answerback ledger --store postgresql://answerback@db.internal/answerback --key ledger.key verify

The key file stays in its place: from now on name it with --key, and the anchor with --anchor.
Exit codes: 0 moved, 2 it failed.")]
pub(crate) struct Arguments {
    /// The URL of a database without a ledger; `?schema=NAME` names a schema in it [default schema: answerback]
    #[arg(long, value_name = "URL")]
    to: String,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    if !StoreConfig::is_url(&arguments.to) {
        bail!(
            "--to is not the URL of a PostgreSQL database; write postgresql://USER@HOST/DATABASE"
        );
    }
    if location.url()?.is_some() {
        bail!("the ledger is already in a database; only a ledger in a file can be moved");
    }
    let source = location.write()?;
    let before = source.head()?;
    let target = MoveTarget::postgres(&arguments.to, location.settings()?).context("--to")?;
    let mut progress = ProgressLine::new("rows");
    let (mut step, mut told) = ("", 0);
    let moved = migrate(&source, target, &mut |seen| {
        if seen.step != step {
            (step, told) = (seen.step, 0);
        }
        progress.add(seen.done.saturating_sub(told), 0);
        told = seen.done;
    });
    progress.finish();
    let moved = moved?;
    let (after, key, anchor) = (moved.head()?, location.key()?, location.anchor()?);
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "moved {}; the next entry is {}",
                count_noun(before.size, "entry"),
                after.size
            )?;
            writeln!(
                output,
                "from now on: --store URL --key {} --anchor {}",
                key.display(),
                anchor.display()
            )?;
        }
        OutputFormat::Json => {
            let value = json!({
                "moved": before.size.to_string(), "size": after.size.to_string(),
                "key": key.display().to_string(), "anchor": anchor.display().to_string(),
            });
            writeln!(output, "{value}")?;
        }
    }
    Ok(Exit::Good)
}
