use std::io::Write;

use answerback_ledger::{LeafId, LeafKind};
use answerback_store::EntryFilter;
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use super::entry;
use super::moment::{micros, moment};
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::{OutputFormat, number};
use crate::output::{ClosableOutput, say};
use answerback_store::system::now;

/// Find entries: by agent, tool, outcome, kind, time, id, or words of their content
///
/// An entry must match all options. Words are looked up in an index next to the store, which is updated first; the
/// index can be deleted at any time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger search --tool weather.now --outcome error --since 24h
  answerback ledger search --request 550e8400-e29b-41d4-a716-446655440000
  answerback ledger search --text \"refund limit\" --newest-first

Exit codes: 0 entries were found, 1 none were found, 2 the search failed.")]
pub(crate) struct Arguments {
    /// The agent's id
    #[arg(long, value_name = "ID")]
    agent: Option<String>,

    /// The tool's name
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// The outcome, such as ok, error or refused
    #[arg(long, value_name = "WORD")]
    outcome: Option<String>,

    /// The kind of entry
    #[arg(long, value_name = "KIND", value_parser = kind())]
    kind: Option<LeafKind>,

    /// From this time on: a date, a time, or how long ago (24h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// A request's id; finds the request and its responses
    #[arg(long, value_name = "UUID", value_parser = id)]
    request: Option<LeafId>,

    /// A response's id
    #[arg(long, value_name = "UUID", value_parser = id)]
    response: Option<LeafId>,

    /// Words that must all occur in the content
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,

    /// The newest first
    #[arg(long)]
    newest_first: bool,

    /// The number of entries
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,

    /// Continue where the previous page ended
    #[arg(long, value_name = "INDEX", value_parser = number)]
    cursor: Option<u64>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

fn kind() -> impl TypedValueParser<Value = LeafKind> {
    PossibleValuesParser::new(LeafKind::ALL.iter().map(|kind| kind.as_str()))
        .try_map(|word| word.parse::<LeafKind>())
}

fn id(text: &str) -> Result<LeafId, String> {
    LeafId::parse(text).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let filter = arguments.filter()?;
    let store = location.read()?;
    if arguments.text.is_some() {
        store.update_text().context("the full-text index cannot be updated")?;
    }
    let mut page = store.entries(&filter, arguments.cursor, usize::from(arguments.limit))?;
    // A page may be empty and still have a next one, because a full-text search examines a limited number of entries
    // per page.
    while let (true, Some(next)) = (page.entries.is_empty(), page.next) {
        page = store.entries(&filter, Some(next), usize::from(arguments.limit))?;
    }
    let mut output = ClosableOutput::new(std::io::stdout());
    entry::print(&mut output, &page.entries, arguments.format)?;
    if page.entries.is_empty() && arguments.format == OutputFormat::Text {
        say("no entries were found");
    }
    if let Some(next) = page.next {
        match arguments.format {
            OutputFormat::Text => {
                say(&format!("there are more entries; continue with --cursor {next}"));
            }
            OutputFormat::Json => writeln!(output, "{}", json!({"next": next.to_string()}))?,
        }
    }
    Ok(if page.entries.is_empty() { Exit::NotGood } else { Exit::Good })
}

impl Arguments {
    fn filter(&self) -> anyhow::Result<EntryFilter> {
        let now = micros(now())?;
        let mut filter = EntryFilter::default();
        if let Some(agent) = &self.agent {
            filter = filter.with_agent(agent);
        }
        if let Some(tool) = &self.tool {
            filter = filter.with_tool(tool);
        }
        if let Some(outcome) = &self.outcome {
            filter = filter.with_outcome(outcome);
        }
        if let Some(kind) = self.kind {
            filter = filter.with_kind(kind);
        }
        if let Some(since) = &self.since {
            filter = filter.since(moment(since, now).context("--since")?);
        }
        if let Some(until) = &self.until {
            filter = filter.until(moment(until, now).context("--until")?);
        }
        if let Some(request) = self.request {
            filter = filter.with_request_id(request);
        }
        if let Some(response) = self.response {
            filter = filter.with_response_id(response);
        }
        if let Some(text) = &self.text {
            filter = filter.with_text(text);
        }
        Ok(if self.newest_first { filter.newest_first() } else { filter })
    }
}
