//! The nearest of a closed set: "did you mean".

/// A candidate that is near to what was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Suggestion<'c> {
    /// The candidate.
    pub candidate: &'c str,
    /// How it is near.
    pub likeness: Likeness,
}

/// How two words are near to each other, the surest first.
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
/// How many suggestions are worth reading.
const MOST: usize = 3;

/// The candidates that may have been meant, nearest first and at most three: those that differ in case
/// and separators only, then those within an edit distance of a third of their length, then those that
/// share their words.
///
/// ```
/// use answerback::message::suggest::nearest;
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
    let sought = Letters::of(word);
    let mut found: Vec<Suggestion<'c>> = candidates
        .into_iter()
        .filter_map(|candidate| {
            likeness(word, &sought, candidate).map(|likeness| Suggestion { candidate, likeness })
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

fn likeness(word: &str, sought: &Letters, candidate: &str) -> Option<Likeness> {
    if candidate == word {
        return None;
    }
    let letters = Letters::of(candidate);
    if sought.is_empty() || letters.is_empty() {
        return None;
    }
    if sought.as_slice() == letters.as_slice() {
        return Some(Likeness::SameLetters);
    }
    let longer = sought.len().max(letters.len());
    let allowed = if longer < 3 { 0 } else { (longer / 3).clamp(1, 4) };
    match distance(sought.as_slice(), letters.as_slice(), allowed) {
        Some(distance) => Some(Likeness::Close(distance)),
        None => shares_words(word, candidate).then_some(Likeness::SharedWords),
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
        let lower = word
            .chars()
            .filter(|character| character.is_alphanumeric())
            .flat_map(char::to_lowercase);
        for (place, character) in letters.characters.iter_mut().zip(lower) {
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

/// The distances from nothing to the beginnings of a word.
const FIRST_ROW: [u8; LONGEST + 1] = {
    let mut row = [0; LONGEST + 1];
    let mut column = 0_u8;
    while (column as usize) <= LONGEST {
        row[column as usize] = column;
        column += 1;
    }
    row
};

/// The Damerau-Levenshtein distance (neighbours swapped once), if it is at most `allowed`.
pub(super) fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed || a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    // A byte is enough for a distance between words of this length, and keeps the rows in few cache lines.
    let mut rows = [FIRST_ROW; 3];
    let [mut before, mut above, mut current] = rows.each_mut();
    for (row, letter) in (0_u8..).zip(a) {
        let mut least = row + 1;
        let mut left = least;
        current[0] = left;
        for (column, other) in b.iter().enumerate() {
            let change = above[column] + u8::from(letter != other);
            left = change.min(above[column + 1] + 1).min(left + 1);
            if row > 0
                && column > 0
                && *letter == b[column - 1]
                && a[usize::from(row) - 1] == *other
            {
                left = left.min(before[column - 1] + 1);
            }
            current[column + 1] = left;
            least = least.min(left);
        }
        if usize::from(least) > allowed {
            return None;
        }
        (before, above, current) = (above, current, before);
    }
    Some(usize::from(above[b.len()])).filter(|distance| *distance <= allowed)
}

/// Whether every word of the shorter name is among the words of the longer one, or begins one of them.
fn shares_words(a: &str, b: &str) -> bool {
    let (a, b) = (words(a), words(b));
    let (fewer, more) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let begins =
        |word: &str, other: &str| word == other || word.len() >= 3 && other.starts_with(word);
    let matched =
        |word: &String| more.iter().any(|other| begins(word, other) || begins(other, word));
    let telling = fewer.iter().map(String::len).sum::<usize>() >= 3;
    !fewer.is_empty() && telling && fewer.iter().all(matched)
}

/// The words of a name in lower case: parted by separators, by capitals after small letters, and by
/// digits.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for character in name.chars().take(256) {
        if character.is_alphanumeric() {
            let begins = !previous.is_alphanumeric()
                || previous.is_lowercase() && character.is_uppercase()
                || previous.is_numeric() != character.is_numeric();
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(character.to_lowercase());
            }
        }
        previous = character;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("", &[]),
        ] {
            let found: Vec<_> = nearest(word, fields).iter().map(|near| near.candidate).collect();
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn swapped_neighbours_are_one_step() {
        let of = |a: &str, b: &str| {
            distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), 9)
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
