//! Draws tables that fit the sheet.
//!
//! Columns that are too wide shrink, the widest first, and their cells wrap for a few lines. If every column has its
//! minimum width, the last columns are left out and counted.

use serde_json::{Map, Value};

use super::brief::{brief, kind, list};
use super::sheet::Sheet;
use super::span::Line;
use super::style::{DIM, PLAIN, STRONG};
use super::width::width;
use crate::plural::count_noun_grouped;

const GAP: usize = 2;

/// The smallest readable width of a text column.
const NARROWEST: usize = 10;

/// The widest column; longer cells wrap even if there is room.
const WIDEST: usize = 72;

/// The longest word that is kept whole if there is not enough room.
const MOST_WORD: usize = 24;

/// The largest number of lines per row.
const MOST_LINES: usize = 3;

/// The largest number of columns that are examined; more never fit.
const MOST_COLUMNS: usize = 200;

/// Named columns and rows of short texts.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// The number of rows that are not in `rows`.
    more_rows: usize,
    /// The number of columns that are not in `columns`.
    more_columns: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    is_number: bool,
    /// True if the cell has no value.
    is_absent: bool,
}

impl Cell {
    pub(crate) fn new(value: &Value) -> Self {
        match value {
            Value::Null => Self::absent("–"),
            Value::Number(number) => {
                Self { text: number.to_string(), is_number: true, is_absent: false }
            }
            other => Self::text(brief(other, WIDEST * MOST_LINES)),
        }
    }

    pub(crate) fn text(text: String) -> Self {
        let is_number = looks_numeric(&text);
        Self { text, is_number, is_absent: false }
    }

    fn absent(text: &str) -> Self {
        Self { text: text.to_owned(), is_number: false, is_absent: true }
    }
}

impl Table {
    pub(crate) fn new(columns: Vec<String>, rows: Vec<Vec<Cell>>) -> Self {
        Self { columns, rows, more_rows: 0, more_columns: 0 }
    }

    /// Draws the table, and below it the counts of what did not fit.
    pub(crate) fn draw(&self, sheet: Sheet) -> Vec<Line> {
        let natural: Vec<TableColumn> =
            (0..self.columns.len()).map(|index| self.column(sheet, index)).collect();
        let widths = fit(&natural, sheet.width);
        let shown = &natural[..widths.len()];
        let mut lines = Vec::new();
        let header: Vec<Cell> = self.columns.iter().cloned().map(Cell::text).collect();
        lines.extend(row(sheet, &header, shown, &widths, STRONG));
        let rules = widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>();
        lines.push(sheet.dim(rules.join(&" ".repeat(GAP))).into());
        for cells in &self.rows {
            lines.extend(row(sheet, cells, shown, &widths, PLAIN));
        }
        if self.more_rows > 0 {
            lines.push(sheet.more(self.more_rows, "row"));
        }
        let hidden = self.columns.len() - widths.len() + self.more_columns;
        if hidden > 0 {
            let names: Vec<&str> =
                self.columns[widths.len()..].iter().map(String::as_str).collect();
            let text = format!("+{}: {}", count_noun_grouped(hidden, "column"), names.join(", "));
            lines.push(Line::from(sheet.dim(text)).shortened(sheet.prose().width, sheet.charset));
        }
        lines
    }

    fn column(&self, sheet: Sheet, index: usize) -> TableColumn {
        let cells = || self.rows.iter().filter_map(|row| row.get(index));
        let mut present = cells().filter(|cell| !cell.is_absent).peekable();
        let is_number = present.peek().is_some() && present.all(|cell| cell.is_number);
        let header = sheet.plain(&self.columns[index]).width();
        let widest = cells().map(|cell| sheet.plain(&cell.text).width()).max().unwrap_or_default();
        let natural = widest.max(header).clamp(1, WIDEST);
        // A number must not be cut, because it would look like another number. A text may be cut.
        let least = if is_number { widest.clamp(1, WIDEST) } else { natural.min(NARROWEST) };
        let words = cells().map(|cell| longest_word(sheet, &cell.text)).max().unwrap_or_default();
        let whole_words = words.clamp(least, MOST_WORD.max(least)).min(natural);
        TableColumn { natural, whole_words, least, is_number }
    }
}

