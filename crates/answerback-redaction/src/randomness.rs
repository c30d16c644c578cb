//! Decides if a word is random or was written by a person.
//!
//! Every pair of neighboring characters has a weight. It compares the pair's frequency in random base-62 text with
//! that in names, words and code. The weight is the natural logarithm of the ratio, times ten, counted over API
//! schemas and English prose. The sum of the weights is far more accurate than Shannon entropy, which ranks
//! `getUserByIdFromCache` with a key.

/// The sum above which a word is random. In a random word, each character adds to the sum; in a written word, each
/// one lowers it. So a long word needs a lower sum than a short one.
struct Bound {
    /// The bound for the shortest words.
    shortest: i32,
    /// The amount by which the bound falls for each additional character.
    lower_for_each: i32,
    /// The lowest bound, for words of any length.
    lowest: i32,
}

/// The bound for words in mixed case. It misses about five of a million random base-62 words of 32 characters, and no
/// base64 words of 40. Of half a million names, words and paths in code and documents, it marks some 500 of up to 60
/// characters as random. Those include real keys and hashes.
const MIXED: Bound = Bound { shortest: 150, lower_for_each: 10, lowest: -30 };
/// The bound for words in a single case, whose characters carry less information.
const IN_ONE_CASE: Bound = Bound { shortest: 190, lower_for_each: 3, lowest: 100 };
/// The bound for words with `_` and `-`, with which people join parts that are not words: `ALLOC_2x996P484`.
const IN_PARTS: Bound = Bound { shortest: 160, lower_for_each: 0, lowest: 160 };
/// The lengths of a random secret. A longer word is content, such as an image in base64.
pub(super) const LENGTHS: std::ops::RangeInclusive<usize> = 20..=256;

/// For each letter from a to z, the rarity in words of each following letter from a to z, from 0 to 9.
#[rustfmt::skip]
const SELDOM: [&str; 26] = [
    "32224435374121626121344436", "34343456346255346435356547", "24342452372335146332346647",
    "23331455266445346334355657", "23113334465221433011434246", "34443257286343357344456758",
    "35552654386244447334466767", "26652566386555357444466857", "32233326665221236322636473",
    "58774788686877568758577988", "45552566477555567545565767", "24431445175245246533346546",
    "24442556275445326535356668", "25222315264443346421436656", "43225435464221338133233557",
    "25442353385245236133355638", "67657787698566876557377788", "14331445183433146322345637",
    "35241442274344234321234537", "24341452175344236123354535", "43443345386232536232666576",
    "35452455397435434434555677", "36564665397565467446566777", "46454566487656546653647567",
    "55455656587544538544666766", "57773787598667577878788676",
];

/// The same table as weights, in steps of nine. Zero means equally frequent in words and in random text.
const LETTER_PAIRS: [[i32; 26]; 26] = {
    let mut weights = [[0; 26]; 26];
    let mut first = 0;
    while first < 26 {
        let followers = SELDOM[first].as_bytes();
        let mut second = 0;
        while second < 26 {
            weights[first][second] = (followers[second] - b'0') as i32 * 9 - 45;
            second += 1;
        }
        first += 1;
    }
    weights
};

/// True if a word of letters, digits and `_ - + / .` is too random to be written by a person.
pub(super) fn is_random(word: &str) -> bool {
    let bytes = word.as_bytes();
    if !LENGTHS.contains(&bytes.len()) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if !mixed && !has(u8::is_ascii_digit) {
        return false;
    }
    // Digests are not secrets, even next to other text.
    let (mut sum, mut weighed) = (0, 0);
    for part in word.split(['_', '-', '.', '/']).filter(|part| !is_hexadecimal(part)) {
        sum += weigh(part);
        weighed += part.len();
    }
    let bound = if !mixed {
        IN_ONE_CASE
    } else if has(|byte| matches!(byte, b'_' | b'-')) {
        IN_PARTS
    } else {
        MIXED
    };
    sum > bound.of(weighed) && !is_text_in_base64(word)
}

impl Bound {
    /// Returns the bound for a number of characters.
    fn of(&self, characters: usize) -> i32 {
        let more = characters.saturating_sub(*LENGTHS.start());
        // The length of a word fits into 32 bits.
        let lower = i32::try_from(more).unwrap_or(i32::MAX).saturating_mul(self.lower_for_each);
        self.shortest.saturating_sub(lower).max(self.lowest)
    }
}

