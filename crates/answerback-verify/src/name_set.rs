//! Finds expected member names in place, without parsing them first.

/// Returns the first eight bytes of a name as a number with the same sort order. Most comparisons
/// need no more.
pub(crate) const fn prefix(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let mut number = 0;
    let mut at = 0;
    while at < 8 {
        number = number << 8 | if at < name.len() { name[at] as u64 } else { 0 };
        at += 1;
    }
    number
}

/// The number of bytes that are compared at once: a name with its quotes. No name in a leaf is
/// longer.
const SPELLED: usize = 24;

/// A name with its quotes as three words, for a comparison in place.
#[derive(Clone, Copy)]
pub(crate) struct Spelling {
    words: [u64; 3],
    /// The mask of the compared bytes in each word.
    masks: [u64; 3],
    letter: u8,
    /// The length without the quotes.
    length: usize,
    prefix: u64,
}

impl Spelling {
    pub(crate) const fn of(name: &[u8]) -> Self {
        assert!(name.len() + 2 <= SPELLED, "a name is too long");
        let (mut bytes, mut compared) = ([0; SPELLED], [0; SPELLED]);
        let mut at = 0;
        while at < name.len() + 2 {
            bytes[at] = if at == 0 || at > name.len() { b'"' } else { name[at - 1] };
            compared[at] = u8::MAX;
            at += 1;
        }
        let (words, masks) = (words_of(&bytes), words_of(&compared));
        Self { words, masks, letter: bytes[1], length: name.len(), prefix: prefix(name) }
    }

    fn begins(&self, text: &[u64; 3]) -> bool {
        let differs = |at: usize| (text[at] ^ self.words[at]) & self.masks[at];
        differs(0) | differs(1) | differs(2) == 0
    }
}

const fn words_of(bytes: &[u8; SPELLED]) -> [u64; 3] {
    let (words, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]), u64::from_le_bytes(words[2])]
}

/// The sorted names that an object may have. A match does not need to find the name's end first.
pub(crate) struct NameSet {
    spellings: &'static [Spelling],
    /// The index of the first name for each initial byte.
    first: [u8; 128],
}

impl NameSet {
    pub(crate) const NONE: Self = Self::new(&[]);

    pub(crate) const fn new(spellings: &'static [Spelling]) -> Self {
        let mut first = [0; 128];
        let mut at = spellings.len();
        while at > 0 {
            at -= 1;
            let letter = spellings[at].letter;
            assert!(letter < 128 && at < 256, "names are few, and ASCII");
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the assertion above checks the range"
            )]
            let place = at as u8;
            first[letter as usize] = place;
        }
        Self { spellings, first }
    }

    /// Returns the length and the prefix of a name.
    pub(crate) fn length_and_prefix(&self, place: usize) -> (usize, u64) {
        let Spelling { length, prefix, .. } = self.spellings[place];
        (length, prefix)
    }

    /// Returns the index of the name at the start of a text, if the index is at least `expected`.
    #[inline]
    pub(crate) fn find(&self, text: &[u8], expected: usize) -> Option<usize> {
        let words = match text.first_chunk::<SPELLED>() {
            Some(bytes) => words_of(bytes),
            None => {
                let mut bytes = [0; SPELLED];
                bytes[..text.len()].copy_from_slice(text);
                words_of(&bytes)
            }
        };
        if self.spellings.get(expected)?.begins(&words) {
            return Some(expected);
        }
        let letter = words[0].to_le_bytes()[1];
        let mut place = usize::from(*self.first.get(usize::from(letter))?).max(expected + 1);
        while let Some(spelling) = self.spellings.get(place)
            && spelling.letter == letter
        {
            if spelling.begins(&words) {
                return Some(place);
            }
            place += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] =
        ["agent_id", "agent_ids", "kind", "quality_standards_met", "ts", "tsx", "v"];

    fn names() -> NameSet {
        const SPELLINGS: [Spelling; 7] = {
            let mut spellings = [Spelling::of(b""); 7];
            let mut at = 0;
            while at < 7 {
                spellings[at] = Spelling::of(NAMES[at].as_bytes());
                at += 1;
            }
            spellings
        };
        NameSet::new(&SPELLINGS)
    }

    #[test]
    fn a_name_is_found_with_its_quotes_and_nothing_less() {
        for (place, name) in NAMES.iter().enumerate() {
            for rest in ["", ":", ":1}", ":\"a value that is longer than three words\"}"] {
                let text = format!("\"{name}\"{rest}");
                assert_eq!(names().find(text.as_bytes(), 0), Some(place), "{text}");
                assert_eq!(names().find(text.as_bytes(), place), Some(place), "{text}");
                assert_eq!(names().find(text.as_bytes(), place + 1), None, "{text}");
                for at in 0..name.len() + 2 {
                    let cut = &text.as_bytes()[..at];
                    assert_eq!(names().find(cut, 0), None, "{cut:?}");
                    let mut changed = text.clone().into_bytes();
                    changed[at] ^= 1;
                    assert_eq!(names().find(&changed, 0), None, "{changed:?}");
                }
            }
        }
        for text in ["", "\"", "\"\u{e9}\"", "\"t\"", "\"tsy\"", "ts"] {
            assert_eq!(names().find(text.as_bytes(), 0), None, "{text}");
            assert_eq!(NameSet::NONE.find(text.as_bytes(), 0), None, "{text}");
        }
    }
}
