//! Parses words, numbers and code without quotes.

use serde_json::{Number, Value};

use super::arithmetic::{compute, is_arithmetic};
use super::mistake::MistakeKind;
use super::quoted::WINDOW;
use super::reader::{Reader, Step, TokenRole, is_space};

/// Words that are a value in some language, with the mistake of using them. JSON's own words have none.
const LITERALS: &[(&str, Value, Option<MistakeKind>)] = &[
    ("true", Value::Bool(true), None),
    ("false", Value::Bool(false), None),
    ("null", Value::Null, None),
    ("True", Value::Bool(true), Some(MistakeKind::PythonLiteral)),
    ("False", Value::Bool(false), Some(MistakeKind::PythonLiteral)),
    ("None", Value::Null, Some(MistakeKind::PythonLiteral)),
    ("TRUE", Value::Bool(true), Some(MistakeKind::PythonLiteral)),
    ("FALSE", Value::Bool(false), Some(MistakeKind::PythonLiteral)),
    ("NULL", Value::Null, Some(MistakeKind::PythonLiteral)),
    ("Null", Value::Null, Some(MistakeKind::PythonLiteral)),
    ("nil", Value::Null, Some(MistakeKind::PythonLiteral)),
    ("undefined", Value::Null, Some(MistakeKind::Undefined)),
    ("NaN", Value::Null, Some(MistakeKind::NotANumber)),
    ("nan", Value::Null, Some(MistakeKind::NotANumber)),
    ("Infinity", Value::Null, Some(MistakeKind::NotANumber)),
    ("-Infinity", Value::Null, Some(MistakeKind::NotANumber)),
    ("inf", Value::Null, Some(MistakeKind::NotANumber)),
    ("-inf", Value::Null, Some(MistakeKind::NotANumber)),
];

/// The longest word that is tested as a number before its end is known, in bytes.
const LONGEST_NUMBER: usize = 32;

