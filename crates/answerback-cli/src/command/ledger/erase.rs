use std::io::Write;

use answerback_ledger::LeafToken;
use answerback_ledger::leaf::Basis;
use anyhow::bail;
use clap::ValueEnum;
use serde_json::json;

use super::confirm::confirm;
use super::entry;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::{OutputFormat, number};
use crate::output::{ClosableOutput, say};
use crate::plural::count_noun;

/// Erase a part of an entry for good; every proof stays valid
///
/// The part's bytes and salt are removed from the store's files, together with copies in events, cases and retry states. A
/// new entry records the erasure and its basis. While another process reads an older state of the store, the files still
/// contain the content; the command then prints a note. Earlier exports and backups are not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger erase 42 response --basis request
  answerback ledger erase 42 as_seen --basis secret --yes

Exit codes: 0 erased, 1 not confirmed, 2 there is no such part.")]
pub(crate) struct Arguments {
    /// The entry's index
    #[arg(value_name = "INDEX", value_parser = number)]
    index: u64,

    /// The part's name, as `answerback ledger show` prints it
    #[arg(value_name = "PART", value_parser = token)]
    part: LeafToken,

    /// The basis of the erasure
    #[arg(long, value_enum)]
    basis: BasisName,

    /// Skip the confirmation
    #[arg(long)]
    yes: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum BasisName {
    /// The person concerned requested it
    Request,
    /// The retention time is over
    Retention,
    /// A law or a court requires it
    Legal,
    /// The part contains a secret
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
pub(super) const STILL_IN_FILES: &str = "\
the files still contain the content, because another process reads an older state of the store, such as an export or a \
verification. After that, the next write removes it: a running gateway or server writes within a minute; otherwise run \
a command that writes";

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let Arguments { index, part, .. } = arguments;
    let store = location.write()?;
    let Some(entry) = store.entry(*index)? else {
        return Err(entry::missing(&store, *index)?);
    };
    let Some(held) = entry.parts.iter().find(|held| held.name() == part) else {
        let names: Vec<&str> = entry.parts.iter().map(|held| held.name().as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        bail!(
            "entry {index} has no part {part}, or the part was erased before; its parts are {names}"
        )
    };
    let what = format!(
        "part {part} of entry {index} ({}) will be erased",
        count_noun(held.bytes().len(), "byte")
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
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    match arguments.format {
        OutputFormat::Text => {
            writeln!(output, "erased part {part} of entry {index}; entry {by} records it")?;
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
        say(STILL_IN_FILES);
    }
    Ok(Exit::Good)
}
