use std::fmt::Write as _;

use answerback::contract::Contract;
use serde_json::Value;

use super::sanitise::Charset;
use super::sheet::Sheet;
use super::span::{Line, TextSpan};
use super::style::PLAIN;
use super::{atdf, brief, descriptor, governed, tool, tree, ui};

/// Draws a document of this contract as text, with or without colors.
pub(crate) fn draw(sheet: Sheet, contract: Contract, document: &Value, in_color: bool) -> String {
    render(sheet, lines(sheet, contract, document), in_color)
}

/// Draws the name of a file above its document, if there are several files.
pub(crate) fn file_heading(sheet: Sheet, name: &str, in_color: bool) -> String {
    let mut lines = vec![sheet.heading(name, "")];
    lines.push(Line::default());
    render(sheet, lines, in_color)
}

/// Wraps a text. The first line may have another width than those below it.
pub(crate) fn wrapped(text: &str, first: usize, below: usize) -> Vec<String> {
    let line = Line::from(TextSpan::new(text, PLAIN, Charset::Unicode));
    let lines = line.wrapped_after(first, below);
    let text = |line: &Line| line.spans().iter().map(TextSpan::text).collect();
    lines.iter().map(text).collect()
}

fn lines(sheet: Sheet, contract: Contract, document: &Value) -> Vec<Line> {
    let Some(members) = document.as_object() else {
        let mut lines = sheet.note(format!("expected an object, found {}", brief::kind(document)));
        lines.extend(tree::tree(sheet, document));
        return lines;
    };
    match contract {
        Contract::Ui => ui::draw(sheet, members),
        Contract::Tool => tool::draw(sheet, members),
        Contract::Governed => governed::draw(sheet, members),
        Contract::Atdf => atdf::draw(sheet, members),
        Contract::Descriptor => descriptor::draw(sheet, members),
        // This applies to contracts that are newer than this file.
        _ => tree::tree(sheet, document),
    }
}

/// Converts lines to text. Lines wider than the sheet are shortened.
fn render(sheet: Sheet, lines: Vec<Line>, in_color: bool) -> String {
    let mut text = String::new();
    for line in lines {
        let start = text.len();
        for span in line.shortened(sheet.width, sheet.charset).spans() {
            let style = span.style();
            // Writing to a string cannot fail.
            let _ = if in_color {
                write!(text, "{style}{}{style:#}", span.text())
            } else {
                write!(text, "{}", span.text())
            };
        }
        text.truncate(start + text[start..].trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}
