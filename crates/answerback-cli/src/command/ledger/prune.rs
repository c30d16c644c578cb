use std::io::Write;

use answerback_ledger::tile::WIDTH;
use answerback_store::{EntryFilter, Store};
use anyhow::bail;
use serde_json::json;

use super::confirm::confirm;
use super::erase::STILL_IN_FILES;
use super::moment::{DAY, micros, span};
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::{OutputFormat, number};
use crate::output::{ClosableOutput, say};
use crate::plural::count_noun;
use crate::progress::ProgressLine;
use answerback_store::system::now;

/// The days for which entries are stored unless --force is given. The EU's AI Act requires at least this for logs.
const MIN_AGE_DAYS: i64 = 183;

/// Remove old entries; every proof about the rest stays valid
///
/// Entries are removed in steps of 256, so up to 255 more may stay. Hashes and checkpoints stay. A new entry records every
/// 4,096 removed entries, so other processes can write in between. After an interruption, run the same command again.
/// First export what you need to retain elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger prune --older-than 400d
  answerback ledger prune --below 100000 --yes

Entries younger than 183 days are removed only with --force.
Exit codes: 0 pruned, 1 nothing was old enough or not confirmed, 2 it was rejected or failed.")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["below", "older_than"]))]
pub(crate) struct Arguments {
    /// Remove the entries below this index
    #[arg(long, value_name = "INDEX", value_parser = number)]
    below: Option<u64>,

    /// Remove the entries that are older than this: a number with s, m, h, d or w
    #[arg(long, value_name = "SPAN", value_parser = span)]
    older_than: Option<i64>,

    /// Also remove entries younger than 183 days
    #[arg(long)]
    force: bool,

    /// Skip the confirmation
    #[arg(long)]
    yes: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let now = micros(now())?;
    let store = location.write()?;
    let head = store.head()?;
    let below = match (arguments.below, arguments.older_than) {
        (Some(below), _) => below,
        (None, Some(span)) => first_since(&store, now - span)?.unwrap_or(head.size),
        (None, None) => 0,
    };
    // Only whole tiles keep the hashes of removed entries.
    let below = below - below % WIDTH;
    if below > head.size {
        bail!(
            "the log has only {}, so it has none up to {below}; use a smaller index",
            count_noun(head.size, "entry")
        );
    }
    if below <= head.minimum {
        let mut errors = anstream::stderr().lock();
        writeln!(
            errors,
            "nothing to prune: entries are removed in steps of {WIDTH}, and the log begins at {}",
            head.minimum
        )?;
        return Ok(Exit::NotGood);
    }
    let youngest = store.entry(below - 1)?.map_or(head.last_ts, |entry| entry.leaf.micros());
    let age = (now - youngest) / DAY;
    if age < MIN_AGE_DAYS && !arguments.force {
        bail!(
            "entry {} is only {} old; entries younger than {MIN_AGE_DAYS} days are removed only with --force",
            below - 1,
            count_noun(age, "day")
        );
    }
    let what =
        format!("entries {} to {} will be removed with their content", head.minimum, below - 1);
    if !confirm(&what, arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    let mut progress = ProgressLine::new("entries removed");
    let pruned = store.prune(below, &mut |step| progress.add(step.removed, 0));
    progress.finish();
    let pruned = pruned?;
    if store.text_position()?.is_some() {
        store.update_text()?;
    }
    let is_gone = store.is_scrubbed()?;
    let (removed, by) = (pruned.removed, pruned.entry.index);
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "removed {} below {below}; entry {by} records it",
                count_noun(removed, "entry")
            )?;
        }
        OutputFormat::Json => {
            let value = json!({
                "below": below.to_string(), "removed": removed, "pruned_by": by.to_string(),
                "gone_from_files": is_gone,
            });
            writeln!(output, "{value}")?;
        }
    }
    if !is_gone {
        say(STILL_IN_FILES);
    }
    Ok(Exit::Good)
}

fn first_since(store: &Store, micros: i64) -> anyhow::Result<Option<u64>> {
    let page = store.entries(&EntryFilter::default().since(micros), None, 1)?;
    Ok(page.entries.first().map(|entry| entry.index))
}
