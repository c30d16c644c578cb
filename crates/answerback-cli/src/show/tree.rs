//! Draws a JSON value as a tree.

use serde_json::Value;

use super::brief::{is_blank, json};
use super::sheet::Sheet;
use super::span::{Line, TextSpan};
use super::style::{KEY, KEYWORD, NUMBER, TEXT};
use super::width::beginning;
use crate::plural::grouped;

/// The deepest level; deeper values are shown on one line.
const DEEPEST: usize = 6;

/// Draws a value as a tree within limits. A long list ends in `… 40 more`, a deep value is a single line, and the whole
/// tree has at most the sheet's number of lines.
pub(crate) fn tree(sheet: Sheet, value: &Value) -> Vec<Line> {
    let mut tree = TreeDrawing { sheet, lines: Vec::new(), most: sheet.lines() };
    if children(value).is_empty() {
        tree.leaf(Line::default(), &Line::default(), Line::default(), value);
    } else {
        tree.children(&Line::default(), value, 0);
    }
    tree.lines
}

struct TreeDrawing {
    sheet: Sheet,
    lines: Vec<Line>,
    most: usize,
}

impl TreeDrawing {
    fn children(&mut self, guides: &Line, value: &Value, depth: usize) {
        let sheet = self.sheet;
        let children = children(value);
        // Deeper lists show fewer items, so that one long list does not displace its neighbors.
        let most = (sheet.rows >> depth.min(3)).max(3);
        let shown = if children.len() > most.saturating_add(1) { most } else { children.len() };
        for (index, (name, child)) in children.iter().take(shown).enumerate() {
            if self.lines.len() >= self.most {
                self.more(guides, children.len() - index);
                return;
            }
            let last = index + 1 == children.len();
            let mut branch = guides.clone();
            branch.push(sheet.dim(if last { "└─ " } else { "├─ " }));
            let mut below = guides.clone();
            below.push(sheet.dim(if last { "   " } else { "│  " }));
            let mut label = Line::default();
            if let Some(name) = name {
                label.push(sheet.span(beginning(name, 60).0, KEY));
            } else {
                label.push(sheet.dim(index.to_string()));
            }
            self.child(branch, &below, label, child, depth);
        }
        if shown < children.len() {
            self.more(guides, children.len() - shown);
        }
    }

    fn child(&mut self, branch: Line, below: &Line, mut label: Line, value: &Value, depth: usize) {
        let sheet = self.sheet;
        let is_container = matches!(value, Value::Array(_) | Value::Object(_));
        if !is_container || is_blank(value) {
            label.push(sheet.dim(": "));
            return self.leaf(branch, below, label, value);
        }
        let room = sheet.prose().width.saturating_sub(branch.width() + label.width() + 2);
        let line = json(value, room + 1);
        // A short list of plain values is easier to read on one line.
        let is_flat = children(value)
            .iter()
            .take(room)
            .all(|(_, child)| !matches!(child, Value::Array(_) | Value::Object(_)));
        let fits = is_flat && sheet.plain(&line).width() <= room.min(60) && !line.contains('\n');
        if fits || depth + 1 >= DEEPEST {
            label.push(sheet.dim(": "));
            let mut whole = branch;
            whole.join(label);
            whole.push(sheet.plain(line));
            self.lines.push(whole.shortened(sheet.width, sheet.charset));
            return;
        }
        if let Some(numbers) = numbers(value, room) {
            label.push(sheet.dim(": "));
            let mut whole = branch;
            whole.join(label);
            whole.push(sheet.span(numbers.0, NUMBER));
            whole.push(sheet.dim(format!(", … {} more]", grouped(numbers.1 as u64))));
            self.lines.push(whole);
            return;
        }
        let size = match value {
            Value::Array(items) => format!(" [{}]", grouped(items.len() as u64)),
            _ => String::new(),
        };
        let mut whole = branch;
        whole.join(label);
        whole.push(sheet.dim(size));
        self.lines.push(whole);
        self.children(below, value, depth + 1);
    }

    /// Draws a plain value. A long text wraps for a few lines.
    fn leaf(&mut self, branch: Line, below: &Line, label: Line, value: &Value) {
        const MOST_LINES: usize = 6;
        let sheet = self.sheet;
        let mut head = branch;
        head.join(label);
        let room = sheet.prose().width.saturating_sub(below.width() + 2).max(8);
        let spans: Vec<TextSpan> = match value {
            Value::String(text) => {
                let (shown, more) = beginning(text, room * MOST_LINES);
                let mut spans = vec![sheet.span(format!("\"{shown}"), TEXT)];
                if more == 0 {
                    spans.push(sheet.span("\"", TEXT));
                } else {
                    spans.push(sheet.dim(format!("… {} more characters", grouped(more as u64))));
                }
                spans
            }
            Value::Number(_) => vec![sheet.span(value.to_string(), NUMBER)],
            Value::Bool(_) | Value::Null => vec![sheet.span(value.to_string(), KEYWORD)],
            empty => vec![sheet.dim(json(empty, 8))],
        };
        let text: Line = spans.into_iter().collect();
        if head.width() + text.width() <= sheet.prose().width {
            head.join(text);
            self.lines.push(head);
            return;
        }
        // The text begins next to its name if there is room for half a line, or else below it.
        let beside = sheet.prose().width.saturating_sub(head.width());
        let mut wrapped = if beside * 2 >= room {
            text.wrapped_after(beside, room).into_iter()
        } else {
            text.wrapped(room).into_iter()
        };
        if beside * 2 >= room {
            head.join(wrapped.next().unwrap_or_default());
        }
        self.lines.push(head);
        for line in wrapped {
            let mut whole = below.clone();
            whole.push(sheet.plain("  "));
            whole.join(line);
            self.lines.push(whole);
        }
    }

    fn more(&mut self, guides: &Line, count: usize) {
        let mut line = guides.clone();
        line.push(self.sheet.dim(format!("└─ … {} more", grouped(count as u64))));
        self.lines.push(line);
    }
}

/// Returns the beginning of a long list of numbers on one line, and the number of those that follow.
fn numbers(value: &Value, room: usize) -> Option<(String, usize)> {
    let items = value.as_array()?;
    let mut text = String::from("[");
    let mut count = 0;
    for item in items {
        let number = item.as_number()?.to_string();
        if text.len() + number.len() + 24 > room {
            break;
        }
        if count > 0 {
            text.push_str(", ");
        }
        text.push_str(&number);
        count += 1;
    }
    (count > 0 && count < items.len()).then(|| (text, items.len() - count))
}

/// Returns the members or items of a value.
fn children(value: &Value) -> Vec<(Option<&str>, &Value)> {
    match value {
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, item)| (Some(name.as_str()), item)).collect()
        }
        _ => Vec::new(),
    }
}
