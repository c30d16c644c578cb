//! Draws documents with sections of text.

use serde_json::{Map, Value};

use super::brief::{brief, list, rest};
use super::markdown::markdown;
use super::sheet::Sheet;
use super::span::Line;
use super::style::{HEADING, PLAIN};
use super::tree::tree;
use super::width::beginning;
use crate::plural::count_noun_grouped;

/// Draws the sections of a document artifact.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let sections = content.get("sections").and_then(Value::as_array)?;
    let format = content.get("format").and_then(Value::as_str).unwrap_or("markdown");
    let mut lines = Vec::new();
    for section in sections.iter().take(sheet.rows) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(draw(sheet, section, format));
    }
    if sections.len() > sheet.rows {
        lines.push(sheet.more(sections.len() - sheet.rows, "section"));
    }
    Some(lines)
}

/// Describes the document for the artifact's heading: `markdown · 3 sections`.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let sections = count_noun_grouped(list(content, "sections").len(), "section");
    match content.get("format").and_then(Value::as_str) {
        Some(format) => format!("{} · {sections}", beginning(format, 24).0),
        None => sections,
    }
}

fn draw(sheet: Sheet, section: &Value, format: &str) -> Vec<Line> {
    let Some(members) = section.as_object() else {
        return prose(sheet, section, format);
    };
    let mut lines = Vec::new();
    if let Some(heading) = members.get("heading").or_else(|| members.get("title")) {
        let heading = Line::from(sheet.span(brief(heading, 300), HEADING));
        lines.extend(heading.wrapped(sheet.prose().width));
    }
    if let Some(content) = members.get("content") {
        lines.extend(prose(sheet, content, format));
    }
    let others = rest(members, &["heading", "title", "content"]);
    if !others.is_empty() {
        lines.extend(tree(sheet, &Value::Object(others)));
    }
    lines
}

/// Draws a text in its format, and any other value as a tree.
pub(crate) fn prose(sheet: Sheet, value: &Value, format: &str) -> Vec<Line> {
    match value {
        Value::String(text) if format == "markdown" => markdown(sheet, text),
        Value::String(text) => {
            let mut lines = sheet.paragraph(text, PLAIN);
            let hidden = lines.len().saturating_sub(sheet.lines());
            lines.truncate(sheet.lines());
            if hidden > 0 {
                lines.push(sheet.more(hidden, "line"));
            }
            lines
        }
        other => tree(sheet, other),
    }
}
