use std::fmt::Write as _;
use std::io::Write as _;

use answerback::finding::secrets::{redact, redact_value};
use answerback_ledger::{LeafKind, Part};
use answerback_store::{EntryFilter, LedgerEntry, Store};
use anyhow::Context;
use serde_json::{Value, json};

use super::entry;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::{OutputFormat, number};
use crate::output::{ClosableOutput, push_line, sanitise};
use crate::plural::count_noun;

/// Show one entry with its content
///
/// Content is printed as JSON or text if possible. Secrets are masked unless --raw is given. Content never controls the
/// terminal. An erased part is listed with the entry that erased it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger show 42
  answerback ledger show 42 --part response --raw > reply.json

Exit codes: 0 shown, 2 there is no such entry.")]
pub(crate) struct Arguments {
    /// The entry's index
    #[arg(value_name = "INDEX", value_parser = number)]
    index: u64,

    /// Write only the exact bytes of this part; requires --raw
    #[arg(long, value_name = "NAME", requires = "raw")]
    part: Option<String>,

    /// Do not mask secrets
    #[arg(long)]
    raw: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let store = location.read()?;
    let Some(entry) = store.entry(arguments.index)? else {
        return Err(entry::missing(&store, arguments.index)?);
    };
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    if let Some(name) = &arguments.part {
        let part = entry.parts.iter().find(|part| part.name().as_str() == name);
        let part = part.with_context(|| format!("entry {} has no part {name}", entry.index))?;
        output.write_all(part.bytes())?;
        return Ok(Exit::Good);
    }
    let parts = parts(&store, &entry, arguments.raw)?;
    let text = match arguments.format {
        OutputFormat::Text => drawn(&entry, &parts),
        OutputFormat::Json => {
            let mut value = entry::value(&entry);
            value["parts"] = parts.iter().map(PartView::value).collect();
            let mut line = String::new();
            push_line(&mut line, &value)?;
            line
        }
    };
    output.write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

/// A part in the form in which it is shown.
struct PartView {
    name: String,
    length: u64,
    content: PartContent,
}

enum PartContent {
    Json(Value),
    Text(String),
    Bytes(String),
    /// The content is missing. Holds the entry that erased it and the basis, if there is one.
    Gone(Option<(u64, String)>),
}

impl PartView {
    fn value(&self) -> Value {
        let mut value = json!({"name": self.name, "len": self.length});
        match &self.content {
            PartContent::Json(json) => value["json"] = json.clone(),
            PartContent::Text(text) => value["text"] = text.as_str().into(),
            PartContent::Bytes(hex) => value["sha256"] = hex.as_str().into(),
            PartContent::Gone(None) => value["missing"] = true.into(),
            PartContent::Gone(Some((index, basis))) => {
                value["erased_by"] = index.to_string().into();
                value["basis"] = basis.as_str().into();
            }
        }
        value
    }
}

fn parts(store: &Store, entry: &LedgerEntry, raw: bool) -> anyhow::Result<Vec<PartView>> {
    let mut shown = Vec::new();
    for said in entry.leaf.commitments() {
        let kept = entry.parts.iter().find(|part| part.name().as_str() == said.name);
        let content = match kept {
            Some(part) => content(part, raw),
            None => PartContent::Gone(erasure(store, entry.index, &said.name)?),
        };
        shown.push(PartView { name: said.name, length: said.len, content });
    }
    Ok(shown)
}

fn content(part: &Part, raw: bool) -> PartContent {
    let bytes = part.bytes();
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_slice(bytes) {
        return PartContent::Json(if raw { value } else { redact_value(&value) });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if raw => PartContent::Text(text.to_owned()),
        Ok(text) => PartContent::Text(redact(text).into_owned()),
        Err(_) => PartContent::Bytes(answerback::Digest::of_bytes(bytes).to_string()),
    }
}

/// Returns the entry that erased a part, and the basis.
fn erasure(store: &Store, index: u64, part: &str) -> anyhow::Result<Option<(u64, String)>> {
    let filter = EntryFilter::default().with_kind(LeafKind::Erasure);
    let mut cursor = Some(index);
    loop {
        let page = store.entries(&filter, cursor, 1000)?;
        let found = page.entries.iter().find(|entry| {
            entry.leaf.index("target_index") == Some(index)
                && entry.leaf.text("target_part") == Some(part)
        });
        if let Some(entry) = found {
            let basis = entry.leaf.text("basis").unwrap_or_default().to_owned();
            return Ok(Some((entry.index, basis)));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Formats the entry for people. Every line is sanitized.
fn drawn(entry: &LedgerEntry, parts: &[PartView]) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(&sanitise(line));
        text.push('\n');
    };
    line(&format!("entry {}: {}", entry.index, entry.leaf.kind()));
    line(&format!("  {:<16} {}", "hash", entry.hash));
    for (name, value) in entry.leaf.members() {
        let shown = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !matches!(name.as_str(), "kind" | "parts" | "v") {
            line(&format!("  {name:<16} {shown}"));
        }
    }
    for part in parts {
        let mut heading = format!("part {}, {}", part.name, count_noun(part.length, "byte"));
        let body = match &part.content {
            PartContent::Json(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
            PartContent::Text(text) => text.clone(),
            PartContent::Bytes(hex) => {
                // Writing to a string cannot fail.
                let _ = write!(heading, ", not text, sha256 {hex}");
                String::new()
            }
            PartContent::Gone(Some((index, basis))) => {
                let _ = write!(heading, ": erased by entry {index} ({basis})");
                String::new()
            }
            PartContent::Gone(None) => {
                heading.push_str(": MISSING, and no entry records an erasure");
                String::new()
            }
        };
        line(&heading);
        body.lines().for_each(|text| line(&format!("  {text}")));
    }
    text
}
