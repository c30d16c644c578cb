//! Decodes escapes, both those of JSON and those of other languages.

use super::mistake::MistakeKind;
use super::reader::Reader;

impl Reader<'_> {
    /// Returns the content between two offsets with its escapes resolved.
    pub(super) fn decoded(&mut self, start: usize, end: usize) -> String {
        let Some(raw) = self.text.get(start..end) else { return String::new() };
        let Some(first) = raw.find('\\') else { return raw.to_owned() };
        let (text, worst) = decode(raw, first);
        match worst {
            Some((kind, at)) => {
                self.note(kind, start + at);
                if kind == MistakeKind::InvalidEscape && is_drive_path(raw) {
                    // In a Windows path, no backslash was meant as an escape.
                    return raw.replace("\\\\", "\\");
                }
                text
            }
            None => text,
        }
    }

    /// Returns the content between two offsets of a string that has `backslashes` before each of its quotes.
    ///
    /// Undoes the rounds of escaping one by one. Models that escape the quotes too often do not always escape the
    /// content as often, so it stops at the first round that cannot be undone.
    pub(super) fn decoded_repeatedly(
        &mut self,
        start: usize,
        end: usize,
        backslashes: usize,
    ) -> String {
        let mut text = self.decoded(start, end);
        let mut left = backslashes;
        while left > 0 && text.contains('\\') {
            let Some(again) = decode_once(&text) else { break };
            text = again;
            left /= 2;
        }
        text
    }
}

/// Resolves the escapes of a text that was escaped as a whole. Returns `None` if any escape is not valid JSON.
pub(super) fn decode_once(text: &str) -> Option<String> {
    let (decoded, worst) = decode(text, 0);
    worst.is_none().then_some(decoded)
}

/// True for `C:\Users`, but not for `C:\\Users`.
fn is_drive_path(raw: &str) -> bool {
    matches!(raw.as_bytes(), [drive, b':', b'\\', next, ..] if drive.is_ascii_alphabetic() && *next != b'\\')
}

/// Resolves the escapes from the first backslash on. It also returns the place of the worst mistake: a lone
/// surrogate, then an invalid escape, then an escape of another language.
fn decode(raw: &str, first: usize) -> (String, Option<(MistakeKind, usize)>) {
    let mut text = String::with_capacity(raw.len());
    text.push_str(&raw[..first]);
    let mut foreign = None;
    let mut invalid = None;
    let mut lone = None;
    let mut rest = &raw[first..];
    while let Some(backslash) = rest.find('\\') {
        text.push_str(&rest[..backslash]);
        let at = raw.len() - rest.len() + backslash;
        let escape = &rest[backslash + 1..];
        let (character, length) = match escape.chars().next() {
            Some(same @ ('"' | '\\' | '/')) => (Some(same), 1),
            Some('n') => (Some('\n'), 1),
            Some('t') => (Some('\t'), 1),
            Some('r') => (Some('\r'), 1),
            Some('b') => (Some('\u{8}'), 1),
            Some('f') => (Some('\u{c}'), 1),
            Some('u') => match utf16(escape) {
                Some(decoded) => (Some(decoded.0), decoded.1),
                None => {
                    // A lone surrogate is a valid escape in JSON, but not a character.
                    if hexadecimal_unit(escape).is_some() {
                        lone = lone.or(Some(at));
                    }
                    (None, 0)
                }
            },
            Some(letter) => match foreign_escape(letter, escape) {
                Some(decoded) => {
                    foreign = foreign.or(Some(at));
                    decoded
                }
                None => (None, 0),
            },
            None => (None, 0),
        };
        if length == 0 {
            invalid = invalid.or(Some(at));
            text.push('\\');
        }
        text.extend(character);
        rest = &escape[length..];
    }
    text.push_str(rest);
    let lone = lone.map(|at| (MistakeKind::LoneSurrogate, at));
    let invalid = invalid.map(|at| (MistakeKind::InvalidEscape, at));
    (text, lone.or(invalid).or(foreign.map(|at| (MistakeKind::ForeignEscape, at))))
}

/// Decodes `\uXXXX`, or a pair of them. Returns `None` for a lone surrogate.
fn utf16(escape: &str) -> Option<(char, usize)> {
    let first = hexadecimal_unit(escape)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|character| (character, 5));
    }
    let second = hexadecimal(escape.get(5..11)?.strip_prefix("\\u")?)?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low).map(|character| (character, 11))
}

/// Decodes an unambiguous escape of Python, JavaScript or Markdown. Returns its character (none for a continued line)
/// and its length after the backslash.
fn foreign_escape(letter: char, escape: &str) -> Option<(Option<char>, usize)> {
    let coded = |digits: Option<&str>| {
        let digits = digits?;
        Some((Some(char::from_u32(hexadecimal(digits)?)?), 1 + digits.len()))
    };
    match letter {
        '\'' | '`' | '_' | '#' | '&' | '<' | '>' | '~' | '!' | '@' | '%' => Some((Some(letter), 1)),
        '\n' => Some((None, 1)),
        '0' if !escape[1..].starts_with(|next: char| next.is_ascii_digit()) => {
            Some((Some('\0'), 1))
        }
        'x' => coded(escape.get(1..3)),
        'U' => coded(escape.get(1..9)),
        _ => None,
    }
}

/// Returns the code unit of `uXXXX`.
fn hexadecimal_unit(escape: &str) -> Option<u32> {
    hexadecimal(escape.get(1..5)?)
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}
