//! A text without the characters that nobody sees, which would split a secret into harmless pieces.

use std::ops::Range;

use crate::finding::acts;

/// A text whose invisible characters are taken out, and where each of the others was.
pub(super) struct Visible {
    text: String,
    /// The places of the visible text before which something was taken out, and how much in all up to there.
    taken: Vec<(usize, usize)>,
}

impl Visible {
    /// The text without its invisible characters, if it has any.
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

    /// Where a range of the visible text stands in the original.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = |place: usize| {
            let known = self.taken.partition_point(|(at, _)| *at <= place);
            known.checked_sub(1).map_or(0, |last| self.taken[last].1)
        };
        // What was taken out after the last character belongs to what follows.
        let last = range.end.saturating_sub(1).max(range.start);
        range.start + before(range.start)..range.end + before(last)
    }
}

/// Whether a character is there without being seen and parts nothing: joiners, marks of direction, selectors, soft hyphens.
fn is_invisible(character: char) -> bool {
    !character.is_ascii()
        && acts(character)
        && !matches!(character, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}
