//! Removes invisible characters from a text, because they would split a secret into harmless pieces.

use std::ops::Range;

use crate::is_control_or_format;

/// A text without its invisible characters, with a map to the original places.
pub(super) struct Visible {
    text: String,
    /// The places of the visible text before which characters were removed, each with the total number of bytes
    /// removed so far.
    taken: Vec<(usize, usize)>,
}

impl Visible {
    /// Removes the invisible characters of a text. Returns `None` if there are none.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.is_ascii() || !text.chars().any(is_invisible) {
            return None;
        }
        let mut visible = Self { text: String::with_capacity(text.len()), taken: Vec::new() };
        let mut all = 0;
        for character in text.chars() {
            if is_invisible(character) {
                all += character.len_utf8();
                let place = visible.text.len();
                match visible.taken.last_mut() {
                    Some(last) if last.0 == place => last.1 = all,
                    _ => visible.taken.push((place, all)),
                }
            } else {
                visible.text.push(character);
            }
        }
        Some(visible)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Maps a range of the visible text to the original text.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = |place: usize| {
            let known = self.taken.partition_point(|(at, _)| *at <= place);
            known.checked_sub(1).map_or(0, |last| self.taken[last].1)
        };
        // Characters removed after the last character belong to the text that follows.
        let last = range.end.saturating_sub(1).max(range.start);
        range.start + before(range.start)..range.end + before(last)
    }
}

/// True if a character is invisible and does not separate words: joiners, direction marks, selectors, soft hyphens.
fn is_invisible(character: char) -> bool {
    !character.is_ascii()
        && is_control_or_format(character)
        && !matches!(character, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}
