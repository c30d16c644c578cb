//! Strings in quotes, and where they end.

use serde_json::Value;

use super::mistake::MistakeKind;
use super::reader::{Reader, Step, TokenRole};

/// How far ahead a name or stray words are looked at, in bytes. What is longer is taken on trust; the
/// bound keeps the reading linear.
pub(super) const WINDOW: usize = 256;

/// The kinds of quotes a string may stand in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Quote {
    Double,
    Single,
    Backtick,
    /// `“…”`, `„…“`, `«…»`
    CurlyDouble,
    /// `‘…’`
    CurlySingle,
    /// `\"…\"`, or more backslashes at both ends: text that was escaped once or several times too often.
    Escaped {
        backslashes: usize,
    },
}

/// The most backslashes before a quote that still opens a string: three needless rounds of escaping.
const MOST_BACKSLASHES: usize = 7;

impl Quote {
    /// The quote that opens a string here. A code fence is none.
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
                // Each round of escaping makes 2n + 1 backslashes of n.
                (is_quote && matches!(backslashes, 1 | 3 | MOST_BACKSLASHES))
                    .then_some(Self::Escaped { backslashes })
            }
            _ => None,
        }
    }

    /// How many bytes the quote has here if it can close a string opened by `self`.
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

    /// The bytes of the opening quote.
    fn length(text: &[u8]) -> usize {
        match text.first() {
            Some(0xe2) => 3,
            Some(0xc2) => 2,
            Some(b'\\') => backslashes(text) + 1,
            _ => 1,
        }
    }

    /// Returns how many bytes an escape within the string has, from its backslash on.
    fn escape_length(self, text: &[u8]) -> usize {
        match self {
            Self::Escaped { backslashes: quote } => {
                // In text that was escaped too often a backslash of the content was escaped as often.
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

/// Counts the backslashes at the start of a text. It stops where more make no difference, which keeps the
/// reading linear.
fn backslashes(text: &[u8]) -> usize {
    text.iter().take(2 * (MOST_BACKSLASHES + 1)).take_while(|byte| **byte == b'\\').count()
}

/// The bytes that neither end a string nor are a mistake within it, whatever quotes it stands in.
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

/// Where a string ends: the end of its content, and where the reading goes on.
struct StringEnd {
    content: usize,
    resume: usize,
}

impl Reader<'_> {
    /// Reads a string as a value, with those joined to it by `+`.
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

    /// Reads a string in quotes. Nothing if it is a name and the text ends within it.
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
                            // `""text"`: the opening quote stands twice.
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

    /// A string in three quotes at each end, as Python has them.
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
        // Looked for once and remembered, or a text full of openings would be searched again and again.
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

    /// Finds where a string ends that nothing closes: before the brackets at the end of the text if they
    /// are exactly those still open, otherwise with the text.
    ///
    /// Brackets that close others within the string are part of it: a text that was cut off within program
    /// code often ends with some.
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
        // A name that was cut off is no name; a value that was cut off is at least a part of it.
        (role != TokenRole::Name).then_some(StringEnd { content: self.end, resume: self.end })
    }

    /// `"a": "b, "c": 1`: the quote at hand is followed by a colon, so the one before it opened a name,
    /// and the string ended before the comma or line break in front of that.
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

    /// Whether what follows a quote is what follows a string of this role.
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
                // A missing comma.
                Some(quote) if role == TokenRole::Member => {
                    self.name_follows(at, quote) == Some(true)
                }
                Some(_) => spaced,
                None => spaced && self.stray_words_end(at, role),
            },
        }
    }

    /// Whether a closing bracket after a string can be one: nothing follows that only a string holds.
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

    /// Whether what follows a comma is the next member or element.
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

    /// Whether the string that opens here is a name with its colon; nothing if it is too long to say
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

    /// Whether a word of no use stands before a name: `COMMENT "a": 1`.
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

    /// Returns true if only bare words stand before a bracket that can only close the object: `"a": "x", oops}`.
    ///
    /// A quote after the bracket suggests that words and bracket are part of the string.
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

    /// Whether words after a quote come to an end before another quote, so that they are not the rest
    /// of the string.
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
