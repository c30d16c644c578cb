//! Draws one artifact of a UI envelope, of any kind, even if it is invalid.

use serde_json::{Map, Value};

use super::brief::{brief, is_blank, kind, list, rest};
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::tree::tree;
use super::{chart, code, document, mission, signals, table, timeline};
use crate::plural::{grouped, noun};

/// The members of an artifact.
const KNOWN: [&str; 4] = ["artifact_type", "title", "content", "metadata"];

/// Draws an artifact under its heading. Parts that its kind does not define are drawn as a tree.
pub(crate) fn artifact(sheet: Sheet, artifact: &Value) -> Vec<Line> {
    let Some(members) = artifact.as_object() else {
        let mut lines = vec![sheet.heading("(not an artifact)", "")];
        lines.extend(sheet.note(format!("expected an object, found {}", kind(artifact))));
        lines.extend(indented(tree(sheet.narrower(2), artifact), 2));
        return lines;
    };
    let kind = members.get("artifact_type").map_or_else(String::new, |kind| brief(kind, 40));
    let title = members.get("title").map_or_else(|| "(no title)".to_owned(), |v| brief(v, 200));
    let content = members.get("content").unwrap_or(&Value::Null);
    let inner = sheet.narrower(2);
    let metadata = members.get("metadata").and_then(Value::as_object);
    let empty = Map::new();
    let fields = content.as_object().unwrap_or(&empty);
    let (size, known, drawn) = match kind.as_str() {
        "table" => (
            table::size(fields),
            &["columns", "rows", "row_count", "column_count"][..],
            table::artifact(inner, fields),
        ),
        "chart" => (
            chart::size(fields),
            &["chart_type", "data", "options", "unit", "x_label", "y_label"][..],
            chart::artifact(inner, fields),
        ),
        "document" => (
            document::size(fields),
            &["format", "sections", "section_count"][..],
            document::artifact(inner, fields),
        ),
        "code_block" => (
            code::size(fields),
            &["code", "language", "line_count"][..],
            code::artifact(inner, fields),
        ),
        "timeline" => (
            timeline::size(fields),
            &["events", "event_count", "start_time", "end_time"][..],
            timeline::artifact(inner, fields),
        ),
        "file_reference" => {
            (String::new(), &["file_path", "file_type", "size_bytes"][..], file(inner, fields))
        }
        "mission_draft" => (
            String::new(),
            &[][..],
            content.as_object().map(|mission| mission::draft(inner, mission, metadata)),
        ),
        "signal_batch" => batch(inner, content),
        _ => (String::new(), &[][..], None),
    };
    let about = if size.is_empty() { kind.clone() } else { format!("{kind} · {size}") };
    let mut lines = vec![sheet.heading(&title, &about)];
    let is_free = matches!(kind.as_str(), "json_data" | "mission_draft");
    if let Some(body) = drawn {
        lines.extend(indented(body, 2));
        let others = if is_free { Map::new() } else { rest(fields, known) };
        lines.extend(others_of(sheet, others));
    } else {
        if let Some(note) = why_a_tree(&kind, content) {
            lines.extend(indented(inner.note(note), 2));
        }
        if !content.is_null() {
            lines.extend(indented(tree(inner, content), 2));
        }
    }
    let metadata = match members.get("metadata") {
        // The card of a draft shows this member already.
        Some(Value::Object(all)) if kind == "mission_draft" => {
            Value::Object(rest(all, &["awaiting_approval"]))
        }
        Some(other) => other.clone(),
        None => Value::Null,
    };
    if !is_blank(&metadata) {
        lines.push(Line::from(sheet.dim("  metadata")));
        lines.extend(indented(tree(inner.narrower(2), &metadata), 4));
    }
    lines.extend(others_of(sheet, rest(members, &KNOWN)));
    lines
}

/// Draws the members that the contract does not define, so that nothing is hidden.
pub(crate) fn others_of(sheet: Sheet, others: Map<String, Value>) -> Vec<Line> {
    if others.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::from(sheet.dim("  other members"))];
    lines.extend(indented(tree(sheet.narrower(4), &Value::Object(others)), 4));
    lines
}

/// Returns the reason why an artifact of this type is drawn as a tree. Returns `None` if a tree is its normal form.
fn why_a_tree(name: &str, content: &Value) -> Option<String> {
    let needed = match name {
        "json_data" => return content.is_null().then(|| "no content".to_owned()),
        "table" => "content.rows, a list, and names for its columns",
        "chart" => "content.data with labels and datasets, whose data are numbers or points",
        "document" => "content.sections, a list",
        "code_block" => "content.code, a text",
        "timeline" => "content.events, a list",
        "file_reference" => "content.file_path, a text",
        "mission_draft" => "content, an object",
        "signal_batch" => "content.signals, a list",
        "" => return Some("an artifact without artifact_type".to_owned()),
        other => return Some(format!("unknown artifact type \"{other}\"")),
    };
    Some(format!("cannot be drawn as {name}: it needs {needed}"))
}

/// Draws a file's path, type and size. The file itself is never opened.
fn file(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let path = content.get("file_path").and_then(Value::as_str)?;
    let mut lines =
        Line::from(sheet.strong(brief(&path.into(), 2000))).wrapped(sheet.prose().width);
    let mut about = Vec::new();
    if let Some(kind) = content.get("file_type").filter(|kind| !is_blank(kind)) {
        about.push(brief(kind, 60));
    }
    match content.get("size_bytes") {
        Some(Value::Number(size)) => match size.as_u64() {
            Some(bytes) => about.push(file_size(bytes)),
            None => about.push(format!("size {size}?")),
        },
        _ => about.push("size unknown".to_owned()),
    }
    lines.push(sheet.dim(about.join(" · ")).into());
    Some(lines)
}

/// Formats a file's size: `2.0 KiB (2,048 bytes)`.
fn file_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = None;
    // The number is in tenths, so that rounding at each unit keeps the displayed digit.
    let mut tenths = u128::from(bytes) * 10;
    for name in UNITS {
        if tenths < 10_240 {
            break;
        }
        tenths = (tenths + 512) / 1024;
        unit = Some(name);
    }
    let whole = format!("{} {}", grouped(bytes), noun(bytes, "byte"));
    unit.map_or(whole.clone(), |unit| format!("{}.{} {unit} ({whole})", tenths / 10, tenths % 10))
}

/// Draws the signals of a batch. They are its content, or a list in it.
fn batch(sheet: Sheet, content: &Value) -> (String, &'static [&'static str], Option<Vec<Line>>) {
    let all = match content {
        Value::Array(all) => all.as_slice(),
        Value::Object(members) => list(members, "signals"),
        _ => &[],
    };
    if all.is_empty() {
        return (String::new(), &[], None);
    }
    (signals::size(all), &["signals", "signal_count"], Some(signals::signals(sheet, all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_files() {
        let table = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1,023 bytes"),
            (2048, "2.0 KiB (2,048 bytes)"),
            (5_000_000, "4.8 MiB (5,000,000 bytes)"),
            (u64::MAX, "16.0 EiB (18,446,744,073,709,551,615 bytes)"),
        ];
        for (bytes, words) in table {
            assert_eq!(file_size(bytes), words);
        }
    }
}
