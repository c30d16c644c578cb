//! Formats the summary of a replay for people.

use std::fmt::Write;

use answerback::checker::{CallSummary, Share};

use crate::output::sanitise;
use crate::plural::count_noun;

/// The longest list in the report. JSON output has all rows.
const MAX_COUNT: usize = 20;

/// Formats the report.
pub(crate) fn summary(summary: &CallSummary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}, {} failed ({})",
        count_noun(summary.calls, "call"),
        summary.failed,
        percent(summary.failure_rate)
    );
    if summary.unchecked > 0 {
        let _ =
            writeln!(text, "{} not checked: the tool's schema cannot be used", summary.unchecked);
    }
    attempts(&mut text, summary);
    shares(&mut text, "By tool", &summary.tools);
    shares(&mut text, "By model", &summary.models);
    table(
        &mut text,
        "By code (answerback explain CODE)",
        summary.codes.iter().map(|counted| [counted.failed.to_string(), counted.code.clone()]),
    );
    table(
        &mut text,
        "By place",
        summary.places.iter().map(|place| {
            [
                place.failed.to_string(),
                percent(place.failure_rate),
                place.tool.clone(),
                shown(&place.path).to_owned(),
                place.code.clone(),
            ]
        }),
    );
    table(
        &mut text,
        "Suspect schemas: at least half of a tool's failing calls fail at one place",
        summary.suspects.iter().map(|suspect| {
            [
                format!("{} of {}", suspect.failed_here, suspect.failed),
                suspect.tool.clone(),
                shown(&suspect.path).to_owned(),
                suspect.code.clone(),
            ]
        }),
    );
    text
}

fn attempts(text: &mut String, summary: &CallSummary) {
    let attempts = &summary.attempts;
    if summary.failed > 0 {
        let numbered = attempts.failed.iter().enumerate();
        let failed: Vec<String> =
            numbered.map(|(index, calls)| format!("{calls} at attempt {}", index + 1)).collect();
        let _ = writeln!(
            text,
            "Failed {}; {} corrected, {} escalated, {} rejected while a person decides",
            failed.join(", "),
            attempts.corrected,
            attempts.escalations,
            attempts.turned_away
        );
        let repairs = &summary.repairs;
        let _ = writeln!(
            text,
            "Repairs would have saved {} failing calls safely and {} by a guess, {} escalations among them",
            repairs.safe, repairs.guess, repairs.escalations
        );
    }
}

fn shares(text: &mut String, title: &str, shares: &[Share]) {
    table(
        text,
        title,
        shares.iter().map(|share| {
            [
                percent(share.failure_rate),
                format!("{} of {}", share.failed, share.calls),
                share.name.clone(),
            ]
        }),
    );
}

/// Appends a table with a title, or nothing if it has no rows. Columns are as wide as their longest cell.
fn table<const COLUMNS: usize>(
    text: &mut String,
    title: &str,
    rows: impl ExactSizeIterator<Item = [String; COLUMNS]>,
) {
    let count = rows.len();
    let rows: Vec<[String; COLUMNS]> =
        rows.take(MAX_COUNT).map(|row| row.map(|cell| sanitise(&cell).into_owned())).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS).filter_map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let is_number = cell.starts_with(|first: char| first.is_ascii_digit());
            let _ = if is_number {
                write!(line, "  {cell:>width$}")
            } else {
                write!(line, "  {cell:<width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if count > MAX_COUNT {
        let _ = writeln!(text, "  and {} more; --format json has all", count - MAX_COUNT);
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "(root)" } else { path }
}

fn percent(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}
