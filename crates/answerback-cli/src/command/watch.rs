//! `answerback watch`: follows a live stream on the terminal.

use std::io::Write as _;
use std::time::Duration;

use answerback::contract::Contract;
use answerback_console::stream::{EventDocument, Folded};
use answerback_store::{OWN_STREAMS, Store, StoredEvent, StreamFilter};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::command::ledger::location::Location;
use crate::command::show;
use crate::exit::Exit;
use crate::options::{OutputFormat, number};
use crate::output::{Leavable, push_line, sanitise, say};
use crate::plural::noun;

/// The interval between two polls of the store.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The number of events that are read at a time.
const PAGE: usize = 500;
/// The largest number of streams in the list.
const MOST: usize = 50;
/// The longest text of an event in a line, in characters.
const LONGEST: usize = 200;

/// Watch what an agent publishes to a live stream, until the stream ends
///
/// Without a name the streams are listed, the newest first. A line an event; at the end the reply that the events made is
/// drawn as `answerback show` draws it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback watch
  answerback watch berth-watch
  answerback watch berth-watch --after 120 --format json
  answerback watch berth-watch --no-follow

A stream that is not there yet is waited for. Exit codes: 0 the stream ended or was read to its present end, 2 with
--no-follow, when there is no such stream.")]
pub(crate) struct Arguments {
    /// The stream's name
    #[arg(value_name = "STREAM")]
    stream: Option<String>,

    /// Only events behind this number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = number)]
    after: u64,

    /// Stop at the newest event instead of waiting for more
    #[arg(long)]
    no_follow: bool,

    /// Lines for people, or one JSON document an event
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    location: Location,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = arguments.location.read()?;
    let Some(stream) = &arguments.stream else { return list(&store, arguments.format) };
    let is_there = !store.events(0, Some(stream), 1)?.events.is_empty();
    if !is_there && arguments.no_follow {
        bail!("there is no stream {stream:?}; `answerback watch` lists them");
    }
    if !is_there {
        say(&format!("waiting for the first event of {stream}"));
    }
    let mut folded = Folded::default();
    let mut after = arguments.after;
    let mut output = Leavable::new(std::io::stdout().lock());
    loop {
        let page = store.events(after, Some(stream), PAGE)?;
        if let Some(gap) = page.gap.filter(|_| after > 0) {
            say(&format!("events {} to {} are no longer kept", gap.from, gap.to));
        }
        let mut is_over = false;
        for event in &page.events {
            let document = EventDocument::from(event);
            folded.push(&document);
            let line = match arguments.format {
                OutputFormat::Json => {
                    let mut line = String::new();
                    push_line(&mut line, &document)?;
                    line
                }
                OutputFormat::Text => format!("{}\n", told(&document)),
            };
            output.write_all(line.as_bytes())?;
            is_over |= event.kind == StoredEvent::END;
        }
        output.flush()?;
        if output.is_left() {
            return Ok(Exit::Good);
        }
        after = page.after.max(after);
        if is_over || (arguments.no_follow && page.events.len() < PAGE) {
            break;
        }
        if page.events.len() < PAGE {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    drop(output);
    if let (Some(envelope), OutputFormat::Text) = (&folded.envelope, arguments.format) {
        say("");
        show::draw(Contract::Ui, envelope)?;
    }
    Ok(Exit::Good)
}

fn list(store: &Store, format: OutputFormat) -> anyhow::Result<Exit> {
    let streams = store
        .streams(StreamFilter::default().without(OWN_STREAMS), MOST)
        .context("the streams cannot be read")?;
    let mut output = Leavable::new(std::io::stdout().lock());
    for stream in &streams {
        let state = if stream.is_ended { "ended" } else { "open" };
        match format {
            OutputFormat::Json => {
                let mut line = String::new();
                let told = serde_json::json!({"id": stream.name, "events": stream.events, "ended": stream.is_ended});
                push_line(&mut line, &told)?;
                output.write_all(line.as_bytes())?;
            }
            OutputFormat::Text => {
                let (count, name) = (stream.events, sanitise(&stream.name));
                writeln!(output, "{state:<6} {count:>8} {:<6}  {name}", noun(count, "event"))?;
            }
        }
    }
    if streams.is_empty() {
        say(
            "no stream has been published; agents do so with POST /api/streams/NAME/events or the tool stream_publish",
        );
    }
    Ok(Exit::Good)
}

/// Formats an event in one line: time, kind, and the most important part of its content.
fn told(event: &EventDocument) -> String {
    let time = event.time.get(11..19).unwrap_or_default();
    let body = event.body.as_ref().unwrap_or(&Value::Null);
    let said = match event.kind.as_str() {
        "envelope" => body["summary"].as_str().map(ToOwned::to_owned),
        "note" | "text" => body["text"].as_str().map(ToOwned::to_owned),
        "events" => body["events"][0]["event"].as_str().map(ToOwned::to_owned),
        "rows" => body["rows"][0].as_array().map(|row| {
            let cell =
                |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), ToOwned::to_owned);
            row.iter().map(cell).collect::<Vec<_>>().join("  ")
        }),
        "signal" => body["signal_type"].as_str().map(ToOwned::to_owned),
        "outcome" => body["outcome"].as_str().map(ToOwned::to_owned),
        _ => None,
    };
    let said = said.unwrap_or_else(|| body.to_string());
    let said: String = said.chars().take(LONGEST).collect();
    format!("{time}  {:>6}  {:<9} {}", event.seq, sanitise(&event.kind), sanitise(&said))
}
