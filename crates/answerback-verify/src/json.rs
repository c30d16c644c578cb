//! Parses JSON that is already in the canonical form of RFC 8785, and rejects all other JSON.
//!
//! The parser borrows its input and allocates nothing. It accepts exactly one spelling of every
//! value: no spaces, unique members sorted by UTF-16, the shortest escapes. So accepted input
//! equals its canonical form, and no second pass is needed. Numbers are limited to those in leaves:
//! whole and below 2^53.

use std::ops::Range;

use crate::name_set::{NameSet, prefix};

/// The maximum nesting depth. Leaves have three levels.
const DEPTH: u32 = 8;
/// The first whole number that not every JSON parser represents exactly.
pub(crate) const NUMBER_LIMIT: u64 = 1 << 53;

/// True if a byte ends a string, or a run of characters without escapes.
fn ends_plain(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Returns the number of bytes before the first one that ends a run without escapes. It compares
/// eight bytes at a time.
fn plain_length(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        // A borrow can only set a wrong mark after a correct one, and only the first mark is used.
        let ends = (below(word, 0x20) | is(b'"') | is(b'\\')) & HIGH;
        if ends != 0 {
            return Some(number * 8 + ends.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| ends_plain(*byte))?;
    Some(words.len() * 8 + place)
}

/// The name of a member, with escapes as written.
#[derive(Clone, Copy)]
pub(crate) struct MemberName<'a> {
    pub(crate) text: &'a [u8],
    prefix: u64,
    /// The index of the name in the set of expected names.
    pub(crate) known: Option<usize>,
}

impl<'a> MemberName<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, prefix: prefix(text), known: None }
    }

    /// True if this name sorts first. RFC 8785 sorts names by their UTF-16 units, which for plain
    /// ASCII is byte order.
    fn is_before(self, other: Self, plain: bool) -> bool {
        if plain {
            self.prefix < other.prefix || self.prefix == other.prefix && self.text < other.text
        } else {
            units(self.text) < units(other.text)
        }
    }
}

/// The error for input that is not canonical, with its byte offset.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}, at byte {at}")]
pub(crate) struct FormError {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// A parser for canonical JSON with its current position.
pub(crate) struct CanonicalReader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> CanonicalReader<'a> {
    /// Starts at the beginning of the text.
    ///
    /// # Errors
    ///
    /// Returns the offset of the first byte that is not UTF-8.
    pub(crate) fn new(text: &'a [u8]) -> Result<Self, usize> {
        // Nearly all leaves are ASCII, which is faster to check.
        if !text.is_ascii() {
            std::str::from_utf8(text).map_err(|error| error.valid_up_to())?;
        }
        Ok(Self { text, at: 0 })
    }

    pub(crate) fn error<T>(&self, what: &'static str) -> Result<T, FormError> {
        Err(FormError { at: self.at, what })
    }

