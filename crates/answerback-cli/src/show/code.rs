//! Draws source code with line numbers and colors.
//!
//! The highlighter knows only the comments, strings, numbers and keywords of a language, not its grammar. It needs a
//! single pass, and invalid code can confuse it for at most a line or a comment.

use anstyle::Style;
use serde_json::{Map, Value};

use super::brief::text;
use super::language::Language;
use super::sheet::{Sheet, indented};
use super::span::{Line, TextSpan};
use super::style::{COMMENT, HEADING, KEYWORD, NUMBER, PLAIN, TEXT, Tone};
use super::width::beginning;
use crate::plural::count_noun_grouped;

/// The longest drawn line, in characters.
const LONGEST_LINE: usize = 2_000;

/// Draws the content of a code artifact.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let code = content.get("code").and_then(Value::as_str)?;
    Some(block(sheet, code, &text(content, "language").unwrap_or_default()))
}

/// Describes the code for the artifact's heading: `python · 12 lines`.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let code = text(content, "code").unwrap_or_default();
    let lines = count_noun_grouped(code.lines().count(), "line");
    match text(content, "language") {
        Some(language) => format!("{} · {lines}", beginning(&language, 24).0),
        None => lines,
    }
}

/// Draws code with line numbers.
pub(crate) fn block(sheet: Sheet, code: &str, language: &str) -> Vec<Line> {
    let language = Language::named(language);
    let count = code.lines().count();
    let shown = count.min(sheet.lines());
    let digits = shown.max(1).to_string().len();
    let mut state = LexerState::default();
    let mut lines = Vec::new();
    for (index, source) in code.lines().take(shown).enumerate() {
        let (source, more) = beginning(source, LONGEST_LINE);
        let mut line = highlighted(sheet, source, language, &mut state);
        if more > 0 {
            line.push(sheet.dim(format!("… {}", count_noun_grouped(more, "more character"))));
        }
        let number = sheet.dim(format!("{:>digits$} │ ", index + 1));
        let below = sheet.dim(format!("{:digits$} │ ", ""));
        let width = sheet.width.saturating_sub(digits + 3).max(4);
        let mut before = Some(number);
        for part in wrapped_parts(&line, width) {
            let mut whole = Line::from(before.take().unwrap_or_else(|| below.clone()));
            whole.join(part);
            lines.push(whole);
        }
    }
    if count > shown {
        lines.push(sheet.more(count - shown, "line"));
    }
    lines
}

/// Wraps a line of code at spaces. The continuation is indented more than the line itself.
fn wrapped_parts(line: &Line, width: usize) -> Vec<Line> {
    let text: String = line.spans().iter().map(TextSpan::text).collect();
    let spaces = text.chars().take_while(|&character| character == ' ').count();
    let indent = spaces.min(width / 3) + 2;
    let mut parts = line.wrapped_after(width, width.saturating_sub(indent)).into_iter();
    let first = parts.next().unwrap_or_default();
    std::iter::once(first).chain(indented(parts.collect(), indent)).collect()
}

