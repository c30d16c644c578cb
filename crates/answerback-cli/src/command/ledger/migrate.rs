use std::io::Write;

use answerback::config::StoreConfig;
use answerback_store::{MoveTarget, migrate};
use anyhow::{Context, bail};
use serde_json::json;

use super::location::Location;
use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::Leavable;
use crate::plural::counted;
use crate::progress::ProgressLine;

/// Move the ledger from its file into a `PostgreSQL` database
///
/// Origin, key and root stay, so every receipt and checkpoint holds, and a consistency proof spans the move. Everything
/// in the store moves: entries, content, retry states, cases, events, blobs. The file stays readable, and is marked so
/// that nobody appends to it any more. What interrupts a move leaves nothing in the database: run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger migrate --to postgresql://answerback@db.internal/answerback
  answerback ledger --store ledger.db migrate --to 'postgresql:///answerback?schema=audit'
  answerback ledger --store postgresql://answerback@db.internal/answerback --key ledger.key verify

The key stays where it is: from now on it is named with --key, and the anchor with --anchor.
Exit codes: 0 moved, 2 it could not be done.")]
pub(crate) struct Arguments {
    /// The database, which holds no ledger yet; `?schema=NAME` names a schema in it, otherwise `answerback`
    #[arg(long, value_name = "URL")]
    to: String,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    if !StoreConfig::is_url(&arguments.to) {
        bail!("--to is the URL of a PostgreSQL database: postgresql://USER@HOST/DATABASE");
    }
    if location.url()?.is_some() {
        bail!("the ledger is in a database already; a move goes from a file into a database");
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
    let mut output = Leavable::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "moved {}; the log goes on with entry {}",
                counted(before.size, "entry"),
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