    /// Returns the offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), FormError> {
        if self.peek() != Some(byte) {
            return self.error(what);
        }
        self.at += 1;
        Ok(())
    }

    pub(crate) fn end(&self) -> Result<(), FormError> {
        if self.at == self.text.len() { Ok(()) } else { self.error("more follows the value") }
    }

    /// Parses a string and returns the range between its quotes. Escapes are not decoded.
    pub(crate) fn string(&mut self) -> Result<Range<usize>, FormError> {
        self.expect(b'"', "expected a string")?;
        let start = self.at;
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = plain_length(rest) else {
                self.at = self.text.len();
                return self.error("a string has no end");
            };
            self.at += length;
            match rest[length] {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                b'\\' => self.escape()?,
                _ => return self.error("a control character is not escaped"),
            }
        }
    }

    /// Parses a string without escapes and returns the text between its quotes.
    pub(crate) fn plain(&mut self) -> Result<&'a [u8], FormError> {
        self.expect(b'"', "expected a string")?;
        let rest = &self.text[self.at..];
        let Some(length) = plain_length(rest) else {
            return self.error("a string has no end");
        };
        self.at += length;
        match rest[length] {
            b'"' => {
                self.at += 1;
                Ok(&rest[..length])
            }
            b'\\' => {
                self.escape()?;
                self.error("a value has escapes")
            }
            _ => self.error("a control character is not escaped"),
        }
    }

    /// Parses a string of fixed length if `holds` accepts its bytes, which must exclude quotes and
    /// escapes. Otherwise it consumes nothing; call [`CanonicalReader::plain`] for the error.
    pub(crate) fn fixed<const LENGTH: usize>(
        &mut self,
        holds: impl Fn(&[u8; LENGTH]) -> bool,
    ) -> Option<&'a [u8; LENGTH]> {
        let (quote, rest) = self.text.get(self.at..)?.split_first()?;
        let (text, rest) = rest.split_first_chunk::<LENGTH>()?;
        if *quote != b'"' || rest.first() != Some(&b'"') || !holds(text) {
            return None;
        }
        self.at += LENGTH + 2;
        Some(text)
    }

    /// Parses a string of the bytes in `fits`, which must exclude quotes and escapes. Otherwise it
    /// consumes nothing.
    pub(crate) fn fit(&mut self, fits: &[bool; 256]) -> Option<&'a [u8]> {
        let (quote, rest) = self.text.get(self.at..)?.split_first()?;
        let length = rest.iter().position(|byte| !fits[usize::from(*byte)])?;
        if *quote != b'"' || rest[length] != b'"' {
            return None;
        }
        self.at += length + 2;
        Some(&rest[..length])
    }

    /// Checks an escape. RFC 8785 allows exactly one escape for each character that needs one.
    fn escape(&mut self) -> Result<(), FormError> {
        let rest = &self.text[self.at + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let low = if low.is_ascii_digit() { low - b'0' } else { low - b'a' + 10 };
                if matches!((high - b'0') * 16 + low, 8 | 9 | 10 | 12 | 13) {
                    return self.error("an escape is not the shortest");
                }
                6
            }
            _ => return self.error("an escape is not canonical"),
        };
        self.at += length;
        Ok(())
    }

    /// Parses a whole number that is not negative.
    pub(crate) fn number(&mut self) -> Result<u64, FormError> {
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let leading_zero = self.at > start && number == 0;
            number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            if leading_zero || number >= NUMBER_LIMIT {
                return self.error("a number has a leading zero or is too large");
            }
            self.at += 1;
        }
        if self.at == start || matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return self.error("expected a whole number");
        }
        Ok(number)
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, FormError> {
        for (word, value) in [("true", true), ("false", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.error("expected true or false")
    }

    /// Parses the name of a member. It looks for names from index `expected` on first. The flag is
    /// true if the name is ASCII without escapes.
    fn name(
        &mut self,
        names: &NameSet,
        expected: usize,
    ) -> Result<(MemberName<'a>, bool), FormError> {
        let rest = &self.text[self.at..];
        if let Some(number) = names.find(rest, expected) {
            let (length, prefix) = names.length_and_prefix(number);
            self.at += length + 2;
            let name = MemberName { text: &rest[1..=length], prefix, known: Some(number) };
            return Ok((name, true));
        }
        let start = self.at;
        if let Ok(text) = self.plain() {
            return Ok((MemberName::new(text), text.is_ascii()));
        }
        self.at = start;
        Ok((MemberName::new(&self.text[self.string()?]), false))
    }

    /// Parses an object and calls `member` to parse each value. Members must be sorted and unique.
    /// A name that is in `names` gets its index there.
    pub(crate) fn object(
        &mut self,
        names: &NameSet,
        mut member: impl FnMut(&mut Self, MemberName<'a>) -> Result<(), FormError>,
    ) -> Result<(), FormError> {
        self.expect(b'{', "expected an object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut previous: Option<MemberName<'_>> = None;
        // True while every name was ASCII without escapes.
        let mut plain = true;
        let mut expected = 0;
        loop {
            let (name, is_plain) = self.name(names, expected)?;
            plain &= is_plain;
            expected = name.known.map_or(expected, |number| number + 1);
            // Two known names are in order, because the search for the second started after the
            // first.
            let in_order = previous.is_none_or(|previous| {
                previous.known.is_some() && name.known.is_some() || previous.is_before(name, plain)
            });
            if !in_order {
                return self.error("members are not sorted, or one comes twice");
            }
            previous = Some(name);
            self.expect(b':', "expected a colon")?;
            member(self, name)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect(b'}', "expected a comma or the end of the object"),
            }
        }
    }

    /// Parses an array and calls `item` to parse each value.
    pub(crate) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), FormError>,
    ) -> Result<(), FormError> {
        self.expect(b'[', "expected a list")?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.expect(b']', "expected a comma or the end of the list"),
            }
        }
    }

    /// Skips a value of any kind, which must also be canonical.
    pub(crate) fn skip(&mut self) -> Result<(), FormError> {
        self.skip_nested(DEPTH)
    }

    fn skip_nested(&mut self, depth: u32) -> Result<(), FormError> {
        let Some(inner) = depth.checked_sub(1) else { return self.error("nested too deep") };
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(&NameSet::NONE, |reader, _| reader.skip_nested(inner)),
            Some(b'[') => self.array(|reader| reader.skip_nested(inner)),
            Some(b't' | b'f') => self.boolean().map(drop),
            Some(b'n') if self.text[self.at..].starts_with(b"null") => {
                self.at += 4;
                Ok(())
            }
            Some(b'-') => {
                self.at += 1;
                if self.number()? == 0 { self.error("zero has no sign") } else { Ok(()) }
            }
            _ => self.number().map(drop),
        }
    }
}

