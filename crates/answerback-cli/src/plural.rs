//! Formats counts with their nouns: one entry, two entries.

use std::fmt::Display;

/// Formats a count with its noun: `1 entry`, `2 entries`, `0 rows`.
pub(crate) fn count_noun(count: impl Quantity, word: &str) -> String {
    format!("{count} {}", noun(count, word))
}

/// Formats a count for people, with separators: `1 row`, `2,500 rows`.
pub(crate) fn count_noun_grouped(count: usize, word: &str) -> String {
    format!("{} {}", grouped(count as u64), noun(count, word))
}

/// Formats a count with thousands separators.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the noun in the right number: `entry`, `entries`.
pub(crate) fn noun(count: impl Quantity, word: &str) -> String {
    if count.is_one() {
        return word.to_owned();
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

/// A number of things.
pub(crate) trait Quantity: Copy + Display {
    fn is_one(self) -> bool;
}

impl Quantity for usize {
    fn is_one(self) -> bool {
        self == 1
    }
}

impl Quantity for i64 {
    fn is_one(self) -> bool {
        self == 1
    }
}

impl Quantity for u64 {
    fn is_one(self) -> bool {
        self == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_everything_else_is_many() {
        for (count, word, expected) in [
            (0_usize, "entry", "0 entries"),
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
            (1, "day", "1 day"),
            (2, "day", "2 days"),
            (2, "row", "2 rows"),
        ] {
            assert_eq!(count_noun(count, word), expected);
        }
        assert_eq!(count_noun(1_u64, "more row"), "1 more row");
        assert_eq!(count_noun(2500_u64, "row"), "2500 rows");
    }

    #[test]
    fn thousands_are_set_apart_for_those_who_look() {
        for (count, expected) in
            [(1, "1 row"), (999, "999 rows"), (2500, "2,500 rows"), (1_000_000, "1,000,000 rows")]
        {
            assert_eq!(count_noun_grouped(count, "row"), expected);
        }
    }
}
