//! The nearest of a closed set: "did you mean".

use std::cell::OnceCell;

/// A candidate that is near to what was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Suggestion<'c> {
    /// The candidate.
    pub candidate: &'c str,
    /// The way in which it is similar.
    pub likeness: Likeness,
}

/// The ways in which two names are similar, the most certain first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Likeness {
    /// They differ only in case and separators.
    SameLetters,
    /// So many insertions, deletions, changes and swaps of neighbours apart.
    Close(usize),
    /// The words of one are among the words of the other, or begin them.
    SharedWords,
}

/// Words longer than this are not compared letter by letter.
const LONGEST: usize = 64;
/// The highest number of useful suggestions.
const MOST: usize = 3;

/// The candidates that may have been meant, nearest first and at most three: those that differ in case
/// and separators only, then those within an edit distance of a third of their length, then those that
/// share their words.
///
/// ```
/// use answerback_calls::message::suggest::nearest;
///
/// let first = |word| nearest(word, ["utf-8", "ascii", "utf-16"]).first().map(|near| near.candidate);
/// assert_eq!(first("uft8"), Some("utf-8"));
/// assert_eq!(first("UTF_16"), Some("utf-16"));
/// assert_eq!(first("latin1"), None);
/// ```
pub fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Vec<Suggestion<'c>> {
    let letters = Letters::of(word);
    let (sought, sought_initials) = (Sought::new(letters.as_slice()), initials(word));
    let sought_words = OnceCell::new();
    let mut found: Vec<Suggestion<'c>> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let shares_words = || {
                // Words that begin one another begin with one letter.
                let initials = initials(candidate);
                let shared = initials & sought_initials;
                (shared == initials || shared == sought_initials)
                    && shares_words(sought_words.get_or_init(|| words(word)), &words(candidate))
            };
            let likeness = (candidate != word)
                .then(|| likeness(&sought, &Letters::of(candidate), shares_words))
                .flatten()?;
            Some(Suggestion { candidate, likeness })
        })
        .collect();
    found.sort_by_key(|near| near.likeness);
    // A sure match makes doubtful ones noise.
    if found.first().is_some_and(|near| near.likeness == Likeness::SameLetters) {
        found.retain(|near| near.likeness == Likeness::SameLetters);
    }
    found.truncate(MOST);
    found
}

fn likeness(
    sought: &Sought<'_>,
    letters: &Letters,
    shares_words: impl FnOnce() -> bool,
) -> Option<Likeness> {
    if sought.letters.is_empty() || letters.is_empty() {
        return None;
    }
    if sought.letters == letters.as_slice() {
        return Some(Likeness::SameLetters);
    }
    let longer = sought.letters.len().max(letters.len());
    let allowed = if longer < 3 { 0 } else { (longer / 3).clamp(1, 4) };
    match sought.distance(letters.as_slice(), allowed) {
        Some(distance) => Some(Likeness::Close(distance)),
        None => shares_words().then_some(Likeness::SharedWords),
    }
}

/// The letters and digits of a word in lower case, up to a bound, without allocating.
#[derive(Clone, Copy)]
struct Letters {
    characters: [char; LONGEST],
    count: usize,
}

impl Letters {
    fn of(word: &str) -> Self {
        let mut letters = Self { characters: ['\0'; LONGEST], count: 0 };
        for (place, character) in letters.characters.iter_mut().zip(folded(word)) {
            *place = character;
            letters.count += 1;
        }
        letters
    }

    fn as_slice(&self) -> &[char] {
        &self.characters[..self.count]
    }

