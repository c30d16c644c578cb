//! Draws an ATDF tool descriptor: the tool's purpose and its inputs.

use serde_json::{Map, Value};

use super::banner::Banner;
use super::brief::{brief, is_blank, list, rest, text};
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::PLAIN;
use super::table::{Cell, Table};
use super::tree::tree;
use super::ui::section;
use crate::plural::count_noun_grouped;

const KNOWN: [&str; 6] =
    ["tool_id", "id", "description", "when_to_use", "how_to_use", "schema_version"];

/// Draws the descriptor.
pub(crate) fn draw(sheet: Sheet, descriptor: &Map<String, Value>) -> Vec<Line> {
    let name = text(descriptor, "tool_id").or_else(|| text(descriptor, "id"));
    let mut banner =
        Banner::new(name.unwrap_or("(no tool_id)".into())).about("ATDF tool descriptor");
    if let Some(version) = text(descriptor, "schema_version") {
        banner = banner.about(format!("schema {version}"));
    }
    let mut lines = banner.draw(sheet);
    let inner = sheet.narrower(2);
    for (name, title) in [("description", "Description"), ("when_to_use", "When to use")] {
        if let Some(value) = descriptor.get(name).filter(|value| !is_blank(value)) {
            lines.extend(section(sheet, title, ""));
            lines.extend(indented(inner.paragraph(&brief(value, 4000), PLAIN), 2));
        }
    }
    if let Some(how) = descriptor.get("how_to_use").filter(|how| !is_blank(how)) {
        let empty = Map::new();
        let members = how.as_object().unwrap_or(&empty);
        let inputs = list(members, "inputs");
        lines.extend(section(sheet, "How to use", &count_noun_grouped(inputs.len(), "input")));
        lines.extend(indented(arguments(inner, inputs), 2));
        let known: &[&str] = if inputs.is_empty() { &[] } else { &["inputs"] };
        let others = rest(members, known);
        if !others.is_empty() {
            lines.extend(indented(tree(inner, &Value::Object(others)), 2));
        }
        if !how.is_object() {
            lines.extend(indented(tree(inner, how), 2));
        }
    }
    let others = rest(descriptor, &KNOWN);
    if !others.is_empty() {
        lines.extend(section(sheet, "More", ""));
        lines.extend(indented(tree(inner, &Value::Object(others)), 2));
    }
    lines
}

fn arguments(sheet: Sheet, inputs: &[Value]) -> Vec<Line> {
    if inputs.is_empty() {
        return Vec::new();
    }
    let cell =
        |input: &Value, name: &str| input.get(name).map_or_else(String::new, |v| brief(v, 200));
    let rows = inputs
        .iter()
        .take(sheet.rows)
        .map(|input| {
            let required = match input.get("required") {
                Some(Value::Bool(true)) => "required".to_owned(),
                Some(Value::Bool(false)) | None => "optional".to_owned(),
                Some(other) => brief(other, 20),
            };
            let kind = cell(input, "type");
            [cell(input, "name"), kind, required, cell(input, "description")]
                .map(Cell::text)
                .to_vec()
        })
        .collect();
    let columns = ["input", "type", "needed", "description"].map(str::to_owned).to_vec();
    let mut lines = Table::new(columns, rows).draw(sheet);
    if inputs.len() > sheet.rows {
        lines.push(sheet.more(inputs.len() - sheet.rows, "input"));
    }
    lines
}