impl Reader<'_> {
    /// Parses a value without quotes: a number, a literal, code, or a string.
    pub(super) fn bare_value(&mut self, role: TokenRole) -> Step<Option<Value>> {
        let start = self.at;
        let stop = self.bare_end(role);
        let word = self.text[start..stop].trim_end();
        self.at = start + word.len();
        if word.is_empty() {
            // This character cannot start a value, such as a stray ':'.
            self.note(MistakeKind::StrayText, start);
            self.at = stop.max(start + self.text[start..].chars().next().map_or(1, char::len_utf8));
            return Ok(None);
        }
        let whole = stop == self.end && role != TokenRole::Root;
        if let Some((_, value, mistake)) = LITERALS.iter().find(|(literal, ..)| *literal == word) {
            if let Some(kind) = mistake {
                self.note(*kind, start);
            }
            self.skip_lone_quote();
            return Ok(Some(value.clone()));
        }
        if whole && LITERALS.iter().any(|(literal, ..)| literal.starts_with(word)) {
            self.note(MistakeKind::Truncated("a word"), self.end);
            return Ok(None);
        }
        let ends_bare = self.is_bare && (self.objects, self.arrays) == (1, 0);
        if whole && self.at == self.text.len() && !ends_bare {
            // The text ends with the word, so more digits or letters may be missing.
            let is_number = matches!(number(word), Numeric::Number(..));
            let within = if is_number { "a number" } else { "a word" };
            self.note(MistakeKind::Truncated(within), self.end);
            return Ok(None);
        }
        match number(word) {
            Numeric::Number(number, mistake) => {
                if let Some(kind) = mistake {
                    self.note(kind, start);
                }
                self.skip_lone_quote();
                return Ok(Some(Value::Number(number)));
            }
            Numeric::OutOfRange => return self.stop(MistakeKind::NumberOutOfRange, start),
            Numeric::None => {}
        }
        if whole
            && word
                .bytes()
                .all(|byte| matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E'))
        {
            self.note(MistakeKind::Truncated("a number"), self.end);
            return Ok(None);
        }
        if is_arithmetic(word) {
            let Some(number) = compute(word) else {
                self.note(MistakeKind::Expression, start);
                return Ok(Some(Value::Null));
            };
            self.note(MistakeKind::Computation, start);
            return Ok(Some(Value::Number(number)));
        }
        if is_code(word) {
            self.note(MistakeKind::Code, start);
            return Ok(Some(Value::Null));
        }
        if role == TokenRole::Root {
            self.note(MistakeKind::NoValue, start);
            self.at = self.end;
            return Ok(None);
        }
        let word = word.to_owned();
        if self.skip_lone_quote() {
            return Ok(Some(Value::String(word)));
        }
        self.note(MistakeKind::UnquotedString, start);
        Ok(Some(Value::String(word)))
    }

    /// Finds the end of a value without quotes: a comma, bracket, quote, comment or line break that is not part of
    /// it.
    fn bare_end(&self, role: TokenRole) -> usize {
        let bytes = &self.text.as_bytes()[..self.end];
        let lettered = bytes[self.at].is_ascii_alphabetic() || bytes[self.at] >= 0x80;
        let mut nested = 0_usize;
        let mut at = self.at;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'(' | b'[' | b'{' if at > self.at => nested += 1,
                b')' | b']' | b'}' if nested > 0 => nested -= 1,
                b')' | b']' | b'}' | b'\n' => return at,
                _ if nested > 0 => {}
                b' ' | b'\t' if role == TokenRole::Member && self.lacks_comma(at) => return at,
                b',' if !(lettered && role == TokenRole::Member) || self.goes_on(at + 1, role) => {
                    return at;
                }
                b':' if role == TokenRole::Element && at > self.at => return at,
                // This quote is an apostrophe inside a word.
                b'\''
                    if at > self.at
                        && bytes[at - 1].is_ascii_alphanumeric()
                        && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) => {}
                b'"' | b'\'' => return at,
                b'/' | b'#' | b'<' | b'`' if at > self.at && is_space(bytes[at - 1]) => {
                    let comment = matches!(&bytes[at..], [b'/', b'/' | b'*', ..] | [b'#', ..]);
                    if comment || self.end_marker(at) {
                        return at;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// True if a number or a literal ends at this space and the next name follows: `1 b: 2`.
    fn lacks_comma(&self, space: usize) -> bool {
        let word = &self.text[self.at..space];
        let complete = LITERALS.iter().any(|(literal, ..)| *literal == word)
            || word.len() <= LONGEST_NUMBER && !matches!(number(word), Numeric::None);
        complete && self.bare_name_follows(self.peek_from(space).1)
    }

    /// Skips a closing quote without an opening one: `12"`, `text"`. Returns true if there was one.
    fn skip_lone_quote(&mut self) -> bool {
        let lone = matches!(self.peek(), Some(b'"' | b'\''))
            && matches!(self.peek_from(self.at + 1).0, None | Some(b',' | b'}' | b']'));
        if lone {
            self.note(MistakeKind::UnbalancedQuote, self.at);
            self.at += 1;
        }
        lone
    }

    /// Parses a name without quotes, if there is one here with its colon.
    pub(super) fn bare_name(&mut self) -> Option<String> {
        let (name, end) = self.bare_name_at(self.at)?;
        let name = name.to_owned();
        if matches!(self.byte(end), Some(b'"' | b'\'')) {
            self.note(MistakeKind::UnbalancedQuote, end);
            self.at = end + 1;
        } else {
            self.note(MistakeKind::UnquotedName, self.at);
            self.at = end;
        }
        Some(name)
    }

    pub(super) fn bare_name_follows(&self, at: usize) -> bool {
        self.bare_name_at(at).is_some()
    }

    /// Returns the name without quotes at an offset, and its end. It may have a closing quote: `a": 1`.
    fn bare_name_at(&self, start: usize) -> Option<(&str, usize)> {
        let bytes = &self.text.as_bytes()[start..self.end.min(start + WINDOW)];
        let inside = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80
        };
        let first = *bytes.first()?;
        let length =
            bytes.iter().position(|&byte| !inside(byte) && !matches!(byte, b'-' | b'.' | b' '))?;
        let name = self.text.get(start..start + length)?.trim_end();
        let quote = usize::from(matches!(bytes[length], b'"' | b'\''));
        let next = self.peek_from(start + length + quote).0;
        (inside(first) && matches!(next, Some(b':' | b'='))).then_some((name, start + length))
    }

    /// True if a literal such as `true` or `None` starts here as a whole word.
    pub(super) fn literal_follows(&self, at: usize) -> bool {
        let bytes = &self.text.as_bytes()[at..self.end.min(at + 16)];
        let length = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        LITERALS.iter().any(|(literal, ..)| literal.as_bytes() == &bytes[..length])
    }

    /// Skips a word, or one character, that is not part of the value.
    pub(super) fn skip_stray_word(&mut self) {
        let rest = &self.text[self.at..self.end];
        let stops = |letter: char| {
            letter.is_whitespace()
                || matches!(letter, ',' | '{' | '}' | '[' | ']' | '"' | '\'' | ':')
        };
        let word = rest.find(stops).unwrap_or(rest.len());
        self.at += word.max(rest.chars().next().map_or(0, char::len_utf8));
    }
}

enum Numeric {
    Number(Number, Option<MistakeKind>),
    OutOfRange,
    None,
}

/// Parses a number in JSON's form, or in a form that only looks different.
fn number(word: &str) -> Numeric {
    let (negative, digits) = match word.as_bytes().first() {
        Some(b'-') => (true, &word[1..]),
        Some(b'+') => (false, &word[1..]),
        _ => (false, word),
    };
    let Some(&first) = digits.as_bytes().first() else { return Numeric::None };
    if !matches!(first, b'0'..=b'9' | b'.') {
        return Numeric::None;
    }
    let mut mistake = word.starts_with('+').then_some(MistakeKind::NumberForm);
    if let [b'0', base @ (b'x' | b'X' | b'o' | b'O' | b'b' | b'B'), rest @ ..] = digits.as_bytes() {
        let radix = match base.to_ascii_lowercase() {
            b'x' => 16,
            b'o' => 8,
            _ => 2,
        };
        // `from_str_radix` would accept another sign.
        let plain = rest.first().is_some_and(u8::is_ascii_alphanumeric);
        let value = plain.then(|| i64::from_str_radix(&digits[2..], radix).ok()).flatten();
        return match value {
            Some(value) => {
                let value = if negative { -value } else { value };
                Numeric::Number(value.into(), Some(MistakeKind::NumberForm))
            }
            None => Numeric::None,
        };
    }
    let mut plain = digits.to_owned();
    if digits.contains('_') {
        let between = digits.as_bytes().windows(3).filter(|near| near[1] == b'_');
        let good = between.clone().all(|near| near[0].is_ascii_digit() && near[2].is_ascii_digit());
        if !good || digits.ends_with('_') {
            return Numeric::None;
        }
        plain.retain(|letter| letter != '_');
        mistake = Some(MistakeKind::NumberForm);
    }
    let whole = plain.bytes().take_while(u8::is_ascii_digit).count();
    let after = &plain[whole..];
    if let Some(fraction) = after.strip_prefix('.')
        && (whole == 0 || !fraction.starts_with(|letter: char| letter.is_ascii_digit()))
    {
        mistake = Some(MistakeKind::NumberForm);
    }
    if whole > 1 && plain.starts_with('0') {
        mistake = Some(MistakeKind::LeadingZero);
    }
    if after.is_empty() {
        if negative {
            // Parsing with the sign also accepts the lowest integer, whose opposite does not fit.
            if let (Ok(integer), true) = (format!("-{plain}").parse::<i64>(), plain != "0") {
                return Numeric::Number(integer.into(), mistake);
            }
        } else if let Ok(integer) = plain.parse::<u64>() {
            return Numeric::Number(integer.into(), mistake);
        }
        if plain != "0" {
            mistake = Some(MistakeKind::RoundedNumber);
        }
    }
    // `parse` also accepts `inf` and `nan`, but they do not start with a digit or a point.
    match plain.parse::<f64>() {
        Err(_) => Numeric::None,
        Ok(value) => match Number::from_f64(if negative { -value } else { value }) {
            Some(number) => Numeric::Number(number, mistake),
            None => Numeric::OutOfRange,
        },
    }
}

/// True if a word is a name followed by a call or an index: `len(x)`, `data["a"]`.
fn is_code(word: &str) -> bool {
    let name = word
        .bytes()
        .take_while(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
        .count();
    name > 0
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && matches!(word.as_bytes().get(name), Some(b'(' | b'['))
}
