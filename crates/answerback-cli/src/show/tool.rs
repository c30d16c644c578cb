//! Draws a tool envelope.

use serde_json::{Map, Value};

use super::artifact::others_of;
use super::banner::Banner;
use super::brief::{brief, is_blank, kind, rest, text};
use super::moment::{span, stamp};
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::{KEY, PLAIN, Tone};
use super::tree::tree;
use super::ui::section;
use super::width::beginning;
use crate::plural::count_noun_grouped;

const KNOWN: [&str; 11] = [
    "schema_id",
    "tool",
    "version",
    "status",
    "summary",
    "data",
    "warnings",
    "errors",
    "audit",
    "intent",
    "actions",
];

/// Draws the envelope: errors and warnings, the data, the next steps, and the audit.
pub(crate) fn draw(sheet: Sheet, envelope: &Map<String, Value>) -> Vec<Line> {
    let empty = Map::new();
    let audit = envelope.get("audit").and_then(Value::as_object).unwrap_or(&empty);
    let mut banner = Banner::new(text(envelope, "summary").unwrap_or("(no summary)".into()))
        .word(text(envelope, "status").unwrap_or("no status".into()));
    let name = text(envelope, "tool").unwrap_or("(no tool)".into());
    let name = match text(envelope, "version") {
        Some(version) => format!("{} {}", beginning(&name, 80).0, beginning(&version, 30).0),
        None => name.into_owned(),
    };
    banner = banner.about(name);
    if let Some(time) = text(audit, "timestamp") {
        banner = banner.about(stamp(&time));
    }
    if let Some(millis) = audit.get("duration_ms").and_then(Value::as_u64) {
        banner = banner.about(span(i128::from(millis) * 1_000_000));
    }
    let mut lines = banner.draw(sheet);
    lines.extend(troubles(sheet, envelope, "errors", "error", Tone::Bad));
    lines.extend(troubles(sheet, envelope, "warnings", "warning", Tone::Warning));
    if let Some(data) = envelope.get("data").filter(|data| !is_blank(data)) {
        lines.extend(section(sheet, "Data", ""));
        lines.extend(indented(tree(sheet.narrower(2), data), 2));
    }
    lines.extend(next(sheet, envelope));
    let others = rest(audit, &["timestamp", "duration_ms"]);
    if !others.is_empty() {
        lines.extend(section(sheet, "Audit", ""));
        let fields = others
            .iter()
            .take(20)
            .map(|(name, value)| {
                let name = sheet.span(beginning(&name.replace('_', " "), 40).0, KEY);
                (name, Line::from(sheet.plain(brief(value, 300))))
            })
            .collect();
        lines.extend(indented(sheet.narrower(2).fields(fields), 2));
    }
    if let Some(odd) = envelope.get("audit").filter(|audit| !audit.is_object() && !is_blank(audit))
    {
        lines.extend(section(sheet, "Audit", ""));
        lines.extend(indented(tree(sheet.narrower(2), odd), 2));
    }
    lines.extend(others_of(sheet, rest(envelope, &KNOWN)));
    lines
}

/// Draws errors or warnings, each as a card.
fn troubles(
    sheet: Sheet,
    envelope: &Map<String, Value>,
    name: &str,
    singular: &str,
    tone: Tone,
) -> Vec<Line> {
    let all = match envelope.get(name) {
        Some(Value::Array(all)) => all,
        Some(odd) if !is_blank(odd) => {
            let mut lines = section(sheet, name, "");
            lines.extend(sheet.note(format!("expected a list, found {}", kind(odd))));
            lines.extend(indented(tree(sheet.narrower(2), odd), 2));
            return lines;
        }
        _ => return Vec::new(),
    };
    let mut lines = Vec::new();
    for trouble in all.iter().take(sheet.rows) {
        lines.push(Line::default());
        lines.extend(card(sheet, trouble, singular, tone));
    }
    if all.len() > sheet.rows {
        lines.push(sheet.more(all.len() - sheet.rows, singular));
    }
    lines
}

