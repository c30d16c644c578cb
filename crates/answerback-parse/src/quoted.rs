//! Parses quoted strings and finds their ends.

use serde_json::Value;

use super::mistake::MistakeKind;
use super::reader::{Reader, Step, TokenRole};

/// The number of bytes of lookahead for a name or stray words. The limit keeps the parser linear. A longer name is
/// assumed to be correct.
pub(super) const WINDOW: usize = 256;

/// The kinds of quotes around a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Quote {
    Double,
    Single,
    Backtick,
    /// Typographic double quotes: `“…”`, `„…“`, `«…»`.
    CurlyDouble,
    /// Typographic single quotes: `‘…’`.
    CurlySingle,
    /// Quotes with one or more backslashes at both ends, as in `\"…\"`: the text was escaped too often.
    Escaped {
        backslashes: usize,
    },
}

/// The maximum number of backslashes before an opening quote: three unneeded rounds of escaping.
const MOST_BACKSLASHES: usize = 7;

impl Quote {
    /// Returns the quote that opens a string here. A code fence is not a quote.
    pub(super) fn at(text: &str, at: usize) -> Option<Self> {
        match text.as_bytes().get(at..)? {
            [b'"', ..] => Some(Self::Double),
            [b'\'', ..] => Some(Self::Single),
            [b'`', b'`', b'`', ..] => None,
            [b'`', ..] => Some(Self::Backtick),
            [0xe2, 0x80, 0x9c..=0x9f, ..] | [0xc2, 0xab | 0xbb, ..] => Some(Self::CurlyDouble),
            [0xe2, 0x80, 0x98..=0x9b, ..] => Some(Self::CurlySingle),
            rest @ [b'\\', ..] => {
                let backslashes = backslashes(rest);
                let is_quote = rest.get(backslashes) == Some(&b'"');
                // Each round of escaping turns n backslashes into 2n + 1.
                (is_quote && matches!(backslashes, 1 | 3 | MOST_BACKSLASHES))
                    .then_some(Self::Escaped { backslashes })
            }
            _ => None,
        }
    }

    /// Returns the length of the quote here, in bytes, if it can close a string opened by `self`.
    fn closing(self, text: &[u8]) -> Option<usize> {
        match (self, text) {
            (Self::Escaped { backslashes: opening }, [b'\\', ..]) => {
                let closing = backslashes(text);
                (closing == opening && text.get(closing) == Some(&b'"')).then_some(closing + 1)
            }
            (Self::Double | Self::CurlyDouble | Self::Escaped { .. }, [b'"', ..])
            | (Self::Single | Self::CurlySingle, [b'\'', ..])
            | (Self::Backtick, [b'`', ..]) => Some(1),
            (Self::CurlyDouble, [0xc2, 0xab | 0xbb, ..]) => Some(2),
            (Self::CurlyDouble, [0xe2, 0x80, 0x9c..=0x9f, ..])
            | (Self::CurlySingle, [0xe2, 0x80, 0x98..=0x9b, ..]) => Some(3),
            _ => None,
        }
    }

    /// Returns the length of the opening quote, in bytes.
    fn length(text: &[u8]) -> usize {
        match text.first() {
            Some(0xe2) => 3,
            Some(0xc2) => 2,
            Some(b'\\') => backslashes(text) + 1,
            _ => 1,
        }
    }

    /// Returns the length of an escape inside the string, in bytes, including its backslashes.
    fn escape_length(self, text: &[u8]) -> usize {
        match self {
            Self::Escaped { backslashes: quote } => {
                // In text that was escaped too often, each backslash of the content was escaped just as often.
                let backslash = 2 * (quote + 1);
                let length = backslashes(text);
                if length >= backslash { backslash } else { length + 1 }
            }
            _ => 2,
        }
    }

    const fn mistake(self) -> Option<MistakeKind> {
        match self {
            Self::Double => None,
            Self::Single => Some(MistakeKind::SingleQuotes),
            Self::Backtick | Self::CurlyDouble | Self::CurlySingle => Some(MistakeKind::OddQuotes),
            Self::Escaped { .. } => Some(MistakeKind::EscapedQuotes),
        }
    }
}

/// Counts the backslashes at the start of a text. It stops where more make no difference, which keeps the parser
/// linear.
fn backslashes(text: &[u8]) -> usize {
    text.iter().take(2 * (MOST_BACKSLASHES + 1)).take_while(|byte| **byte == b'\\').count()
}

