use super::count;
use crate::message::suggest::{Sought, folded, letters_of_words};

/// The number of letters of a name that are compared.
const LETTERS: usize = 64;
/// Words less alike than this are not alike.
const LEAST: f64 = 0.6;

/// A name in lower case, without its separators and word by word.
#[derive(Debug)]
pub(super) struct Name {
    letters: Vec<char>,
    /// The letters of the words, one word after the other.
    in_words: Vec<char>,
    /// The end of each word in the letters, and the word's [`letter_set`].
    ends: Vec<(usize, u64)>,
}

impl Name {
    /// A name, and behind it the same without its namespace, where it has one.
    pub(super) fn all_of(name: &str) -> Vec<Self> {
        let bare = without_namespace(name);
        let behind = (bare.len() < name.len()).then(|| Self::of(bare));
        std::iter::once(Self::of(name)).chain(behind).collect()
    }

    fn of(name: &str) -> Self {
        let (mut in_words, mut ends) = (Vec::with_capacity(name.len()), Vec::with_capacity(8));
        let mut start = 0;
        let mut end_word = |in_words: &[char]| {
            if in_words.len() > start {
                ends.push((in_words.len(), letter_set(&in_words[start..])));
                start = in_words.len();
            }
        };
        for (letter, begins) in letters_of_words(name) {
            if begins {
                end_word(&in_words);
            }
            in_words.extend(letter.to_lowercase());
        }
        end_word(&in_words);
        Self { letters: folded(name).collect(), in_words, ends }
    }

    /// All letters.
    pub(super) fn letters(&self) -> &[char] {
        &self.letters
    }

    /// The letters that are compared.
    fn first_letters(&self) -> &[char] {
        &self.letters[..self.letters.len().min(LETTERS)]
    }

    fn words(&self) -> impl Iterator<Item = (&[char], u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        let words = starts.zip(&self.ends);
        words.map(|(start, (end, letters))| (&self.in_words[start..*end], *letters))
    }
}

/// A name that is compared with many others.
pub(super) struct SoughtName<'n> {
    letters: Sought<'n>,
    words: Vec<(Sought<'n>, u64)>,
}

impl<'n> SoughtName<'n> {
    pub(super) fn of(name: &'n Name) -> Self {
        Self {
            letters: Sought::new(name.first_letters()),
            words: name.words().map(|(word, letters)| (Sought::new(word), letters)).collect(),
        }
    }

    /// From 0 to 1: letter by letter or word by word, whichever is nearer.
    pub(super) fn likeness(&self, other: &Name) -> f64 {
        if self.letters.len() == 0 || other.letters.is_empty() {
            return 0.0;
        }
        similarity(&self.letters, other.first_letters()).max(self.likeness_of_words(other))
    }

    /// The share of the letters whose words have a like word in the other name: the mean of both sides.
    fn likeness_of_words(&self, other: &Name) -> f64 {
        let mut nearest = vec![0.0_f64; other.ends.len()];
        let (mut here, mut there) = (LetterShare::default(), LetterShare::default());
        for (word, letters) in &self.words {
            let mut best = 0.0_f64;
            for ((offered, others), nearest) in other.words().zip(&mut nearest) {
                let likeness = likeness(word, *letters, offered, others);
                best = best.max(likeness);
                *nearest = nearest.max(likeness);
            }
            here.add(word.len(), best);
        }
        for ((word, _), nearest) in other.words().zip(nearest) {
            there.add(word.len(), nearest);
        }
        f64::midpoint(here.of_all(), there.of_all())
    }
}

/// Letters, and how many of them have a like word elsewhere.
#[derive(Default)]
struct LetterShare {
    letters: f64,
    found: f64,
}

impl LetterShare {
    fn add(&mut self, letters: usize, likeness: f64) {
        self.letters += count(letters);
        self.found += count(letters) * likeness;
    }

    fn of_all(&self) -> f64 {
        if self.letters == 0.0 { 0.0 } else { self.found / self.letters }
    }
}

/// The letters of a word as bits. Two letters may share one.
fn letter_set(word: &[char]) -> u64 {
    word.iter().fold(0, |set, letter| set | 1 << (u32::from(*letter) % 64))
}

/// Returns the likeness of two words, from 0.6 to 1, or 0 if they are less alike.
fn likeness(sought: &Sought<'_>, letters: u64, word: &[char], others: u64) -> f64 {
    // No distance is sought that could not be enough: it is at least the difference in length, and at
    // least the number of letters that one has and the other has not.
    let only_here = (letters & !others).count_ones().max((others & !letters).count_ones());
    let least = sought.len().abs_diff(word.len()).max(only_here as usize);
    let longer = count(sought.len().max(word.len()).max(1));
    if 1.0 - count(least) / longer < LEAST {
        return 0.0;
    }
    let similarity = similarity(sought, word);
    if similarity < LEAST { 0.0 } else { similarity }
}

fn similarity(sought: &Sought<'_>, word: &[char]) -> f64 {
    let longer = sought.len().max(word.len());
    let distance = sought.distance(word, longer);
    distance.map_or(0.0, |distance| 1.0 - count(distance) / count(longer.max(1)))
}

/// `functions.search`, `server__search`, `tools/search`: the name behind its namespace.
pub(super) fn without_namespace(name: &str) -> &str {
    let behind = |separator: &str| name.rfind(separator).map(|at| at + separator.len());
    let start = [".", "/", ":", "__"].into_iter().filter_map(behind).max().unwrap_or(0);
    if start < name.len() { &name[start..] } else { name }
}
