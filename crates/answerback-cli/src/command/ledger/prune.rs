use std::io::Write;

use answerback_ledger::tile::WIDTH;
use answerback_store::{EntryFilter, Store};
use anyhow::bail;
use serde_json::json;

use super::confirm::confirm;
use super::erase::STILL_READ;
use super::location::Location;
use super::moment::{DAY, micros, span};
use crate::exit::Exit;
use crate::options::{OutputFormat, number};
use crate::output::{Leavable, say};
use crate::plural::counted;
use crate::progress::ProgressLine;
use answerback_store::system::now;

/// The days for which entries are stored unless --force is given. The EU's AI Act requires at least this for logs.
const KEPT_DAYS: i64 = 183;

/// Remove old entries; every proof about the rest stays valid
///
/// Entries go in steps of 256, so some more may stay. Hashes and checkpoints stay, and an entry says what went: one for
/// each 4,096 that go, so that others can write in between and it can be interrupted; the same command goes on then.
/// Export first what has to be kept elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger prune --older-than 400d
  answerback ledger prune --below 100000 --yes

What is younger than 183 days goes only with --force.
Exit codes: 0 pruned, 1 nothing was old enough or the answer was no, 2 it was refused or could not be done.")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["below", "older_than"]))]
pub(crate) struct Arguments {
    /// Remove the entries below this index
    #[arg(long, value_name = "INDEX", value_parser = number)]
    below: Option<u64>,

    /// Remove the entries that are older than this: a number with s, m, h, d or w
    #[arg(long, value_name = "SPAN", value_parser = span)]
    older_than: Option<i64>,

    /// Remove entries that are younger than 183 days, too
    #[arg(long)]
    force: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
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
        bail!("the log has {}: it has none below {below} to prune", counted(head.size, "entry"));
    }
    if below <= head.minimum {
        let mut errors = anstream::stderr().lock();
        writeln!(
            errors,
            "nothing to prune: entries go in steps of {WIDTH}, and the log begins at {}",
            head.minimum
        )?;
        return Ok(Exit::NotGood);
    }
    let youngest = store.entry(below - 1)?.map_or(head.last_ts, |entry| entry.leaf.micros());
    let age = (now - youngest) / DAY;
    if age < KEPT_DAYS && !arguments.force {
        bail!(
            "entry {} is {} old; what is younger than {KEPT_DAYS} days goes only with --force",
            below - 1,
            counted(age, "day")
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
    let mut output = Leavable::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(
                output,
                "removed {} below {below}; entry {by} says so",
                counted(removed, "entry")
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
        say(STILL_READ);
    }
    Ok(Exit::Good)
}

fn first_since(store: &Store, micros: i64) -> anyhow::Result<Option<u64>> {
    let page = store.entries(&EntryFilter::default().since(micros), None, 1)?;
    Ok(page.entries.first().map(|entry| entry.index))
}