#[derive(Clone, Copy, Debug)]
struct TableColumn {
    natural: usize,
    /// The smallest width that breaks no word.
    whole_words: usize,
    least: usize,
    is_number: bool,
}

/// Returns the widths of the columns that fit, from the left, and at least one.
fn fit(columns: &[TableColumn], room: usize) -> Vec<usize> {
    let mut count = columns.len();
    let total =
        |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    while count > 1 {
        let least: Vec<usize> = columns[..count].iter().map(|column| column.least).collect();
        if total(&least) <= room {
            break;
        }
        count -= 1;
    }
    let columns = &columns[..count];
    let mut widths: Vec<usize> = columns.iter().map(|column| column.natural).collect();
    // Words are broken only if nothing else makes the table fit.
    for floor in [|column: &TableColumn| column.whole_words, |column: &TableColumn| column.least] {
        while total(&widths) > room {
            let widest = (0..count)
                .filter(|&index| widths[index] > floor(&columns[index]))
                .max_by_key(|&index| (widths[index], index));
            match widest {
                Some(index) => widths[index] -= 1,
                None => break,
            }
        }
    }
    if let [only] = widths.as_mut_slice() {
        *only = (*only).min(room.max(1));
    }
    widths
}

fn longest_word(sheet: Sheet, text: &str) -> usize {
    text.split(' ').map(|word| sheet.plain(word).width()).max().unwrap_or_default()
}

/// Draws one row as up to three lines.
fn row(
    sheet: Sheet,
    cells: &[Cell],
    columns: &[TableColumn],
    widths: &[usize],
    style: anstyle::Style,
) -> Vec<Line> {
    let wrapped: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(index, &width)| {
            let Some(cell) = cells.get(index) else { return Vec::new() };
            let style = if cell.is_absent { DIM } else { style };
            let text = Line::from(sheet.span(&cell.text, style));
            let mut lines = text.wrapped(width);
            if lines.len() > MOST_LINES {
                lines.truncate(MOST_LINES);
                let last = lines.pop().unwrap_or_default();
                lines.push(last.ellipsized(width, sheet.charset));
            }
            lines
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or_default().max(1);
    (0..height)
        .map(|at| {
            let mut line = Line::default();
            let mut start = 0;
            for ((cell, column), &width) in wrapped.iter().zip(columns).zip(widths) {
                if let Some(text) = cell.get(at) {
                    let indent = if column.is_number { width - text.width().min(width) } else { 0 };
                    line = line.padded(start + indent);
                    line.join(text.clone());
                }
                start += width + GAP;
            }
            line
        })
        .collect()
}

/// True if a text is a number as people write it: `1,200`, `-3.5`, `99.9%`, `$5`.
fn looks_numeric(text: &str) -> bool {
    let text = text.trim();
    if text.len() > 32 || width(text) > 32 {
        return false;
    }
    let bare = text.trim_start_matches(['$', '€', '£', '+']).trim_end_matches('%').trim_end();
    let digits: String = bare.chars().filter(|&character| character != ',').collect();
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '-' || first == '.')
        && digits.parse::<f64>().is_ok()
}