fn card(sheet: Sheet, trouble: &Value, singular: &str, tone: Tone) -> Vec<Line> {
    let inner = sheet.in_card();
    let empty = Map::new();
    let members = trouble.as_object().unwrap_or(&empty);
    let code = text(members, "code")
        .map_or_else(String::new, |code| format!(" {}", beginning(&code, 80).0));
    let title = Line::from(sheet.span(format!("{} {singular}{code}", tone.sign()), tone.style()));
    let message = match trouble {
        Value::Object(_) => {
            members.get("message").map_or_else(|| "(no message)".into(), |v| brief(v, 2000))
        }
        other => brief(other, 2000),
    };
    let mut body = inner.paragraph(&message, PLAIN);
    if let Some(path) = members.get("path").filter(|path| !is_blank(path)) {
        let path = Line::from(inner.plain(brief(path, 400)));
        body.extend(inner.fields(vec![(inner.dim("path"), path)]));
    }
    let details = members.get("details").filter(|details| !is_blank(details));
    if let Some(details) = details {
        body.extend(tree(inner, details));
    }
    let others = rest(members, &["code", "message", "path", "details"]);
    if !others.is_empty() {
        body.extend(tree(inner, &Value::Object(others)));
    }
    sheet.card(title, body, tone.style())
}

/// Draws the suggested next steps.
fn next(sheet: Sheet, envelope: &Map<String, Value>) -> Vec<Line> {
    let inner = sheet.narrower(2);
    let mut body = Vec::new();
    let mut count = 0;
    if let Some(intent) = envelope.get("intent").and_then(Value::as_object) {
        count += 1;
        body.extend(suggestion(inner, intent, "recommended_next", &["recommended_next"]));
    }
    match envelope.get("actions") {
        Some(Value::Array(actions)) => {
            count += actions.len();
            for action in actions.iter().take(sheet.rows) {
                match action.as_object() {
                    Some(members) => {
                        body.extend(suggestion(
                            inner,
                            members,
                            "label",
                            &["id", "type", "label", "tool"],
                        ));
                    }
                    None => {
                        body.extend(inner.note(format!("not an action: {}", brief(action, 80))));
                    }
                }
            }
        }
        Some(odd) if !is_blank(odd) => body.extend(tree(inner, odd)),
        _ => {}
    }
    if body.is_empty() {
        return Vec::new();
    }
    let mut lines = section(sheet, "Next", &count_noun_grouped(count, "suggestion"));
    lines.extend(indented(body, 2));
    lines
}

fn suggestion(
    sheet: Sheet,
    members: &Map<String, Value>,
    label: &str,
    known: &[&str],
) -> Vec<Line> {
    let title = members.get(label).map_or_else(|| "(no name)".to_owned(), |v| brief(v, 200));
    let mut line = Line::from(sheet.strong(title));
    if let Some(tool) = members.get("tool").filter(|tool| !is_blank(tool)) {
        line.push(sheet.dim(format!("  {}", brief(tool, 80))));
    }
    let kind = text(members, "type").filter(|kind| kind != "suggestion");
    for about in [kind, text(members, "id")].into_iter().flatten() {
        line.push(sheet.dim(format!(" · {}", beginning(&about, 60).0)));
    }
    let mut lines = sheet.hanging(sheet.span("→ ", Tone::Info.style()), line);
    if let Some(reason) = members.get("reason").filter(|reason| !is_blank(reason)) {
        let reason = Line::from(sheet.plain(brief(reason, 600)));
        lines.extend(indented(reason.wrapped(sheet.prose().width.saturating_sub(2)), 2));
    }
    let others = rest(members, &[known, &["reason"]].concat());
    if !others.is_empty() {
        lines.extend(indented(tree(sheet.narrower(2), &Value::Object(others)), 2));
    }
    lines
}
