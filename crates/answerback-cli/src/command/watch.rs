//! `answerback watch`: follows a live stream on the terminal.

use std::io::Write as _;
use std::time::Duration;

use answerback::contract::Contract;
use answerback_store::{OWN_STREAMS, Store, StoredEvent, StreamFilter};
use answerback_web::stream::{EventDocument, StreamReply};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::command::show;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::{OutputFormat, number};
use crate::output::{ClosableOutput, push_line, sanitise, say};
use crate::plural::noun;

/// The interval between two polls of the store.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The number of events that are read at a time.
const PAGE: usize = 500;
/// The largest number of streams in the list.
const MAX_COUNT: usize = 50;
/// The longest text of an event in a line, in characters.
const MAX_LENGTH: usize = 200;

/// Watch what an agent publishes to a live stream, until the stream ends
///
/// Each event is one line. At the end, the reply that the events build is drawn as by `answerback show`. Without a name,
/// the streams are listed, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback watch
  answerback watch berth-watch
  answerback watch berth-watch --after 120 --format json
  answerback watch berth-watch --no-follow

If the stream does not exist yet, the command waits for it. Exit codes: 0 the stream ended or was read to its present
end, 2 there is no such stream (with --no-follow).")]
pub(crate) struct Arguments {
    /// The stream's name
    #[arg(value_name = "STREAM")]
    stream: Option<String>,

    /// Only events after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = number)]
    after: u64,

    /// Stop at the newest event instead of waiting for more
    #[arg(long)]
    no_follow: bool,

    /// The output format: lines of text, or one JSON document per event
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    location: LedgerLocation,
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
    let mut reply = StreamReply::default();
    let mut after = arguments.after;
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    loop {
        let page = store.events(after, Some(stream), PAGE)?;
        if let Some(gap) = page.gap.filter(|_| after > 0) {
            say(&format!("events {} to {} are no longer stored", gap.from, gap.to));
        }
        let mut is_over = false;
        for event in &page.events {
            let document = EventDocument::from(event);
            reply.push(&document);
            let line = match arguments.format {
                OutputFormat::Json => {
                    let mut line = String::new();
                    push_line(&mut line, &document)?;
                    line
                }
                OutputFormat::Text => format!("{}\n", event_line(&document)),
            };
            output.write_all(line.as_bytes())?;
            is_over |= event.kind == StoredEvent::END;
        }
        output.flush()?;
        if output.is_closed() {
            return Ok(Exit::Good);
        }
        after = page.after.max(after);
        if is_over || (arguments.no_follow && page.events.len() < PAGE) {
            break;
        }
        if page.events.len() < PAGE {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    drop(output);
    if let (Some(envelope), OutputFormat::Text) = (&reply.envelope, arguments.format) {
        say("");
        show::draw(Contract::Ui, envelope)?;
    }
    Ok(Exit::Good)
}

fn list(store: &Store, format: OutputFormat) -> anyhow::Result<Exit> {
    let streams = store
        .streams(StreamFilter::default().without(OWN_STREAMS), MAX_COUNT)
        .context("the streams cannot be read")?;
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    for stream in &streams {
        let state = if stream.is_ended { "ended" } else { "open" };
        match format {
            OutputFormat::Json => {
                let mut line = String::new();
                let line_json = serde_json::json!({"id": stream.name, "events": stream.events, "ended": stream.is_ended});
                push_line(&mut line, &line_json)?;
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
            "no stream has been published; agents publish with POST /api/streams/NAME/events or the tool stream_publish",
        );
    }
    Ok(Exit::Good)
}

/// Formats an event in one line: time, kind, and the most important part of its content.
fn event_line(event: &EventDocument) -> String {
    let time = event.time.get(11..19).unwrap_or_default();
    let body = event.body.as_ref().unwrap_or(&Value::Null);
    let content = match event.kind.as_str() {
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
    let content = content.unwrap_or_else(|| body.to_string());
    let content: String = content.chars().take(MAX_LENGTH).collect();
    format!("{time}  {:>6}  {:<9} {}", event.seq, sanitise(&event.kind), sanitise(&content))
}
