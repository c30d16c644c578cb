use std::fmt;

use crate::finding::neutral;

/// How many characters are shown before and after the place.
const AROUND: usize = 30;

/// The place of a mistake: a piece of its line, with nothing in it that acts instead of being seen.
///
/// [`fmt::Display`] puts a caret below the place; [`Excerpt::inline`] keeps to one line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The piece of the line: at most 30 characters on both sides of the place, escapes aside.
    pub text: String,
    /// How many characters of `text` stand before the place.
    pub caret: usize,
}

impl Excerpt {
    /// The surroundings of a byte offset. An offset within a character counts as its start.
    pub(super) fn new(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, after) = text.split_at(offset);
        let start = before.char_indices().rev().take(AROUND).take_while(|&(_, c)| c != '\n').last();
        let start = start.map_or(offset, |(at, _)| at);
        let end = after.char_indices().take(AROUND).take_while(|&(_, c)| c != '\n').last();
        let end = end.map_or(offset, |(at, character)| offset + at + character.len_utf8());

        let mut shown = String::new();
        if !text[..start].is_empty() && !text[..start].ends_with('\n') {
            shown.push('…');
        }
        shown.extend(text[start..offset].chars().flat_map(neutral));
        let caret = shown.chars().count();
        shown.extend(text[offset..end].chars().flat_map(neutral));
        if !text[end..].is_empty() && !text[end..].starts_with('\n') {
            shown.push('…');
        }
        Self { text: shown, caret }
    }

    /// The piece on one line, with `→` before the place.
    pub fn inline(&self) -> String {
        let split = self.text.char_indices().nth(self.caret).map_or(self.text.len(), |(at, _)| at);
        let (before, after) = self.text.split_at(split);
        format!("{before}→{after}")
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

    #[test]
    fn shows_a_piece_of_one_line() {
        let cases = [
            ("{'a': 1}", 1, "{→'a': 1}"),
            ("", 0, "→"),
            ("{\n  x\n}", 4, "  →x"),
            ("{\n  x\n}", 5, "  x→"),
            ("é", 1, "→é"),
            ("a\u{202e}b\u{7}", 99, "a\\u{202e}b\\u{7}→"),
            ("a\r\nb", 3, "→b"),
        ];
        for (text, offset, expected) in cases {
            assert_eq!(Excerpt::new(text, offset).inline(), expected, "{text:?} {offset}");
        }
        let long = "x".repeat(1000);
        let excerpt = Excerpt::new(&long, 500);
        assert_eq!(excerpt.text, format!("…{}…", "x".repeat(60)));
        assert_eq!(excerpt.caret, 31);
    }

    #[test]
    fn points_with_a_caret() {
        insta::assert_snapshot!(Excerpt::new(r#"{"p": 1/6}"#, 6), @r#"
        {"p": 1/6}
              ^
        "#);
    }
}