/// True if a word can be the start of a random one: it mixes uppercase and lowercase letters, or both with digits.
/// Such a short word cannot be weighed, so names such as `getUserById` also match. Only the last word of a truncated
/// text is checked in this way.
pub(super) fn begins_randomly(word: &str) -> bool {
    const LEAST: usize = 8;
    let has = |bytes: &[u8], is: fn(&u8) -> bool| bytes.iter().any(is);
    let bytes = word.as_bytes();
    bytes.len() >= LEAST
        && has(bytes, u8::is_ascii_lowercase)
        && (has(&bytes[1..], u8::is_ascii_uppercase)
            || has(bytes, u8::is_ascii_uppercase) && has(bytes, u8::is_ascii_digit))
        && !is_hexadecimal(word)
}

/// True if a word consists of the digits of a hash, an address or an id: hexadecimal in any case, with up to one
/// other character in five. Only a third of random base-62 characters are hexadecimal.
pub(super) fn is_hexadecimal(word: &str) -> bool {
    word.bytes().filter(u8::is_ascii_hexdigit).count() * 5 >= word.len() * 4
}

fn weigh(part: &str) -> i32 {
    part.as_bytes().windows(2).map(|pair| weight(pair[0], pair[1])).sum()
}

fn weight(first: u8, second: u8) -> i32 {
    let letters = || {
        let place = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
        LETTER_PAIRS[place(first)][place(second)]
    };
    // Words rarely contain this base64 character.
    if first == b'+' || second == b'+' {
        return 5;
    }
    let weight = match (class(first), class(second)) {
        (Class::Small, Class::Small) => letters(),
        (Class::Small, Class::Large) => 29,
        (Class::Large, Class::Small) => letters() + 38,
        (Class::Large, Class::Large) => letters() + 12,
        (Class::Small, Class::Digit) | (Class::Digit, Class::Small) => 21,
        (Class::Large, Class::Digit) | (Class::Digit, Class::Large) => 48,
        (Class::Digit, Class::Digit) => 3,
        (Class::Other, _) | (_, Class::Other) => 0,
    };
    // Ascending sequences such as `stuvwx` and `4567` are not random.
    let counts_up = first + 1 == second && first.is_ascii_alphanumeric();
    if counts_up { weight.min(-10) } else { weight }
}

#[derive(Clone, Copy)]
enum Class {
    Small,
    Large,
    Digit,
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Small,
        b'A'..=b'Z' => Class::Large,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Other,
    }
}

/// True if a word is readable text in base64. A random word decodes to printable characters once in ten million
/// times.
fn is_text_in_base64(word: &str) -> bool {
    decode_base64(word).is_some_and(|decoded| {
        decoded.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
            && std::str::from_utf8(&decoded).is_ok_and(|text| super::find(text).is_empty())
    })
}

/// Decodes a word in base64, in either alphabet, with or without padding.
pub(super) fn decode_base64(word: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(word.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in word.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push((bits >> held & 0xff) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_dice_from_hands() {
        for word in [
            "Zk3vN8qLw2Tx9RbY5sJm7cPd4HfGa1Ue",
            "wJalrXUtnFEMIK7MDENGbPxRfiCYzQ9vT2kLm8aB",
            "hT7kPq2WzX9mB4vR1nYc",
            "q7x2k9vj4w8zt1m5n3b6r0y4p8g2h7d1",
        ] {
            assert!(is_random(word), "{word}: {}", weigh(word));
        }
        for word in [
            "getUserByIdFromCacheV2",
            "calculate_compound_interest_2024",
            "STRING_LENGTH_VIOLATION",
            "HTTPServerResponseCode",
            "internationalization",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "550e8400-e29b-41d4-a716-446655440000",
            "src/main/java/com/example/App2Test",
            "IMG_20240101_123456_HDR",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV"[..19].trim(),
            "VGhlIHF1aWNrIGJyb3duIGZveA==",
            "build_002_456c7f5036f3ea3d_801d86cbc71833e9",
            "2024-01-01T00-00-00Z-backup",
            "abcdefghijklmnopqrstuvwxyz",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "0123456789012345678901234567",
        ] {
            assert!(!is_random(word), "{word}: {}", weigh(word));
        }
    }
}