/// Marks the bytes that neither end a string nor are a mistake inside one, for all kinds of quotes.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        is_plain[byte] = false;
        byte += 1;
    }
    let telling = [b'\\', b'"', b'\'', b'`', 0xc2, 0xe2];
    let mut index = 0;
    while index < telling.len() {
        is_plain[telling[index] as usize] = false;
        index += 1;
    }
    is_plain
};

/// The end of a string: the end of its content, and the offset at which parsing resumes.
struct StringEnd {
    content: usize,
    resume: usize,
}

impl Reader<'_> {
    /// Parses a string as a value, together with strings joined to it by `+`.
    pub(super) fn string_value(&mut self, quote: Quote, role: TokenRole) -> Step<Option<Value>> {
        let Some(mut text) = self.string(quote, role) else { return Ok(None) };
        loop {
            let (next, plus) = self.peek_from(self.at);
            let (_, operand) = self.peek_from(plus + 1);
            let joined = (next == Some(b'+')).then(|| Quote::at(self.text, operand)).flatten();
            let Some(quote) = joined else { return Ok(Some(Value::String(text))) };
            self.note(MistakeKind::JoinedStrings, plus);
            self.at = operand;
            text.push_str(&self.string(quote, role).unwrap_or_default());
        }
    }

    /// Parses a string in quotes. Returns `None` if the string is a name and the text ends inside it.
    pub(super) fn string(&mut self, quote: Quote, role: TokenRole) -> Option<String> {
        if let Some(kind) = quote.mistake() {
            self.note(kind, self.at);
        }
        if let Some(content) = self.triple_quoted(quote) {
            return Some(content);
        }
        let opening = self.at;
        let mut start = opening + Quote::length(&self.text.as_bytes()[opening..]);
        let mut at = start;
        let mut first_rejected = None;
        let mut last_rejected: Option<usize> = None;
        let mut control = None;
        let mut is_escaped = false;
        let end = loop {
            let rest = self.text.as_bytes()[..self.end].get(at..).unwrap_or_default();
            let plain = rest.iter().take_while(|byte| IS_PLAIN[usize::from(**byte)]).count();
            at += plain;
            let Some(byte) = rest.get(plain) else {
                break self.unclosed(start, role)?;
            };
            match byte {
                b'\\' if quote.closing(rest.get(plain..).unwrap_or_default()).is_none() => {
                    is_escaped = true;
                    at += quote.escape_length(rest.get(plain..).unwrap_or_default());
                    continue;
                }
                0..0x20 => control = control.or(Some(at)),
                b'\\' | b'"' | b'\'' | b'`' | 0xc2 | 0xe2 => {
                    if let Some(length) = quote.closing(&self.text.as_bytes()[at..self.end]) {
                        let after = at + length;
                        if self.closes(after, role) {
                            if *byte == b'"' && matches!(quote, Quote::Escaped { .. }) {
                                self.note(MistakeKind::UnbalancedQuote, at);
                            }
                            break StringEnd { content: at, resume: after };
                        }
                        if at == start && self.byte(after).is_some_and(|next| next > b' ') {
                            // In `""text"`, the opening quote is doubled.
                            self.note(MistakeKind::UnbalancedQuote, opening);
                            start = after;
                        } else {
                            if let Some(end) =
                                self.next_name_swallowed(after, role, start, last_rejected)
                            {
                                first_rejected =
                                    first_rejected.filter(|&rejected| rejected < end.content);
                                self.note(MistakeKind::UnbalancedQuote, end.content);
                                break end;
                            }
                            first_rejected = first_rejected.or(Some(at));
                            last_rejected = Some(at);
                        }
                        at = after;
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        };
        if let Some(rejected) = first_rejected {
            self.note(MistakeKind::UnescapedQuote, rejected);
        }
        if let Some(control) = control.filter(|&control| control < end.content) {
            self.note(MistakeKind::ControlCharacter, control);
        }
        self.at = end.resume;
        if !is_escaped {
            return Some(self.text.get(start..end.content).unwrap_or_default().to_owned());
        }
        match quote {
            Quote::Escaped { backslashes } => {
                Some(self.decoded_repeatedly(start, end.content, backslashes))
            }
            _ => Some(self.decoded(start, end.content)),
        }
    }

    /// Parses a Python string with three quotes at each end.
    fn triple_quoted(&mut self, quote: Quote) -> Option<String> {
        let (mark, kind) = match quote {
            Quote::Double => ("\"\"\"", 0),
            Quote::Single => ("'''", 1),
            _ => return None,
        };
        let start = self.at + 3;
        if !self.has(self.at, mark) {
            return None;
        }
        // The offset is searched once and stored. Otherwise a text full of openings would be searched again and
        // again.
        let known = self.triple[kind].filter(|&known| known >= start);
        let close = known.unwrap_or_else(|| {
            self.text[start..self.end].find(mark).map_or(usize::MAX, |found| start + found)
        });
        self.triple[kind] = Some(close);
        if close == usize::MAX {
            return None;
        }
        self.note(MistakeKind::TripleQuotes, self.at);
        self.at = close + 3;
        Some(self.decoded(start, close))
    }

    /// Finds the end of a string without a closing quote. It is before the brackets at the end of the text if they
    /// match exactly the open ones. Otherwise it is the end of the text.
    ///
    /// Brackets that close others inside the string belong to the string. Text that was truncated inside program code
    /// often ends with some.
    fn unclosed(&mut self, start: usize, role: TokenRole) -> Option<StringEnd> {
        let start = start.min(self.end);
        let content = &self.text[start..self.end];
        let closers = |tail: char| matches!(tail, '}' | ']') || tail.is_ascii_whitespace();
        let kept = content.trim_end_matches(closers);
        let count = |text: &str, bracket: u8| text.bytes().filter(|byte| *byte == bracket).count();
        let closes_all = |opener: u8, closer: u8, open: usize| {
            let is_balanced = count(kept, opener) <= count(kept, closer);
            is_balanced && count(&content[kept.len()..], closer) == open
        };
        let is_closed = closes_all(b'{', b'}', self.objects) && closes_all(b'[', b']', self.arrays);
        let is_open = self.objects + self.arrays > 0;
        if is_open && is_closed && role != TokenRole::Name {
            self.note(MistakeKind::UnbalancedQuote, start + kept.len());
            return Some(StringEnd { content: start + kept.len(), resume: start + kept.len() });
        }
        self.note(MistakeKind::Truncated("a string"), self.end);
        self.at = self.end;
        // A truncated name is useless, but a truncated value still holds a part of the text.
        (role != TokenRole::Name).then_some(StringEnd { content: self.end, resume: self.end })
    }

    /// Finds the end of a string whose missing closing quote made it include the next name: `"a": "b, "c": 1`. The
    /// current quote is followed by a colon, so the quote before it opened a name. The string ended before the comma
    /// or line break in front of that name.
    fn next_name_swallowed(
        &self,
        after: usize,
        role: TokenRole,
        start: usize,
        opened: Option<usize>,
    ) -> Option<StringEnd> {
        let opened = opened?;
        if role != TokenRole::Member || self.peek_from(after).0 != Some(b':') {
            return None;
        }
        let content = self.text[start..opened].trim_end_matches([' ', '\t']);
        let content = content.strip_suffix([',', '\n'])?.trim_end();
        let end = start + content.len();
        Some(StringEnd { content: end, resume: end })
    }

    /// True if the text after a quote can follow a string of this role.
    fn closes(&self, after: usize, role: TokenRole) -> bool {
        let (next, at) = self.peek_from(after);
        let Some(next) = next else { return true };
        let spaced = at > after;
        match (role, next) {
            (TokenRole::Root, _)
            | (TokenRole::Name, b':' | b'=' | b',' | b'}')
            | (TokenRole::Element, b':') => true,
            (TokenRole::Name, b'{' | b'[' | b'-' | b'0'..=b'9') | (TokenRole::Member, b'{') => {
                spaced
            }
            (TokenRole::Name, _) => spaced && Quote::at(self.text, at).is_some(),
            (_, b',') => self.goes_on(at + 1, role),
            (_, b'}' | b']' | b')') => self.bracket_fits(next, at),
            (_, b'/') => matches!(self.byte(at + 1), Some(b'/' | b'*')),
            (_, b'#') => spaced,
            (_, b'+') => {
                let (_, operand) = self.peek_from(at + 1);
                Quote::at(self.text, operand).is_some()
            }
            (_, b'<' | b'`') if self.end_marker(at) => true,
            (_, b';') => true,
            _ => match Quote::at(self.text, at) {
                // A comma is missing.
                Some(quote) if role == TokenRole::Member => {
                    self.name_follows(at, quote) == Some(true)
                }
                Some(_) => spaced,
                None => spaced && self.stray_words_end(at, role),
            },
        }
    }

    /// True if a closing bracket after a string can be a real bracket: the text after it does not look like more of
    /// the string.
    fn bracket_fits(&self, bracket: u8, at: usize) -> bool {
        let open = match bracket {
            b'}' => self.objects,
            _ => self.arrays,
        };
        let (next, after) = self.peek_from(at + 1);
        let Some(next) = next else { return true };
        if self.objects + self.arrays == 1 && open == 1 {
            return true;
        }
        matches!(next, b',' | b'}' | b']' | b')' | b'/' | b'#' | b';')
            || Quote::at(self.text, after).is_some()
            || self.end_marker(after)
            || self.text[at + 1..after].contains('\n')
    }

    /// True if the next member or element follows a comma.
    pub(super) fn goes_on(&self, after: usize, role: TokenRole) -> bool {
        let (next, at) = self.peek_from(after);
        let Some(next) = next else { return true };
        if matches!(next, b',' | b'}' | b']' | b')' | b'{' | b'[' | b'/' | b'#')
            || self.has(at, "...")
            || self.end_marker(at)
        {
            return true;
        }
        match (Quote::at(self.text, at), role) {
            (Some(quote), TokenRole::Member) => self.name_follows(at, quote).unwrap_or(true),
            (Some(_), _) => true,
            (None, TokenRole::Member) => {
                self.bare_name_follows(at)
                    || self.name_follows_stray_word(at)
                    || self.stray_words_close(at)
            }
            (None, _) => {
                matches!(next, b'-' | b'+' | b'.' | b'0'..=b'9' | b'(')
                    || self.literal_follows(at)
                    || self.stray_words_end(at, role)
            }
        }
    }

    /// Returns true if the string that opens here is a name with its colon. Returns `None` if it is too long to tell,
    /// or the text ends first.
    pub(super) fn name_follows(&self, opening: usize, quote: Quote) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let end = self.end.min(opening + WINDOW);
        let mut at = opening + Quote::length(&bytes[opening..]);
        while at < end {
            if let Some(length) = quote.closing(&bytes[at..self.end]) {
                let next = self.peek_from(at + length).0;
                return next.map(|next| matches!(next, b':' | b'='));
            } else if bytes[at] == b'\\' {
                at += quote.escape_length(&bytes[at..self.end]);
            } else {
                at += 1;
            }
        }
        None
    }

    /// True if an unrelated word precedes a name: `COMMENT "a": 1`.
    fn name_follows_stray_word(&self, at: usize) -> bool {
        let bytes = &self.text.as_bytes()[at..self.end.min(at + WINDOW)];
        let word =
            bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let (_, next) = self.peek_from(at + word);
        let quote = Quote::at(self.text, next);
        word > 0
            && next > at + word
            && quote.is_some_and(|quote| self.name_follows(next, quote) == Some(true))
    }

    /// True if only unquoted words precede a bracket that can only close the object: `"a": "x", oops}`.
    ///
    /// A quote after the bracket suggests that the words and the bracket belong to the string.
    fn stray_words_close(&self, at: usize) -> bool {
        let bytes = &self.text.as_bytes()[at..self.end.min(at + WINDOW)];
        let is_word =
            |byte: u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte) || byte >= 0x80;
        let Some(stop) = bytes.iter().position(|byte| !is_word(*byte)) else { return false };
        if bytes[stop] != b'}' {
            return false;
        }
        match self.peek_from(at + stop + 1) {
            (None | Some(b'}' | b']'), _) => true,
            (Some(b','), comma) => {
                let (_, name) = self.peek_from(comma + 1);
                Quote::at(self.text, name)
                    .is_some_and(|quote| self.name_follows(name, quote) == Some(true))
            }
            (Some(_), next) => self.end_marker(next),
        }
    }

    /// True if the words after a quote end before another quote, so that they are not the rest of the string.
    fn stray_words_end(&self, at: usize, role: TokenRole) -> bool {
        let bytes = &self.text.as_bytes()[at..self.end.min(at + WINDOW)];
        let stop =
            bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b'"' | b'\'' | b'\n'));
        match stop.map(|stop| (bytes[stop], at + stop)) {
            Some((b',', at)) if role == TokenRole::Member => {
                let (_, next) = self.peek_from(at + 1);
                Quote::at(self.text, next)
                    .is_some_and(|quote| self.name_follows(next, quote) == Some(true))
            }
            Some((b',', _)) => true,
            Some((bracket @ (b'}' | b']'), at)) => self.bracket_fits(bracket, at),
            _ => false,
        }
    }
}
