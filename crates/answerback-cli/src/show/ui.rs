//! Draws a UI envelope.

use serde_json::{Map, Value};

use super::artifact::{artifact, others_of};
use super::banner::Banner;
use super::brief::{brief, is_blank, kind, list, rest, text};
use super::mission;
use super::moment::stamp;
use super::sheet::{Sheet, indented};
use super::signals;
use super::span::Line;
use super::style::{STRONG, Tone};
use super::tree::tree;
use crate::plural::count_noun_grouped;

const KNOWN: [&str; 9] = [
    "response_type",
    "summary",
    "artifacts",
    "missions_spawned",
    "signals_emitted",
    "live_stream_id",
    "ui_hints",
    "timestamp",
    "metadata",
];

/// Draws the envelope: its summary, artifacts, missions, signals and suggestions.
pub(crate) fn draw(sheet: Sheet, envelope: &Map<String, Value>) -> Vec<Line> {
    let empty = Map::new();
    let hints = envelope.get("ui_hints").and_then(Value::as_object).unwrap_or(&empty);
    let metadata = envelope.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    let is_error = metadata.get("error").is_some_and(|error| *error == Value::Bool(true));
    let mut banner = Banner::new(text(envelope, "summary").unwrap_or("(no summary)".into()));
    match text(hints, "color_scheme") {
        Some(word) => banner = banner.word(word),
        None if is_error => banner = banner.word("error"),
        None => {}
    }
    if let Some(priority) = text(hints, "priority").filter(|priority| priority != "normal") {
        banner = banner.word(priority);
    }
    if let Some(name) = text(envelope, "response_type") {
        banner = banner.about(name);
    }
    if let Some(time) = text(envelope, "timestamp") {
        banner = banner.about(stamp(&time));
    }
    let mut lines = banner.draw(sheet);
    lines.extend(clarification(sheet, metadata));
    if is_error {
        lines.extend(error(sheet, metadata));
    }
    lines.extend(members(sheet, envelope, "artifacts", |all| {
        all.iter()
            .flat_map(|one| {
                let mut lines = vec![Line::default()];
                lines.extend(artifact(sheet, one));
                lines
            })
            .collect()
    }));
    lines.extend(members(sheet, envelope, "missions_spawned", |all| {
        let mut lines = section(sheet, "Missions", &count_noun_grouped(all.len(), "mission"));
        for mission in all.iter().take(sheet.rows) {
            lines.extend(indented(mission::reference(sheet.narrower(2), mission), 2));
        }
        if all.len() > sheet.rows {
            lines.push(sheet.more(all.len() - sheet.rows, "mission"));
        }
        lines
    }));
    lines.extend(members(sheet, envelope, "signals_emitted", |all| {
        let mut lines = section(sheet, "Signals", &signals::size(all));
        lines.extend(indented(signals::signals(sheet.narrower(2), all), 2));
        lines
    }));
    lines.extend(closing(sheet, envelope, hints));
    let drawn: &[&str] = if is_error {
        &["clarification", "error", "error_message", "error_details"]
    } else {
        &["clarification"]
    };
    let metadata = rest(metadata, drawn);
    if !metadata.is_empty() {
        lines.extend(section(sheet, "Metadata", ""));
        lines.extend(indented(tree(sheet.narrower(2), &Value::Object(metadata)), 2));
    }
    lines.extend(others_of(sheet, rest(envelope, &KNOWN)));
    lines
}

/// Draws a list, or a note if the member is not a list.
fn members(
    sheet: Sheet,
    envelope: &Map<String, Value>,
    name: &str,
    draw: impl FnOnce(&[Value]) -> Vec<Line>,
) -> Vec<Line> {
    match envelope.get(name) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) if all.is_empty() => Vec::new(),
        Some(Value::Array(all)) => draw(all),
        Some(other) => {
            let mut lines = section(sheet, name, "");
            lines.extend(sheet.note(format!("expected a list, found {}", kind(other))));
            lines.extend(indented(tree(sheet.narrower(2), other), 2));
            lines
        }
    }
}

pub(crate) fn section(sheet: Sheet, title: &str, about: &str) -> Vec<Line> {
    vec![Line::default(), sheet.heading(title, about)]
}

/// Draws the question of a clarification request, with its options.
fn clarification(sheet: Sheet, metadata: &Map<String, Value>) -> Vec<Line> {
    let Some(asked) = metadata.get("clarification").and_then(Value::as_object) else {
        return Vec::new();
    };
    let inner = sheet.in_card();
    let question = asked.get("question").map_or_else(String::new, |question| brief(question, 2000));
    let mut body = inner.paragraph(&question, STRONG);
    for (index, option) in list(asked, "options").iter().take(sheet.rows).enumerate() {
        let mark = inner.dim(format!("{:>2}  ", index + 1));
        body.extend(inner.hanging(mark, Line::from(inner.plain(brief(option, 400)))));
    }
    let others = rest(asked, &["question", "options"]);
    if !others.is_empty() {
        body.push(Line::default());
        body.extend(tree(inner, &Value::Object(others)));
    }
    let style = Tone::Info.style();
    let title = Line::from(sheet.span("question", style));
    std::iter::once(Line::default()).chain(sheet.card(title, body, style)).collect()
}

fn error(sheet: Sheet, metadata: &Map<String, Value>) -> Vec<Line> {
    let inner = sheet.in_card();
    let message = metadata.get("error_message").map_or_else(String::new, |v| brief(v, 2000));
    let mut body = inner.paragraph(&message, STRONG);
    if let Some(details) = metadata.get("error_details").filter(|details| !is_blank(details)) {
        body.extend(tree(inner, details));
    }
    let style = Tone::Bad.style();
    let title = Line::from(sheet.span("✘ error", style));
    std::iter::once(Line::default()).chain(sheet.card(title, body, style)).collect()
}

/// Draws the hints and the live stream. Suggested actions are marked as the agent's.
fn closing(sheet: Sheet, envelope: &Map<String, Value>, hints: &Map<String, Value>) -> Vec<Line> {
    let mut fields = Vec::new();
    let actions = list(hints, "suggested_actions");
    if !actions.is_empty() {
        let words: Vec<String> =
            actions.iter().take(12).map(|action| format!("[{}]", brief(action, 40))).collect();
        let line = Line::from(sheet.strong(words.join(" ")));
        fields.push((sheet.dim("agent suggests"), line));
    }
    if let Some(stream) = envelope.get("live_stream_id").filter(|stream| !is_blank(stream)) {
        fields.push((sheet.dim("live stream"), sheet.plain(brief(stream, 120)).into()));
    }
    let others: Vec<String> = rest(hints, &["suggested_actions", "color_scheme"])
        .iter()
        .map(|(name, value)| format!("{} {}", brief(&name.as_str().into(), 40), brief(value, 40)))
        .take(12)
        .collect();
    if !others.is_empty() {
        fields.push((sheet.dim("hints"), sheet.dim(others.join(" · ")).into()));
    }
    if let Some(odd) =
        envelope.get("ui_hints").filter(|hints| !hints.is_null() && !hints.is_object())
    {
        fields.push((sheet.dim("hints"), sheet.dim(brief(odd, 80)).into()));
    }
    if fields.is_empty() {
        return Vec::new();
    }
    std::iter::once(Line::default()).chain(sheet.fields(fields)).collect()
}