/// The lexer's state at the start of a line.
#[derive(Default)]
enum LexerState {
    #[default]
    Code,
    /// In a comment that ends with this text.
    Comment(&'static str),
    /// In a string that ends with this quote.
    Quote(&'static str),
}

fn highlighted(
    sheet: Sheet,
    source: &str,
    language: Option<&'static Language>,
    state: &mut LexerState,
) -> Line {
    let Some(language) = language else { return sheet.plain(source).into() };
    if language.is_diff() {
        return sheet.span(source, diff_style(source)).into();
    }
    let mut line = Line::default();
    let mut rest = source;
    while !rest.is_empty() {
        let (length, style) = token(rest, language, state);
        // A token must not be empty, or the loop would never end.
        let length = length.max(rest.chars().next().map_or(1, char::len_utf8));
        line.push(sheet.span(&rest[..length], style));
        rest = &rest[length..];
    }
    line
}

/// Returns the length of the next token in bytes, and its style.
fn token(rest: &str, language: &'static Language, state: &mut LexerState) -> (usize, Style) {
    match state {
        LexerState::Comment(end) => return (until(rest, 0, end, state), COMMENT),
        LexerState::Quote(end) => return (until(rest, 0, end, state), TEXT),
        LexerState::Code => {}
    }
    if language.line_comments.iter().any(|start| rest.starts_with(start)) {
        return (rest.len(), COMMENT);
    }
    if let Some((start, end)) = language.block_comment
        && rest.starts_with(start)
    {
        *state = LexerState::Comment(end);
        return (until(rest, start.len(), end, state), COMMENT);
    }
    if let Some(quote) = language.long_quotes.iter().find(|quote| rest.starts_with(**quote)) {
        *state = LexerState::Quote(quote);
        return (until(rest, quote.len(), quote, state), TEXT);
    }
    if let Some(quote) = language.quotes.iter().find(|quote| rest.starts_with(**quote)) {
        return (quoted(rest, quote), TEXT);
    }
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        return (run(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_'), NUMBER);
    }
    if first.is_alphabetic() || first == '_' {
        let length = run(rest, |c| c.is_alphanumeric() || c == '_');
        let is_keyword = language.is_keyword(&rest[..length]);
        return (length, if is_keyword { KEYWORD } else { PLAIN });
    }
    // This joins spaces and punctuation into one token, so that a line has few spans.
    let boring = |c: char| c == ' ' || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',' | '.');
    (if boring(first) { run(rest, boring) } else { first.len_utf8() }, PLAIN)
}

/// Returns the length up to and including `end`, which also ends the state. Without `end`, returns the whole line.
fn until(rest: &str, from: usize, end: &str, state: &mut LexerState) -> usize {
    match rest[from..].find(end) {
        Some(at) => {
            *state = LexerState::Code;
            from + at + end.len()
        }
        None => rest.len(),
    }
}

/// Returns the length of a string that ends on its line.
fn quoted(rest: &str, quote: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if rest[at..].starts_with(quote) {
            return at + quote.len();
        }
    }
    rest.len()
}

fn run(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|character| !belongs(character)).unwrap_or(rest.len())
}

fn diff_style(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', ..] => Tone::Good.style(),
        [b'-', ..] => Tone::Bad.style(),
        [b'@', b'@', ..] => HEADING,
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sanitise::Charset;
    use super::*;

    /// Returns a letter for each character of the code: keyword, text, number or comment.
    fn marked(code: &str, language: &str) -> String {
        let sheet = Sheet { width: 80, rows: 50, charset: Charset::Unicode };
        let mut state = LexerState::default();
        let mut marks = String::new();
        for source in code.lines() {
            let line = highlighted(sheet, source, Language::named(language), &mut state);
            for span in line.spans() {
                let mark = match span.style() {
                    KEYWORD => "k",
                    TEXT => "t",
                    NUMBER => "n",
                    COMMENT => "c",
                    _ => ".",
                };
                marks.push_str(&mark.repeat(span.text().chars().count()));
            }
            marks.push('|');
        }
        marks
    }

    #[test]
    fn finds_what_an_eye_looks_for() {
        let table = [
            (
                "python",
                "def f(x1): # hi\n  return 'a\\'b' + 2",
                "kkk........cccc|..kkkkkk.tttttt...n|",
            ),
            ("rust", "let x: &'a str = \"é\"; // ü", "kkk..............ttt..cccc|"),
            ("rust", "/* a\nb */ 1_000", "cccc|cccc.nnnnn|"),
            ("sql", "SELECT 1 -- x", "kkkkkk.n.cccc|"),
            ("js", "`a\n${b}` null", "tt|ttttt.kkkk|"),
            ("json", "{\"a\": true}", ".ttt..kkkk.|"),
            ("unknown", "def 1", ".....|"),
        ];
        for (language, code, marks) in table {
            assert_eq!(marked(code, language), marks, "{language}: {code}");
        }
    }
}
