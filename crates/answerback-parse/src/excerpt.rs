use std::fmt;

use answerback_findings::neutral::seen;

/// The number of characters shown on each side of the place.
const AROUND: usize = 30;

/// An excerpt of the line with a mistake. Control characters are escaped and secrets are redacted.
///
/// [`fmt::Display`] prints a caret below the place; [`Excerpt::inline`] stays on one line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The excerpt: at most 30 characters on each side of the place, not counting escapes.
    pub text: String,
    /// The number of characters of `text` before the place.
    pub caret: usize,
}

/// The part of a text around an offset that is needed to create its excerpt.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct ExcerptWindow {
    text: String,
    offset: usize,
}

impl ExcerptWindow {
    /// Copies the text around a byte offset. An offset inside a character counts as its start.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        /// The number of bytes on each side. It covers the excerpt, the text that is searched for secrets, and one
        /// more character. That character shows if the text continues.
        const SIDE: usize = 4 * AROUND + REACH + 4;
        let offset = text.floor_char_boundary(offset);
        let start = text.floor_char_boundary(offset.saturating_sub(SIDE));
        let end = text.ceil_char_boundary(offset.saturating_add(SIDE));
        Self { text: text[start..end].to_owned(), offset: offset - start }
    }

    pub(super) fn excerpt(&self) -> Excerpt {
        Excerpt::new(&self.text, self.offset)
    }
}

/// Prints only the excerpt, because the text may contain secrets.
impl fmt::Debug for ExcerptWindow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.excerpt().fmt(formatter)
    }
}

impl Excerpt {
    /// Creates the excerpt around the offset of a character, or around the end.
    fn new(text: &str, offset: usize) -> Self {
        let (before, after) = text.split_at(offset);
        let start = before.char_indices().rev().take(AROUND).take_while(|&(_, c)| c != '\n').last();
        let start = start.map_or(offset, |(at, _)| at);
        let end = after.char_indices().take(AROUND).take_while(|&(_, c)| c != '\n').last();
        let end = end.map_or(offset, |(at, character)| offset + at + character.len_utf8());

        let mut excerpt = String::new();
        if !text[..start].is_empty() && !text[..start].ends_with('\n') {
            excerpt.push('…');
        }
        let redactor = ExcerptRedactor::new(text, start, end);
        let mut show = |from: usize, to: usize| {
            for (at, character) in text[from..to].char_indices() {
                excerpt.extend(seen(redactor.visible(from + at, character)));
            }
            excerpt.chars().count()
        };
        let caret = show(start, offset);
        show(offset, end);
        if !text[end..].is_empty() && !text[end..].starts_with('\n') {
            excerpt.push('…');
        }
        Self { text: excerpt, caret }
    }

    /// Formats the excerpt on one line, with `→` before the place.
    pub fn inline(&self) -> String {
        let split = self.text.char_indices().nth(self.caret).map_or(self.text.len(), |(at, _)| at);
        let (before, after) = self.text.split_at(split);
        format!("{before}→{after}")
    }
}

/// Redacts the characters of an excerpt. The text is not valid JSON, so names and values are not certain. Text with
/// the shape of a secret is hidden. If a name in the excerpt announces a secret, all words are hidden.
struct ExcerptRedactor {
    secrets: Vec<answerback_redaction::SecretSpan>,
    all: bool,
}

/// The number of bytes before and after the excerpt that are searched for secrets. A name there can have a value that
/// reaches into the excerpt.
const REACH: usize = 256;
/// The character that replaces a hidden character.
const HIDDEN: char = '•';

impl ExcerptRedactor {
    fn new(text: &str, start: usize, end: usize) -> Self {
        let mut from = start.saturating_sub(REACH);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let mut to = (end + REACH).min(text.len());
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        let is_word = |character: char| character.is_alphanumeric() || "_-.".contains(character);
        let mut words = text[from..end].split(|character| !is_word(character));
        let all = words
            .any(|word| !word.is_empty() && answerback_redaction::kind_of_name(word).is_some());
        let is_end = to == text.len();
        let find = if is_end { answerback_redaction::find_cut } else { answerback_redaction::find };
        let mut secrets = find(&text[from..to]);
        for secret in &mut secrets {
            secret.range = secret.range.start + from..secret.range.end + from;
        }
        Self { secrets, all }
    }

    fn visible(&self, at: usize, character: char) -> char {
        let hidden = (self.all && character.is_alphanumeric())
            || self.secrets.iter().any(|secret| secret.range.contains(&at));
        if hidden { HIDDEN } else { character }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n{:>width$}", self.text, '^', width = self.caret + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str, offset: usize) -> Excerpt {
        ExcerptWindow::of(text, offset).excerpt()
    }

    #[test]
    fn shows_a_piece_of_one_line() {
        let cases = [
            ("{'a': 1}", 1, "{→'a': 1}"),
            ("", 0, "→"),
            ("{\n  x\n}", 4, "  →x"),
            ("{\n  x\n}", 5, "  x→"),
            ("é", 1, "→é"),
            ("a\u{202e}b\u{7}", 99, "a\\u202eb\\u0007→"),
            ("a\r\nb", 3, "→b"),
        ];
        for (text, offset, expected) in cases {
            assert_eq!(around(text, offset).inline(), expected, "{text:?} {offset}");
        }
        let long = "x".repeat(1000);
        let excerpt = around(&long, 500);
        assert_eq!(excerpt.text, format!("…{}…", "x".repeat(60)));
        assert_eq!(excerpt.caret, 31);
    }

    #[test]
    fn secrets_are_hidden() {
        let excerpt = around("{'password': 'hunter2', 'n': 1}", 13);
        assert_eq!(excerpt.inline(), "{'••••••••': →'•••••••', '•': •}");
        let token = format!("{{'a': 'sk-{}'}}", "Zx9Kq2Lm8Vb4Nc7Tp1Rw6Ys3".repeat(2));
        assert!(!around(&token, 30).text.contains("Kq2Lm8"), "{}", around(&token, 30).text);
    }

    /// Checks that the copied part of a text gives the same excerpt as the whole text.
    #[test]
    fn surroundings_are_enough() {
        let word = "Zx9Kq2Lm8Vb4Nc7Tp1Rw6Ys3";
        let text = format!(
            "{{\"password\": \"é{}\", 'b': \"sk-{word}{word}\",\n{}\"c\": '{word}",
            "ü ".repeat(150),
            "\"x\": \"ordinary words\", ".repeat(40),
        );
        for offset in (0..=text.len()).filter(|offset| text.is_char_boundary(*offset)) {
            assert_eq!(around(&text, offset), Excerpt::new(&text, offset), "{offset}");
        }
    }

    #[test]
    fn points_with_a_caret() {
        insta::assert_snapshot!(around(r#"{"p": 1/6}"#, 6), @r#"
        {"p": 1/6}
              ^
        "#);
    }
}
