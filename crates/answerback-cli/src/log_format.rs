//! Formats log lines: as text, or as JSON for log collectors. Both have timestamps.

use std::fmt::{self, Debug};
use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::show::{Charset, sanitise};

/// The format of this process. It is set once, before logging starts.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// A line of text
    #[default]
    Text,
    /// A JSON object per line, with timestamp, level, target, message and fields
    Json,
}

/// The option of the commands that log.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LogOptions {
    /// The format of log lines on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

impl LogFormat {
    /// Sets the format of everything that this process writes to standard error from now on.
    pub(crate) fn set(self) {
        // A second call would set the same format.
        let _ = FORMAT.set(self);
    }

    /// Returns the format that was set.
    pub(crate) fn of_process() -> Self {
        FORMAT.get().copied().unwrap_or_default()
    }
}

/// Converts a message for people to a JSON log line. The prefix determines the level.
pub(crate) fn as_json(text: &str) -> String {
    let (level, message) = [("error: ", "ERROR"), ("warning: ", "WARN")]
        .iter()
        .find_map(|(word, level)| Some((*level, text.strip_prefix(word)?)))
        .unwrap_or(("INFO", text));
    line(level, "answerback", &sanitise(message, Charset::Unicode), Map::new())
}

fn line(level: &str, target: &str, message: &str, fields: Map<String, Value>) -> String {
    let mut written = json!({
        "timestamp": timestamp(),
        "level": level,
        "target": target,
        "message": message,
    });
    if !fields.is_empty() {
        written["fields"] = fields.into();
    }
    written.to_string()
}

/// Returns the time in the format of text logs.
fn timestamp() -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

/// Writes each event as a line with a JSON object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonEvents;

impl<S, N> FormatEvent<S, N> for JsonEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = LogFields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let LogFields { message, others } = fields;
        writeln!(writer, "{}", line(metadata.level().as_str(), metadata.target(), &message, others))
    }
}

/// The fields of an event, with the message separate.
#[derive(Debug, Default)]
struct LogFields {
    message: String,
    others: Map<String, Value>,
}

impl LogFields {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.others.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.add(field, Value::from(&*sanitise(&text, Charset::Unicode)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::from(&*sanitise(value, Charset::Unicode)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_a_log_line() {
        for (text, level, message) in [
            ("error: no such file", "ERROR", "no such file"),
            ("warning: old", "WARN", "old"),
            ("serving 2 servers", "INFO", "serving 2 servers"),
        ] {
            let read: Value = serde_json::from_str(&as_json(text)).unwrap();
            assert_eq!((&read["level"], &read["message"]), (&json!(level), &json!(message)));
            assert!(read["timestamp"].as_str().unwrap().ends_with('Z'), "{read}");
        }
    }
}
