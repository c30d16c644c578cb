//! Styled text, and lines of it.

use anstyle::Style;

use super::sanitise::{Charset, sanitise};
use super::style::PLAIN;
use super::width::{clusters, fit, width};

/// A piece of one line, safe to print.
///
/// Its text is private and comes only from [`TextSpan::new`]. So only text that [`sanitise`] has checked reaches the
/// terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TextSpan {
    text: String,
    style: Style,
}

impl TextSpan {
    pub(crate) fn new(text: &str, style: Style, charset: Charset) -> Self {
        Self { text: sanitise(text, charset).into_owned(), style }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }

    fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self { text: self.text[range].to_owned(), style: self.style }
    }
}

/// One line: spans from left to right.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Line(Vec<TextSpan>);

impl Line {
    pub(crate) fn spans(&self) -> &[TextSpan] {
        &self.0
    }

    pub(crate) fn push(&mut self, span: TextSpan) {
        self.0.push(span);
    }

    /// Appends the spans of another line.
    pub(crate) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(TextSpan::width).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }

    /// Appends spaces up to a column.
    #[must_use]
    pub(crate) fn padded(mut self, columns: usize) -> Self {
        let missing = columns.saturating_sub(self.width());
        if missing > 0 {
            self.0.push(TextSpan { text: " ".repeat(missing), style: PLAIN });
        }
        self
    }

    /// Appends `…` to the line and shortens it to this many columns.
    #[must_use]
    pub(crate) fn ellipsized(mut self, columns: usize, charset: Charset) -> Self {
        let style = self.0.last().map_or(PLAIN, TextSpan::style);
        self.push(TextSpan::new("…", style, charset));
        self.shortened(columns, charset)
    }

    /// Shortens the line to at most this many columns, with `…` in place of the rest.
    #[must_use]
    pub(crate) fn shortened(self, columns: usize, charset: Charset) -> Self {
        if self.width() <= columns {
            return self;
        }
        let ellipsis = TextSpan::new("…", PLAIN, charset);
        let mut room = columns.saturating_sub(ellipsis.width());
        let mut kept = Vec::new();
        let mut style = PLAIN;
        for span in self.0 {
            let (bytes, columns) = fit(&span.text, room);
            let whole = bytes == span.text.len();
            style = span.style;
            room -= columns;
            kept.push(span.slice(0..bytes));
            if !whole {
                break;
            }
        }
        kept.push(TextSpan { style, ..ellipsis });
        Self(kept)
    }

    /// Wraps the line at spaces to at most this many columns. A longer word is broken anywhere. Leading spaces stay;
    /// spaces at a break are removed.
    pub(crate) fn wrapped(&self, columns: usize) -> Vec<Self> {
        self.wrapped_after(columns, columns)
    }

    /// Wraps the line; the first line may have another width than those below it.
    pub(crate) fn wrapped_after(&self, first: usize, below: usize) -> Vec<Self> {
        if self.width() <= first {
            return vec![self.clone()];
        }
        let (first, below) = (first.max(1), below.max(1));
        let mut wrap = Wrap { first, below, lines: Vec::new(), line: Self::default(), used: 0 };
        let mut space = Self::default();
        let mut word = Self::default();
        for piece in self.0.iter().flat_map(pieces) {
            if piece.text.starts_with(' ') {
                wrap.word(&mut space, &mut word);
                space.push(piece);
            } else {
                word.push(piece);
            }
        }
        wrap.word(&mut space, &mut word);
        wrap.lines.push(wrap.line);
        wrap.lines
    }
}

impl From<TextSpan> for Line {
    fn from(span: TextSpan) -> Self {
        Self(vec![span])
    }
}

impl<const N: usize> From<[TextSpan; N]> for Line {
    fn from(spans: [TextSpan; N]) -> Self {
        Self(spans.into())
    }
}

impl FromIterator<TextSpan> for Line {
    fn from_iter<I: IntoIterator<Item = TextSpan>>(spans: I) -> Self {
        Self(spans.into_iter().collect())
    }
}

/// The state of wrapping a line.
struct Wrap {
    first: usize,
    below: usize,
    lines: Vec<Line>,
    line: Line,
    used: usize,
}

impl Wrap {
    fn columns(&self) -> usize {
        if self.lines.is_empty() { self.first } else { self.below }
    }

    /// Appends a word after the space before it, and clears both.
    fn word(&mut self, space: &mut Line, word: &mut Line) {
        if word.is_empty() {
            return;
        }
        let (before, wide) = (space.width(), word.width());
        let is_indent = self.used == 0 && self.lines.is_empty() && before < self.columns();
        if self.used + before + wide <= self.columns() || is_indent {
            self.used += before;
            self.line.join(std::mem::take(space));
        } else if self.used > 0 {
            self.break_line();
        }
        *space = Line::default();
        for span in std::mem::take(word).0 {
            self.characters(&span);
        }
    }

    fn characters(&mut self, span: &TextSpan) {
        let mut start = 0;
        let mut end = 0;
        for cluster in clusters(&span.text) {
            let wide = width(cluster);
            if self.used + wide > self.columns() && self.used > 0 {
                self.line.push(span.slice(start..end));
                self.break_line();
                start = end;
            }
            end += cluster.len();
            self.used += wide;
        }
        self.line.push(span.slice(start..end));
    }

    fn break_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
        self.used = 0;
    }
}

/// Splits a span into runs of spaces and runs of other characters.
fn pieces(span: &TextSpan) -> Vec<TextSpan> {
    let mut found = Vec::new();
    let mut rest = span.text.as_str();
    while let Some(first) = rest.chars().next() {
        let is_space = first == ' ';
        let end = rest.find(|character| (character == ' ') != is_space).unwrap_or(rest.len());
        found.push(TextSpan { text: rest[..end].to_owned(), style: span.style });
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        let line = Line::from(TextSpan::new(text, PLAIN, Charset::Unicode));
        let lines = line.wrapped(columns);
        lines.iter().map(|line| line.0.iter().map(TextSpan::text).collect()).collect()
    }

    #[test]
    fn wraps_at_spaces_and_inside_long_words() {
        let table: [(&str, usize, &[&str]); 7] = [
            ("", 5, &[""]),
            ("one two three", 7, &["one two", "three"]),
            ("one  two", 8, &["one  two"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("to abcdefghij", 4, &["to", "abcd", "efgh", "ij"]),
            ("  indented text", 10, &["  indented", "text"]),
            ("日本語", 3, &["日", "本", "語"]),
        ];
        for (text, columns, lines) in table {
            assert_eq!(wrapped(text, columns), lines, "{text:?} in {columns}");
        }
    }

    #[test]
    fn a_word_of_two_styles_stays_one_word() {
        let charset = Charset::Unicode;
        let line = Line::from([
            TextSpan::new("see ", PLAIN, charset),
            TextSpan::new("this", super::super::style::STRONG, charset),
            TextSpan::new(", now", PLAIN, charset),
        ]);
        let lines: Vec<String> = line
            .wrapped(6)
            .iter()
            .map(|line| line.0.iter().map(TextSpan::text).collect())
            .collect();
        assert_eq!(lines, ["see", "this,", "now"]);
    }

    #[test]
    fn shortening_says_so() {
        let line = Line::from(TextSpan::new("a long line", PLAIN, Charset::Unicode));
        let text: String =
            line.shortened(6, Charset::Unicode).0.iter().map(TextSpan::text).collect();
        assert_eq!(text, "a lon…");
    }
}
