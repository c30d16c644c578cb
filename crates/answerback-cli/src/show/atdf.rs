//! Draws an ATDF response: a result, or an error with what was expected and how to fix it.

use serde_json::{Map, Value};

use super::artifact::others_of;
use super::banner::Banner;
use super::brief::{brief, is_blank, list, rest, text};
use super::moment::stamp;
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::{HEADING, PLAIN, STRONG, Tone};
use super::tree::tree;
use super::ui::section;
use super::width::beginning;

/// Draws the response.
pub(crate) fn draw(sheet: Sheet, response: &Map<String, Value>) -> Vec<Line> {
    let empty = Map::new();
    let data = response.get("data").and_then(Value::as_object).unwrap_or(&empty);
    let meta = response.get("meta").and_then(Value::as_object).unwrap_or(&empty);
    let status = text(response, "status").unwrap_or("no status".into());
    let mut banner =
        Banner::new(text(data, "message").unwrap_or("(no message)".into())).word(status);
    if let Some(code) = text(data, "code") {
        banner = banner.about(code);
    }
    if let Some(time) = text(meta, "timestamp") {
        banner = banner.about(stamp(&time));
    }
    let mut lines = banner.draw(sheet);
    if let Some(details) = data.get("details").and_then(Value::as_object) {
        lines.push(Line::default());
        lines.extend(error(sheet, &text(data, "code").unwrap_or("error".into()), details));
    }
    let known: &[&str] =
        if data.get("details").is_some_and(Value::is_object) { &["details"] } else { &[] };
    let others = rest(data, &[known, &["message", "code"]].concat());
    if !others.is_empty() {
        lines.extend(section(sheet, "Data", ""));
        lines.extend(indented(tree(sheet.narrower(2), &Value::Object(others)), 2));
    }
    if let Some(odd) = response.get("data").filter(|data| !data.is_object() && !is_blank(data)) {
        lines.extend(section(sheet, "Data", ""));
        lines.extend(indented(tree(sheet.narrower(2), odd), 2));
    }
    let meta = rest(meta, &["timestamp"]);
    if !meta.is_empty() {
        lines.extend(section(sheet, "Meta", ""));
        lines.extend(indented(tree(sheet.narrower(2), &Value::Object(meta)), 2));
    }
    lines.extend(others_of(sheet, rest(response, &["status", "data", "meta"])));
    lines
}

/// Draws the details of an error as a card.
fn error(sheet: Sheet, code: &str, details: &Map<String, Value>) -> Vec<Line> {
    let inner = sheet.in_card();
    let empty = Map::new();
    let mut body = Vec::new();
    if let Some(field) = details.get("field").filter(|field| !is_blank(field)) {
        let field = Line::from(inner.strong(brief(field, 200)));
        body.extend(inner.fields(vec![(inner.dim("field"), field)]));
    }
    part(inner, &mut body, "received", details.get("received"));
    let expected = details.get("expected").and_then(Value::as_object);
    let results = details.get("validation_results").and_then(Value::as_object).unwrap_or(&empty);
    match expected {
        Some(expected) => {
            heading(inner, &mut body, "expected");
            body.extend(conditions(inner, list(expected, "conditions"), results));
            if let Some(format) = expected.get("format").filter(|format| !is_blank(format)) {
                let format = Line::from(inner.plain(brief(format, 400)));
                body.extend(inner.fields(vec![(inner.dim("format"), format)]));
            }
            constraints(inner, &mut body, expected.get("constraints"));
            examples(inner, &mut body, expected.get("examples"));
            let others = rest(expected, &["conditions", "format", "constraints", "examples"]);
            if !others.is_empty() {
                body.extend(tree(inner, &Value::Object(others)));
            }
        }
        None => part(inner, &mut body, "expected", details.get("expected")),
    }
    let is_told = expected.is_some_and(|expected| is_paired(list(expected, "conditions"), results));
    if !results.is_empty() && !is_told {
        heading(inner, &mut body, "checks");
        body.extend(results.iter().take(sheet.rows).flat_map(|(name, result)| {
            verdict(inner, result, beginning(&name.replace('_', " "), 120).0)
        }));
    }
    part(inner, &mut body, "suggested value", details.get("suggested_value"));
    if let Some(solution) = details.get("solution").filter(|solution| !is_blank(solution)) {
        heading(inner, &mut body, "solution");
        let mark = inner.span("→ ", Tone::Good.style());
        let text = brief(solution, 4_000);
        for (index, line) in text.lines().enumerate() {
            let mark = if index == 0 { mark.clone() } else { inner.plain("  ") };
            body.extend(inner.hanging(mark, Line::from(inner.span(line, STRONG))));
        }
    }
    let others = rest(
        details,
        &["field", "received", "expected", "validation_results", "suggested_value", "solution"],
    );
    if !others.is_empty() {
        heading(inner, &mut body, "more");
        body.extend(tree(inner, &Value::Object(others)));
    }
    let style = Tone::Bad.style();
    sheet.card(Line::from(sheet.span(format!("✘ {}", beginning(code, 80).0), style)), body, style)
}