    fn len(&self) -> usize {
        self.count
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The letters and digits of a word in lower case: what is left of it when case and separators do not
/// count.
pub(super) fn folded(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// [`Sought::distance`] between two words that are compared once.
pub(super) fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    // What is too long or too short needs no notes.
    let may_be_near = a.len().abs_diff(b.len()) <= allowed;
    may_be_near.then(|| Sought::new(a).distance(b, allowed)).flatten()
}

/// A word that is compared with many others. Where its letters stand is noted once, for all of them.
pub(super) struct Sought<'w> {
    letters: &'w [char],
    /// For each letter of ASCII the places where it stands, as bits.
    ascii: [u64; 128],
}

impl<'w> Sought<'w> {
    pub(super) fn new(letters: &'w [char]) -> Self {
        let mut ascii = [0; 128];
        for (place, letter) in letters.iter().take(LONGEST).enumerate() {
            if let Some(places) = ascii.get_mut(*letter as usize) {
                *places |= 1 << place;
            }
        }
        Self { letters, ascii }
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    fn places_of(&self, letter: char) -> u64 {
        match self.ascii.get(letter as usize) {
            Some(places) => *places,
            None => (0..)
                .zip(self.letters)
                .filter(|(_, other)| **other == letter)
                .fold(0, |all, (at, _)| all | 1 << at),
        }
    }

    /// The Damerau-Levenshtein distance to another word (neighbours swapped once), if it is at most
    /// `allowed`.
    ///
    /// A column of the table of distances is kept as bits, one a letter of this word: where it rises,
    /// where it falls (Myers 1999, with the swaps of Hyyrö 2003). A letter of the other then costs a few
    /// operations instead of one for each letter of this.
    pub(super) fn distance(&self, other: &[char], allowed: usize) -> Option<usize> {
        let length = self.letters.len();
        if length.abs_diff(other.len()) > allowed || length > LONGEST || other.len() > LONGEST {
            return None;
        }
        if length == 0 || other.is_empty() {
            return Some(length.max(other.len()));
        }
        let last = 1 << (length - 1);
        let mut distance = length;
        let (mut rises, mut falls) = (u64::MAX, 0_u64);
        let (mut level, mut places_before) = (0_u64, 0_u64);
        for letter in other {
            let places = self.places_of(*letter);
            let swapped = ((!level & places) << 1) & places_before;
            level = ((places & rises).wrapping_add(rises) ^ rises) | places | falls | swapped;
            let right_rises = falls | !(level | rises);
            let right_falls = level & rises;
            distance += usize::from(right_rises & last != 0);
            distance -= usize::from(right_falls & last != 0);
            let right_rises = right_rises << 1 | 1;
            rises = right_falls << 1 | !(level | right_rises);
            falls = right_rises & level;
            places_before = places;
        }
        Some(distance).filter(|distance| *distance <= allowed)
    }
}

/// Returns true if every word of the shorter name is a word of the longer one, or the beginning of one.
fn shares_words(a: &[String], b: &[String]) -> bool {
    let (fewer, more) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let begins =
        |word: &str, other: &str| word == other || word.len() >= 3 && other.starts_with(word);
    let matched =
        |word: &String| more.iter().any(|other| begins(word, other) || begins(other, word));
    let letters = fewer.iter().map(String::len).sum::<usize>();
    // Two letters tell something only as a whole word: `en` for `en_US`.
    letters >= 3 && fewer.iter().all(matched)
        || letters == 2 && fewer.iter().all(|word| more.contains(word))
}

/// The words of a name in lower case: parted by separators, by capitals after small letters, and by
/// digits.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (character, begins) in letters_of_words(name) {
        if begins {
            words.push(String::with_capacity(name.len()));
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words
}

/// The letters that the words of a name begin with, as bits. Two letters may share one.
fn initials(name: &str) -> u64 {
    let initials = letters_of_words(name).filter(|(_, begins)| *begins);
    initials
        .filter_map(|(letter, _)| letter.to_lowercase().next())
        .fold(0, |bits, letter| bits | 1 << (u32::from(letter) % 64))
}

/// The letters and digits of a name's words, and whether each begins one.
pub(super) fn letters_of_words(name: &str) -> impl Iterator<Item = (char, bool)> {
    let mut previous = ' ';
    name.chars().take(256).filter_map(move |character| {
        let before = std::mem::replace(&mut previous, character);
        let begins = !before.is_alphanumeric()
            || before.is_lowercase() && character.is_uppercase()
            || before.is_numeric() != character.is_numeric();
        character.is_alphanumeric().then_some((character, begins))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance by the book: a table, cell by cell.
    fn tabled(a: &[char], b: &[char]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for row in 0..=a.len() {
            for column in 0..=b.len() {
                table[row][column] = if row == 0 || column == 0 {
                    row + column
                } else {
                    let change = usize::from(a[row - 1] != b[column - 1]);
                    let mut cell = (table[row - 1][column] + 1)
                        .min(table[row][column - 1] + 1)
                        .min(table[row - 1][column - 1] + change);
                    if row > 1
                        && column > 1
                        && a[row - 1] == b[column - 2]
                        && a[row - 2] == b[column - 1]
                    {
                        cell = cell.min(table[row - 2][column - 2] + 1);
                    }
                    cell
                };
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn bits_and_table_agree() {
        let mut state = 1_u64;
        let mut word = |longest: u64| -> Vec<char> {
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let length = next(longest + 1);
            (0..length).map(|_| ['a', 'b', 'c', 'é'][usize::try_from(next(4)).unwrap()]).collect()
        };
        for round in 0..4000 {
            let longest = if round % 8 == 0 { 64 } else { 8 };
            let (a, b) = (word(longest), word(longest));
            let distance = Sought::new(&a).distance(&b, LONGEST);
            assert_eq!(distance, Some(tabled(&a, &b)), "{a:?} {b:?}");
        }
    }

    #[test]
    fn ranks_case_then_edits_then_words() {
        let fields = ["path", "encoding", "limit", "file_path", "maxResults", "Red", "description"];
        for (word, expected) in [
            ("pth", &["path"][..]),
            ("Path", &["path"]),
            ("filePath", &["file_path"]),
            ("max_results", &["maxResults"]),
            ("red", &["Red"]),
            ("limt", &["limit"]),
            ("file", &["file_path"]),
            ("desc", &["description"]),
            ("colour", &[]),
            ("x", &[]),
            ("id", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = nearest(word, fields).iter().map(|near| near.candidate).collect();
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn swapped_neighbours_are_one_step() {
        let of = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|word| word.chars().collect::<Vec<_>>());
            Sought::new(&a).distance(&b, 9)
        };
        for (a, b, expected) in [
            ("abcd", "abdc", 1),
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("same", "same", 0),
            ("ca", "abc", 3),
        ] {
            assert_eq!(of(a, b), Some(expected), "{a} {b}");
            assert_eq!(of(b, a), Some(expected), "{b} {a}");
        }
    }

    #[test]
    fn long_words_are_compared_by_their_beginning() {
        let long = "x".repeat(1000);
        assert!(nearest(&long, [long.as_str()]).is_empty());
        assert_eq!(nearest(&long.to_uppercase(), [long.as_str()]).len(), 1);
    }
}
