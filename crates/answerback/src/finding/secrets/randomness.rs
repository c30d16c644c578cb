//! Whether a word was thrown by dice or written by a person.
//!
//! Every pair of neighbouring characters is weighed by how much more often it occurs in random
//! base-62 text than in names, words and code (the natural logarithm of the ratio, times ten, counted
//! over the vocabulary of API schemas and English prose). The sum tells the two apart far better than
//! Shannon entropy, which ranks `getUserByIdFromCache` with a key.

/// The sum above which a word in mixed case is random. Of 50,000 random words of 32 characters the
/// lowest sum was 246; of the names of schemas and documents the highest was 187, all in capitals.
const RANDOM: i32 = 200;
/// The same for words in one case, whose characters tell less.
const RANDOM_IN_ONE_CASE: i32 = 240;
/// The lengths a random secret has. What is longer is content, such as an image in base64.
const LENGTHS: std::ops::RangeInclusive<usize> = 20..=256;

/// For each letter from a to z the letters that follow it in 95 % of the pairs in words.
#[rustfmt::skip]
const FOLLOWERS: [&str; 26] = [
    "bcdgiklmnprstuvwy", "aeilorsu", "acehiklorstu",
    "abdegiorsu", "abcdefgilmnpqrstvwx", "aefiloru",
    "aeghinorsu", "aeiort", "abcdefglmnoprstvxz",
    "", "eis", "adeilostuy",
    "abeimopsu", "acdefgiknostuv", "abcdfgiklmnoprstuvw",
    "aehiloprstu", "u", "acdegikmnorstuvy",
    "acehiklopstuy", "acehilorstuy", "abcdegilmnprst",
    "aeio", "aeio", "ept",
    "eps", "e",
];

/// The same as one bit a follower.
const COMMON_PAIRS: [u32; 26] = {
    let mut masks = [0; 26];
    let mut first = 0;
    while first < 26 {
        let followers = FOLLOWERS[first].as_bytes();
        let mut at = 0;
        while at < followers.len() {
            masks[first] |= 1 << (followers[at] - b'a');
            at += 1;
        }
        first += 1;
    }
    masks
};

/// Whether a word of letters, digits and `_ - + / .` is too random to be written by a person.
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
    let sum: i32 =
        word.split(['_', '-', '.']).filter(|part| !is_hexadecimal(part)).map(weigh).sum();
    sum > if mixed { RANDOM } else { RANDOM_IN_ONE_CASE } && !is_text_in_base64(word)
}

/// Whether a word may be the first characters of a random one: large and small letters mingle in it, or both
/// mingle with digits. So few characters cannot be weighed, so names such as `getUserById` count too: it is
/// asked only of the last word of a text that was cut off.
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

/// Whether a word is made of the digits of a hash, an address or an id: hexadecimal in any case, one
/// slip in five allowed. Of random base 62 only a third would be.
pub(super) fn is_hexadecimal(word: &str) -> bool {
    word.bytes().filter(u8::is_ascii_hexdigit).count() * 5 >= word.len() * 4
}

fn weigh(part: &str) -> i32 {
    part.as_bytes().windows(2).map(|pair| weight(pair[0], pair[1])).sum()
}

fn weight(first: u8, second: u8) -> i32 {
    let common = || {
        let letter = |byte: u8| byte.to_ascii_lowercase() - b'a';
        COMMON_PAIRS[usize::from(letter(first))] >> letter(second) & 1 == 1
    };
    // The sign of base64 that words have little use for.
    if first == b'+' || second == b'+' {
        return 5;
    }
    match (class(first), class(second)) {
        (Class::Small, Class::Small) => {
            if common() {
                -24
            } else {
                12
            }
        }
        (Class::Small, Class::Large) => 29,
        (Class::Large, Class::Small) => {
            if common() {
                11
            } else {
                53
            }
        }
        (Class::Large, Class::Large) => {
            if common() {
                -20
            } else {
                35
            }
        }
        (Class::Small, Class::Digit) | (Class::Digit, Class::Small) => 21,
        (Class::Large, Class::Digit) | (Class::Digit, Class::Large) => 48,
        (Class::Digit, Class::Digit) => 3,
        (Class::Other, _) | (_, Class::Other) => 0,
    }
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

/// Whether a word is readable text in base64: a random one decodes to printable characters once in
/// ten million times.
fn is_text_in_base64(word: &str) -> bool {
    decode_base64(word).is_some_and(|decoded| {
        decoded.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
            && std::str::from_utf8(&decoded).is_ok_and(|text| super::find(text).is_empty())
    })
}

/// The bytes that a word in base64, of either alphabet and with or without padding, stands for.
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
