//! Compares two names for a repair. A hint may be wrong, because a model only reads it. A repair may be
//! applied, so this comparison is stricter than that of "did you mean".

use crate::message::suggest::{distance, words};

/// The similarity of a written name to a known one, the most certain first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum NameSimilarity {
    /// They differ in case and separators only.
    Spelling,
    /// They differ by a slip of the pen.
    Typo,
    /// The words of one stand among those of the other, in this order.
    Words,
}

/// Longer names are not compared, because they are not typing mistakes.
const LONGEST: usize = 64;

/// The words that turn what follows them into its opposite.
const NEGATIONS: &[&str] =
    &["not", "no", "non", "never", "without", "except", "excluding", "un", "anti"];

/// Returns the similarity of two names, or `None` if they are not similar.
pub(super) fn similarity(written: &str, known: &str) -> Option<NameSimilarity> {
    if written.len() > LONGEST || known.len() > LONGEST {
        return None;
    }
    let (one, other) = (folded(written), folded(known));
    if one.is_empty() || other.is_empty() {
        return None;
    }
    if one == other {
        return Some(NameSimilarity::Spelling);
    }
    // What is no letter and no separator is never a slip: `C++` is not `C`.
    let is_sign = |character: &&char| !character.is_alphanumeric();
    if !one.iter().filter(is_sign).eq(other.iter().filter(is_sign)) {
        return None;
    }
    let (written, known) = (with_digits(words(written)), with_digits(words(known)));
    if is_mistyped(&one, &other, &written, &known) {
        return Some(NameSimilarity::Typo);
    }
    let (longer, shorter) =
        if written.len() >= known.len() { (&written, &known) } else { (&known, &written) };
    let says_less = stand_in(shorter, longer);
    let is_negated = longer.iter().any(|word| {
        NEGATIONS.contains(&word.as_str()) && !shorter.iter().any(|other| other == word)
    });
    (says_less && !is_negated).then_some(NameSimilarity::Words)
}

/// Words with the small numbers in digits: `five years` is `5_years`.
fn with_digits(mut words: Vec<String>) -> Vec<String> {
    const NUMBERS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    for word in &mut words {
        if let Some(number) = NUMBERS.iter().position(|name| name == word) {
            *word = number.to_string();
        }
    }
    words
}

/// Lower case without separators. Other signs count.
fn folded(word: &str) -> Vec<char> {
    let is_separator =
        |character: &char| character.is_whitespace() || "-_./:,'\"[]()".contains(*character);
    // A minus before a digit is a sign, not a separator.
    let is_negative = word.trim_start().starts_with('-')
        && word.trim_start()[1..].starts_with(|next: char| next.is_ascii_digit());
    let sign = is_negative.then_some('-');
    let letters = word.chars().filter(|character| !is_separator(character));
    sign.into_iter().chain(letters.flat_map(char::to_lowercase)).collect()
}

/// Word for word the same but for slips. Words of one or two letters and numbers are names of their
/// own (`x` and `y`, `side1` and `side2`), and a slip spares the first letter, where opposites differ
/// (`include` and `exclude`, `active` and `inactive`).
fn is_mistyped(one: &[char], other: &[char], written: &[String], known: &[String]) -> bool {
    let numbers = |words: &[String]| -> Vec<String> {
        words.iter().filter(|word| word.starts_with(char::is_numeric)).cloned().collect()
    };
    if one.first() != other.first() || numbers(written) != numbers(known) {
        return false;
    }
    if written.len() != known.len() {
        // A separator more or less, and a slip: `filepth` for `file_path`.
        return one.len().max(other.len()) >= 5 && distance(one, other, 1).is_some();
    }
    written.iter().zip(known).all(|(one, other)| {
        let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
        let allowed = match one.len().max(other.len()) {
            0..=2 => 0,
            3..=7 => 1,
            _ => 2,
        };
        one == other || one.first() == other.first() && distance(&one, &other, allowed).is_some()
    })
}

/// Returns true if the words of the shorter name occur in the longer one, in sequence.
fn stand_in(shorter: &[String], longer: &[String]) -> bool {
    let is_telling = shorter.iter().map(String::len).sum::<usize>() >= 2;
    is_telling && longer.windows(shorter.len()).any(|window| window == shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_told_strictly() {
        for (written, known, expected) in [
            ("red", "Red", Some(NameSimilarity::Spelling)),
            ("UTF_8", "utf-8", Some(NameSimilarity::Spelling)),
            ("maxResults", "max_results", Some(NameSimilarity::Spelling)),
            ("[\"Civil\"]", "Civil", Some(NameSimilarity::Spelling)),
            ("uft8", "utf-8", Some(NameSimilarity::Typo)),
            ("pth", "path", Some(NameSimilarity::Typo)),
            ("filepth", "file_path", Some(NameSimilarity::Typo)),
            ("War", "Wars", Some(NameSimilarity::Typo)),
            ("descripton", "description", Some(NameSimilarity::Typo)),
            ("last six months", "six_months", Some(NameSimilarity::Words)),
            ("past 5 years", "five_years", Some(NameSimilarity::Words)),
            ("6 months", "six_months", Some(NameSimilarity::Words)),
            ("six months", "five_months", None),
            ("file", "file_path", Some(NameSimilarity::Words)),
            ("id", "user_id", Some(NameSimilarity::Words)),
            ("not urgent", "urgent", None),
            ("non-fiction", "fiction", None),
            ("min_price", "max_price", None),
            ("side1", "side2", None),
            ("city_a", "city_b", None),
            ("x", "y", None),
            ("include", "exclude", None),
            ("inactive", "active", None),
            ("ascending", "descending", None),
            ("start_time", "end_time", None),
            ("from_date", "to_date", None),
            ("C++", "C", None),
            ("-5", "5", None),
            ("-", "+", None),
            ("", "a", None),
            ("last five years", "year", None),
        ] {
            assert_eq!(similarity(written, known), expected, "{written} {known}");
        }
    }
}
