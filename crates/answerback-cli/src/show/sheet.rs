//! The drawing area: its width, its limits and its character set.

use anstyle::Style;

use super::sanitise::Charset;
use super::span::{Line, TextSpan};
use super::style::{DIM, PLAIN, STRONG, Tone};
use super::width::{beginning, shortened};
use crate::plural::{grouped, noun};

/// The widest prose and the widest rule.
const WIDEST_PROSE: usize = 110;

/// The longest text that is drawn, in characters.
const MOST_CHARACTERS: usize = 20_000;

/// The indentation of a text below its mark, for marks wider than half of the sheet.
const NARROW_MARK: usize = 2;

/// The area to draw in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheet {
    pub(crate) width: usize,
    /// The largest number of rows, events or signals.
    pub(crate) rows: usize,
    pub(crate) charset: Charset,
}

impl Sheet {
    pub(crate) fn span(self, text: impl AsRef<str>, style: Style) -> TextSpan {
        TextSpan::new(text.as_ref(), style, self.charset)
    }

    pub(crate) fn plain(self, text: impl AsRef<str>) -> TextSpan {
        self.span(text, PLAIN)
    }

    pub(crate) fn strong(self, text: impl AsRef<str>) -> TextSpan {
        self.span(text, STRONG)
    }

    pub(crate) fn dim(self, text: impl AsRef<str>) -> TextSpan {
        self.span(text, DIM)
    }

    /// Formats a status word with its sign, in the color of its meaning.
    pub(crate) fn signed(self, word: &str) -> TextSpan {
        let tone = Tone::of(word);
        self.span(format!("{} {}", tone.sign(), shortened(word, 16)), tone.style())
    }

    /// Returns the sheet with less width, but at least a minimum.
    pub(crate) fn narrower(self, columns: usize) -> Self {
        Self { width: self.width.saturating_sub(columns).max(8), ..self }
    }

    /// Returns the sheet with at most the width for prose.
    pub(crate) fn prose(self) -> Self {
        Self { width: self.width.min(WIDEST_PROSE), ..self }
    }

    /// Returns the largest number of lines of code or prose. A line contains less than a row, so there are more.
    pub(crate) fn lines(self) -> usize {
        self.rows.saturating_mul(4)
    }

    /// Wraps a text of any length.
    pub(crate) fn paragraph(self, text: &str, style: Style) -> Vec<Line> {
        let (shown, more) = self.beginning(text);
        let mut lines: Vec<Line> = shown
            .lines()
            .flat_map(|line| Line::from(self.span(line, style)).wrapped(self.prose().width))
            .collect();
        if more > 0 {
            lines.push(self.more(more, "character"));
        }
        lines
    }

    /// Returns the part of a text that is drawn, and the number of characters left out.
    pub(crate) fn beginning(self, text: &str) -> (&str, usize) {
        beginning(text, MOST_CHARACTERS.min(self.rows.saturating_mul(400)))
    }

    /// Formats the count of items left out: `… 950 more rows`.
    pub(crate) fn more(self, count: usize, what: &str) -> Line {
        self.dim(format!("… {} more {}", grouped(count as u64), noun(count, what))).into()
    }

    /// Formats our own note about the document.
    pub(crate) fn note(self, text: impl AsRef<str>) -> Vec<Line> {
        let mark = self.span("⚠ ", Tone::Warning.style());
        self.hanging(mark, Line::from(self.dim(text)))
    }

    /// Draws a mark with text that wraps next to it. If the mark is too long, the text goes below it.
    pub(crate) fn hanging(self, mark: impl Into<Line>, text: impl Into<Line>) -> Vec<Line> {
        let mark = mark.into();
        let indent = mark.width();
        if indent > NARROW_MARK && indent * 2 > self.width {
            let below = text.into().wrapped(self.narrower(NARROW_MARK).width);
            return std::iter::once(mark).chain(indented(below, NARROW_MARK)).collect();
        }
        let wrapped = text.into().wrapped(self.prose().width.saturating_sub(indent).max(1));
        let mut mark = Some(mark);
        wrapped
            .into_iter()
            .map(|rest| {
                let mut line = mark.take().unwrap_or_else(|| Line::default().padded(indent));
                line.join(rest);
                line
            })
            .collect()
    }

    /// Draws names with aligned values, one per line.
    pub(crate) fn fields(self, fields: Vec<(TextSpan, Line)>) -> Vec<Line> {
        let widest = fields.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        let column = widest.min(self.width / 2) + 2;
        fields
            .into_iter()
            .flat_map(|(name, value)| {
                let name = Line::from(name).shortened(column - 2, self.charset).padded(column);
                self.hanging(name, value)
            })
            .collect()
    }

    /// Draws the rule above a section, with its title on the left and a description on the right.
    pub(crate) fn heading(self, title: &str, about: &str) -> Line {
        let sheet = self.prose();
        let mut line = Line::from([sheet.dim("── "), sheet.strong(beginning(title, 200).0)]);
        // If the description does not fit, its last parts are left out first.
        let mut about = about;
        while !about.is_empty() {
            let end = sheet.dim(format!(" {about} ──"));
            let used = line.width() + end.width();
            if used + 4 <= sheet.width {
                line.push(sheet.dim(format!(" {}", "─".repeat(sheet.width - used - 1))));
                line.push(end);
                return line;
            }
            about = about.rsplit_once(" · ").map_or("", |(before, _)| before);
        }
        let mut line = line.shortened(sheet.width.saturating_sub(3), sheet.charset);
        let rule = sheet.width.saturating_sub(line.width() + 1);
        line.push(sheet.dim(format!(" {}", "─".repeat(rule))));
        line
    }

    /// Draws a box with a title in its upper edge.
    pub(crate) fn card(self, title: Line, body: Vec<Line>, style: Style) -> Vec<Line> {
        let sheet = self.prose();
        let inner = sheet.width.saturating_sub(4).max(1);
        let edge = |left: &str, mut middle: Line, right: &str| {
            let mut line = Line::from(sheet.span(left, style));
            let rule = (inner + 1).saturating_sub(middle.width());
            middle.push(sheet.span("─".repeat(rule), style));
            line.join(middle);
            line.push(sheet.span(right, style));
            line
        };
        let mut title = title.shortened(inner.saturating_sub(2), sheet.charset);
        if !title.is_empty() {
            let mut spaced = Line::from(sheet.plain(" "));
            spaced.join(title);
            spaced.push(sheet.plain(" "));
            title = spaced;
        }
        let mut lines = vec![edge("╭─", title, "╮")];
        for row in body {
            let mut line = Line::from(sheet.span("│ ", style));
            line.join(row.shortened(inner, sheet.charset).padded(inner));
            line.push(sheet.span(" │", style));
            lines.push(line);
        }
        lines.push(edge("╰─", Line::default(), "╯"));
        lines
    }

    /// Returns the area inside a [`Sheet::card`].
    pub(crate) fn in_card(self) -> Self {
        self.prose().narrower(4)
    }
}

/// Indents lines.
pub(crate) fn indented(lines: Vec<Line>, columns: usize) -> Vec<Line> {
    lines
        .into_iter()
        .map(|line| {
            if line.is_empty() {
                return line;
            }
            let mut moved = Line::default().padded(columns);
            moved.join(line);
            moved
        })
        .collect()
}
