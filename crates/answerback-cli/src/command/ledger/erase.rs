use std::io::Write;

use answerback_ledger::LeafToken;
use answerback_ledger::leaf::Basis;
use anyhow::bail;
use clap::ValueEnum;
use serde_json::json;

use super::confirm::confirm;
use super::entry;
use super::location::Location;
use crate::exit::Exit;
use crate::options::{OutputFormat, number};
use crate::output::{Leavable, say};
use crate::plural::counted;

/// Erase a part of an entry for good; every proof stays valid
///
/// The part's bytes and salt are removed from the store's files, with what came from the entry in events, cases and retry
/// states, and an entry says that they were, and why. While something reads the store as it was before, the files keep
/// the content; the command says so. Exports and backups that were made before are not reached.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger erase 42 response --basis request
  answerback ledger erase 42 as_seen --basis secret --yes

Exit codes: 0 erased, 1 not erased because the answer was no, 2 there is no such part.")]
pub(crate) struct Arguments {
    /// The entry's index
    #[arg(value_name = "INDEX", value_parser = number)]
    index: u64,

    /// The part's name, as `answerback ledger show` has it
    #[arg(value_name = "PART", value_parser = token)]
    part: LeafToken,

    /// Why
    #[arg(long, value_enum)]
    basis: BasisName,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum BasisName {
    /// Somebody whose data it is asked for it
    Request,
    /// It was kept long enough
    Retention,
    /// A law or a court demands it
    Legal,
    /// It holds a secret that should not have come in
    Secret,
}

impl From<BasisName> for Basis {
    fn from(name: BasisName) -> Self {
        match name {
            BasisName::Request => Self::Request,
            BasisName::Retention => Self::Retention,
            BasisName::Legal => Self::Legal,
            BasisName::Secret => Self::Secret,
        }
    }
}

fn token(text: &str) -> Result<LeafToken, String> {
    LeafToken::new(text).map_err(|error| error.to_string())
}

/// The note that the content is still in the store's files.
pub(super) const STILL_READ: &str = "\
the files still hold the content, because something reads the store as it was before, such as an export or a \
verification. When that has ended, whatever writes to the store next removes it: a gateway or a server that runs does \
so within a minute, or else the next command that writes";

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    let Arguments { index, part, .. } = arguments;
    let store = location.write()?;
    let Some(entry) = store.entry(*index)? else {
        return Err(entry::missing(&store, *index)?);
    };
    let Some(held) = entry.parts.iter().find(|held| held.name() == part) else {
        let names: Vec<&str> = entry.parts.iter().map(|held| held.name().as_str()).collect();
        let names = if names.is_empty() { "none any more".to_owned() } else { names.join(", ") };
        bail!("entry {index} has no part {part}, or it was erased before; it has {names}")
    };
    let what = format!(
        "part {part} of entry {index} ({}) will be erased",
        counted(held.bytes().len(), "byte")
    );
    if !confirm(&what, arguments.yes)? {
        return Ok(Exit::NotGood);
    }
    drop(entry);
    let erased = store.erase(*index, part.clone(), arguments.basis.into())?.wait()?.value;
    if store.text_position()?.is_some() {
        store.update_text()?;
    }
    let (by, is_gone) = (erased.entry.index, store.is_scrubbed()?);
    let mut output = Leavable::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(output, "erased part {part} of entry {index}; entry {by} says so")?;
        }
        OutputFormat::Json => {
            let value = json!({
                "index": index.to_string(), "part": part.as_str(), "erased_by": by.to_string(),
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
