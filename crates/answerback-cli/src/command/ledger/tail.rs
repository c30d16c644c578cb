use std::thread;
use std::time::{Duration, Instant};

use answerback_store::EntryFilter;

use super::entry;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::ClosableOutput;

/// The interval between two polls.
const PAUSE: Duration = Duration::from_millis(500);

/// The number of entries that are printed at a time.
const PAGE: usize = 500;

/// Print the newest entries, and follow new ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger tail
  answerback ledger tail -n 100 --format json | jq .leaf.kind
  answerback ledger tail --follow")]
pub(crate) struct Arguments {
    /// The number of entries
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(..=10_000))]
    lines: u16,

    /// Print new entries as they are recorded; polls twice a second
    #[arg(short, long)]
    follow: bool,

    /// Stop following after this many seconds
    #[arg(long = "for", value_name = "SECONDS", requires = "follow")]
    seconds: Option<u32>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let store = location.read()?;
    // Entries that are recorded while the newest are read are printed afterwards.
    let mut newest = store.head()?.size.checked_sub(1);
    let limit = usize::from(arguments.lines);
    let end = newest.map(|newest| newest + 1);
    let page = store.entries(&EntryFilter::default().newest_first(), end, limit)?;
    let mut entries = page.entries;
    entries.reverse();
    let mut output = ClosableOutput::new(std::io::stdout());
    entry::print(&mut output, &entries, arguments.format)?;
    if !arguments.follow {
        return Ok(Exit::Good);
    }
    let seconds = arguments.seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let end = seconds.and_then(|span| Instant::now().checked_add(span));
    while !output.is_closed() {
        let page = store.entries(&EntryFilter::default(), newest, PAGE)?;
        if let Some(last) = page.entries.last() {
            newest = Some(last.index);
            entry::print(&mut output, &page.entries, arguments.format)?;
        } else if end.is_some_and(|end| Instant::now() >= end) {
            break;
        } else {
            thread::sleep(PAUSE);
        }
    }
    Ok(Exit::Good)
}