/// Draws the content of a table artifact, with notes about irregular rows.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let rows = content.get("rows").and_then(Value::as_array)?;
    let columns = list(content, "columns");
    let mut names: Vec<String> = columns.iter().take(MOST_COLUMNS).map(label).collect();
    let mut longest = columns.len();
    let (mut short, mut long, mut odd) = (0, 0, 0);
    for row in rows {
        match row {
            Value::Array(cells) => {
                longest = longest.max(cells.len());
                short += usize::from(cells.len() < columns.len());
                long += usize::from(cells.len() > columns.len());
            }
            Value::Object(_) => {}
            _ => odd += 1,
        }
    }
    if names.is_empty()
        && let Some(Value::Object(first)) = rows.first()
    {
        names = first.keys().take(MOST_COLUMNS).cloned().collect();
    }
    for index in names.len()..longest.min(MOST_COLUMNS) {
        names.push(format!("({})", index + 1));
    }
    if names.is_empty() {
        return None;
    }
    let keys: Vec<String> = columns.iter().map(key).collect();
    let cells = rows
        .iter()
        .take(sheet.rows)
        .map(|row| (0..names.len()).map(|at| cell(row, at, &keys, &names)).collect())
        .collect();
    let table = Table {
        more_rows: rows.len().saturating_sub(sheet.rows),
        more_columns: longest.saturating_sub(names.len()),
        ..Table::new(names, cells)
    };
    let mut lines = table.draw(sheet);
    for (count, what) in
        [(short, "fewer cells than there are columns"), (long, "more cells than there are columns")]
    {
        if count > 0 {
            let verb = if count == 1 { "has" } else { "have" };
            lines.extend(sheet.note(format!("{} {verb} {what}", count_noun_grouped(count, "row"))));
        }
    }
    if odd > 0 {
        let what = if odd == 1 { "row is" } else { "rows are" };
        lines.extend(sheet.note(format!("{odd} {what} not a list of cells")));
    }
    Some(lines)
}

/// Describes the table for the artifact's heading: `50 rows × 3 columns`.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let rows = list(content, "rows").len();
    format!(
        "{} × {}",
        count_noun_grouped(rows, "row"),
        count_noun_grouped(list(content, "columns").len(), "column")
    )
}

fn cell(row: &Value, at: usize, keys: &[String], names: &[String]) -> Cell {
    let value = match row {
        Value::Array(cells) => cells.get(at),
        Value::Object(members) => members.get(keys.get(at).unwrap_or(&names[at])),
        other if at == 0 => {
            return Cell::text(format!("({}: {})", kind(other), brief(other, WIDEST)));
        }
        _ => None,
    };
    value.map_or_else(|| Cell::absent(""), Cell::new)
}

/// Returns the heading of a column: a text, or the label of `{key, label}`.
fn label(column: &Value) -> String {
    let members = column.as_object();
    let named = members.and_then(|members| {
        ["label", "title", "name", "key"].iter().find_map(|name| members.get(*name))
    });
    brief(named.unwrap_or(column), WIDEST)
}

/// Returns the name of the member that belongs to a column, for rows that are objects.
fn key(column: &Value) -> String {
    let members = column.as_object();
    let named = members
        .and_then(|members| ["key", "name", "label"].iter().find_map(|name| members.get(*name)));
    brief(named.unwrap_or(column), WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(widths: &[(usize, usize)]) -> Vec<TableColumn> {
        widths
            .iter()
            .map(|&(natural, least)| TableColumn {
                natural,
                whole_words: least,
                least,
                is_number: false,
            })
            .collect()
    }

    #[test]
    fn the_widest_shrinks_first_then_the_right_most_goes() {
        type Case<'c> = (&'c [(usize, usize)], usize, &'c [usize]);
        let table: [Case<'_>; 6] = [
            (&[(5, 5), (8, 8)], 40, &[5, 8]),
            (&[(30, 10), (10, 10)], 32, &[20, 10]),
            (&[(30, 10), (30, 10)], 42, &[20, 20]),
            (&[(10, 10), (10, 10), (10, 10)], 24, &[10, 10]),
            (&[(30, 10), (8, 8), (30, 10)], 20, &[10, 8]),
            (&[(40, 10)], 6, &[6]),
        ];
        for (natural, room, widths) in table {
            assert_eq!(fit(&columns(natural), room), widths, "{natural:?} in {room}");
        }
    }

    #[test]
    fn numbers_as_people_write_them() {
        for text in ["1", "-3.5", "1,200", "99.9%", "$5", "1e5"] {
            assert!(looks_numeric(text), "{text}");
        }
        for text in ["", "-", "1.2.3", "12 apples", "2026-01-01", "inf", "NaN"] {
            assert!(!looks_numeric(text), "{text}");
        }
    }
}