/// Returns the UTF-16 units of a name with canonical escapes.
fn units(name: &[u8]) -> Vec<u16> {
    let name = String::from_utf8_lossy(name);
    let mut letters = name.chars();
    let mut units = Vec::new();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => match letters.next() {
                Some('b') => '\u{8}',
                Some('t') => '\t',
                Some('n') => '\n',
                Some('f') => '\u{c}',
                Some('r') => '\r',
                Some('u') => {
                    let digits: String = letters.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or('\0')
                }
                Some(other) => other,
                None => break,
            },
            letter => letter,
        };
        units.extend_from_slice(letter.encode_utf16(&mut [0; 2]));
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Result<(), FormError> {
        let mut reader = CanonicalReader::new(text.as_bytes()).unwrap();
        reader.skip()?;
        reader.end()
    }

    /// Checks the published test pairs of RFC 8785 without fractions. Each pair is an input and its
    /// canonical form.
    #[test]
    fn takes_the_canonical_form_of_the_vectors_and_not_their_input() {
        let vectors = [
            // The pair `arrays`.
            (
                "[\n  56,\n  {\n    \"d\": true,\n    \"10\": null,\n    \"1\": [ ]\n  }\n]",
                "[56,{\"1\":[],\"10\":null,\"d\":true}]",
            ),
            // The pair `structures`.
            (
                "{ \"1\": {\"f\": {\"f\": \"hi\",\"F\": 5} ,\"\\n\": 56}, \"10\": { }, \"\": \"empty\", \"a\": { }, \"111\": [ {\"e\": \"yes\",\"E\": \"no\" } ], \"A\": { } }",
                "{\"\":\"empty\",\"1\":{\"\\n\":56,\"f\":{\"F\":5,\"f\":\"hi\"}},\"10\":{},\"111\":[{\"E\":\"no\",\"e\":\"yes\"}],\"A\":{},\"a\":{}}",
            ),
            // The pair `unicode`: no normalization.
            (
                "{ \"Unnormalized Unicode\":\"A\\u030a\" }",
                "{\"Unnormalized Unicode\":\"A\u{30a}\"}",
            ),
            // The pair `french`.
            (
                "{ \"peach\": \"x\", \"péché\": \"y\", \"pêche\": \"z\", \"sin\": \"w\" }",
                "{\"peach\":\"x\",\"péché\":\"y\",\"pêche\":\"z\",\"sin\":\"w\"}",
            ),
            // The pair `weird`: in UTF-16 order, a surrogate pair sorts before U+FB33.
            (
                "{ \"\\u20ac\": \"Euro Sign\", \"\\r\": \"Carriage Return\" }",
                "{\"\\n\":\"Newline\",\"\\r\":\"Carriage Return\",\"1\":\"One\",\"</script>\":\"Browser Challenge\",\"\u{80}\":\"Control\u{7f}\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😂\":\"Smiley\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
        ];
        for (input, form) in vectors {
            assert_eq!(canonical(form), Ok(()), "{form}");
            assert!(canonical(input).is_err(), "{input}");
        }
    }

    #[test]
    fn a_stretch_ends_at_the_first_byte_that_ends_it() {
        for byte in 0..=u8::MAX {
            for other in [b' ', b'!', b'#', 0x1f, b'"', b'\\', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                for place in 0..20 {
                    let mut text = [b'a'; 20];
                    text[place] = byte;
                    text[19] = other;
                    let expected = text.iter().position(|byte| ends_plain(*byte));
                    assert_eq!(plain_length(&text), expected, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn names_sort_as_their_bytes_do() {
        let names = ["", "a", "aa", "agent_id", "agent_ids", "agent_type", "b", "ts", "tsx"];
        for (place, left) in names.iter().enumerate() {
            for (other, right) in names.iter().enumerate() {
                let (left, right) =
                    (MemberName::new(left.as_bytes()), MemberName::new(right.as_bytes()));
                assert_eq!(left.is_before(right, true), place < other);
                assert_eq!(left.is_before(right, false), place < other);
            }
        }
    }

    #[test]
    fn refuses_every_second_spelling() {
        for text in [
            "",
            " {}",
            "{} ",
            "{\"a\":1,\"a\":2}",
            "{\"b\":1,\"a\":2}",
            "{\"\u{fb33}\":1,\"😂\":2}",
            "{\"a\" :1}",
            "[1,]",
            "[01]",
            "[-0]",
            "[1.0]",
            "[1e3]",
            "[9007199254740992]",
            "[\"\\/\"]",
            "[\"\\u0041\"]",
            "[\"\\u000a\"]",
            "[\"\\u001F\"]",
            "[\"\n\"]",
            "[\"a]",
            "[nul]",
            "[[[[[[[[[]]]]]]]]]",
        ] {
            assert!(canonical(text).is_err(), "{text}");
        }
        for text in ["[9007199254740991,-1,0]", "[\"\\u001f\\b\\\"\\\\/\"]", "{\"\\n\":1,\"1\":2}"]
        {
            assert_eq!(canonical(text), Ok(()), "{text}");
        }
    }
}