fn heading(sheet: Sheet, body: &mut Vec<Line>, name: &str) {
    if !body.is_empty() {
        body.push(Line::default());
    }
    body.push(sheet.span(name, HEADING).into());
}

/// Draws a part of any shape under its name.
fn part(sheet: Sheet, body: &mut Vec<Line>, name: &str, value: Option<&Value>) {
    let Some(value) = value.filter(|value| !value.is_null()) else { return };
    heading(sheet, body, name);
    body.extend(tree(sheet, value));
}

/// True if there is one result per condition, so each result can be matched with its condition.
fn is_paired(conditions: &[Value], results: &Map<String, Value>) -> bool {
    conditions.len() == results.len()
}

/// Draws the conditions, each with its result and the name of its check if they can be matched.
fn conditions(sheet: Sheet, conditions: &[Value], results: &Map<String, Value>) -> Vec<Line> {
    let is_paired = is_paired(conditions, results);
    let mut checks = results.iter();
    let mut lines = Vec::new();
    for condition in conditions.iter().take(sheet.rows) {
        let condition = brief(condition, 600);
        lines.extend(match checks.next().filter(|_| is_paired) {
            Some((name, result)) => {
                let mut lines = verdict(sheet, result, &condition);
                let name = sheet.dim(format!("  {}", beginning(name, 60).0));
                // The name goes on the same line if it fits, because programs use it.
                if let Some(last) = lines.last_mut()
                    && last.width() + name.width() <= sheet.prose().width
                {
                    last.push(name);
                }
                lines
            }
            None => sheet.hanging(sheet.dim("• "), sheet.plain(condition)),
        });
    }
    if conditions.len() > sheet.rows {
        lines.push(sheet.more(conditions.len() - sheet.rows, "condition"));
    }
    lines
}

/// Draws a check and its result. A result in words is appended.
fn verdict(sheet: Sheet, result: &Value, text: &str) -> Vec<Line> {
    let (tone, words) = match result {
        Value::Bool(true) => (Tone::Good, String::new()),
        Value::Bool(false) => (Tone::Bad, String::new()),
        other => (Tone::Neutral, format!(": {}", brief(other, 200))),
    };
    let mark = sheet.span(format!("{} ", tone.sign()), tone.style());
    let style = if tone == Tone::Bad { STRONG } else { PLAIN };
    sheet.hanging(mark, Line::from(sheet.span(format!("{text}{words}"), style)))
}

fn constraints(sheet: Sheet, body: &mut Vec<Line>, constraints: Option<&Value>) {
    match constraints {
        Some(Value::Object(named)) if !named.is_empty() => {
            body.push(sheet.dim("constraints").into());
            let fields = named
                .iter()
                .take(sheet.rows)
                .map(|(name, value)| {
                    (
                        sheet.plain(format!("  {}", beginning(name, 60).0)),
                        Line::from(sheet.plain(brief(value, 300))),
                    )
                })
                .collect();
            body.extend(sheet.fields(fields));
        }
        Some(other) if !is_blank(other) => {
            body.push(sheet.dim("constraints").into());
            body.extend(tree(sheet, other));
        }
        _ => {}
    }
}

/// Draws valid examples with ✔, and invalid ones with ✘ and their reason. Other shapes are drawn as trees.
fn examples(sheet: Sheet, body: &mut Vec<Line>, examples: Option<&Value>) {
    let Some(examples) = examples.filter(|examples| !is_blank(examples)) else { return };
    body.push(sheet.dim("examples").into());
    let Some(named) = examples.as_object() else {
        body.extend(tree(sheet, examples));
        return;
    };
    let mut put = |tone: Tone, example: &Value| {
        let reason = example.get("reason").filter(|_| example.get("value").is_some());
        let value = example.get("value").filter(|_| reason.is_some()).unwrap_or(example);
        let mut line = Line::from(sheet.plain(brief(value, 300)));
        if let Some(reason) = reason {
            line.push(sheet.dim(format!("  {}", brief(reason, 200))));
        }
        let mark = sheet.span(format!("{} ", tone.sign()), tone.style());
        body.extend(sheet.hanging(mark, line));
    };
    for (name, tone) in [("valid", Tone::Good), ("invalid", Tone::Bad)] {
        match named.get(name) {
            Some(Value::Array(all)) => all.iter().take(8).for_each(|one| put(tone, one)),
            Some(one) if !is_blank(one) => put(tone, one),
            _ => {}
        }
    }
    let others = rest(named, &["valid", "invalid"]);
    if !others.is_empty() {
        body.extend(tree(sheet, &Value::Object(others)));
    }
}
