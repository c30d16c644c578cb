//! Handles the text around the value: prose, tags, fences, further values.

use std::borrow::Cow;

use serde_json::Value;

use super::escape;
use super::mistake::{MistakeEffect, MistakeKind};
use super::quoted::Quote;
use super::reader::{Reader, Step, TokenRole};

impl Reader<'_> {
    /// Parses the whole text.
    pub(super) fn document(&mut self) -> Step<Option<Value>> {
        self.skip_space();
        self.skip_introduction();
        if let Some(value) = self.unescaped() {
            return Ok(Some(value));
        }
        let start = self.at;
        let value = match self.peek() {
            None => None,
            Some(_) if self.brackets_missing() => {
                self.note(MistakeKind::MissingBracket, start);
                self.is_bare = true;
                Some(self.object(None)?)
            }
            Some(_) => self.value(TokenRole::Root)?,
        };
        if value.is_none()
            && self.notes.iter().all(|(kind, _)| kind.effect() != MistakeEffect::Unreadable)
        {
            self.note(MistakeKind::NoValue, start);
        }
        self.end = self.text.len();
        self.note_what_follows();
        Ok(value)
    }

    /// Skips prose, tags and fences before the value.
    fn skip_introduction(&mut self) {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.starts_with(['{', '(']) || rest.starts_with('[') && self.opens_value(start) {
            return;
        }
        let opener = self.find_value(start);
        let before = &self.text[start..opener.unwrap_or(self.end)];
        let mut prose = before;
        if let Some(fence) = before.find("```") {
            self.note(MistakeKind::CodeFence, start + fence);
            prose = &before[..fence];
            // The content of a fence is the value, even if it is not an object or an array.
            let inside = before[fence..].trim_start_matches('`');
            let inside = inside.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
            if opener.is_none() || inside.trim_start().starts_with('(') {
                self.at = start + before.len() - inside.len();
                self.skip_space();
            }
        } else if let (Some(tag), Some(_)) = (before.find('<'), opener) {
            self.note(MistakeKind::Tag, start + tag);
            prose = &before[..tag];
        } else if opener.is_none() {
            return;
        }
        if !prose.trim().is_empty() {
            self.note(MistakeKind::LeadingText, start);
        }
        if let (Some(opener), true) = (opener, self.at == start) {
            self.at = opener;
        }
    }

    /// Finds the first bracket at or after an offset that opens a value.
    fn find_value(&self, start: usize) -> Option<usize> {
        let bytes = self.text[start..].bytes().enumerate();
        bytes
            .filter(|(_, byte)| matches!(byte, b'{' | b'['))
            .map(|(offset, _)| start + offset)
            .find(|&offset| self.opens_value(offset))
    }

    /// True if a value starts at this bracket, rather than a remark in prose.
    pub(super) fn opens_value(&self, opener: usize) -> bool {
        let (next, at) = self.peek_from(opener + 1);
        let Some(next) = next else { return true };
        match self.byte(opener) {
            Some(b'{') => {
                matches!(next, b'}' | b'\\' | b'/' | b'#')
                    || Quote::at(self.text, at).is_some()
                    || self.bare_name_follows(at)
            }
            _ => {
                matches!(next, b'{' | b'[' | b'(' | b']' | b'-' | b'\\' | b'/' | b'.' | b'0'..=b'9')
                    || Quote::at(self.text, at).is_some()
                    || self.literal_follows(at)
            }
        }
    }

    /// Records the mistakes in the text after the value.
    fn note_what_follows(&mut self) {
        self.skip_space();
        if self.at == self.text.len() {
            return;
        }
        let start = self.at;
        let rest = &self.text[start..];
        let first = rest.as_bytes()[0];
        let second = self.find_value(start);
        if rest.starts_with("```") {
            self.note(MistakeKind::CodeFence, start);
        } else if first == b'<' {
            self.note(MistakeKind::Tag, start);
        } else if matches!(first, b'}' | b']' | b')') {
            self.note(MistakeKind::ExtraBracket, start);
        } else if second.is_none() || !matches!(first, b'{' | b'[' | b',' | b';') {
            let comma = first == b',' && rest[1..].trim().is_empty();
            self.note(
                if comma { MistakeKind::ExtraComma } else { MistakeKind::TrailingText },
                start,
            );
        }
        if let Some(second) = second {
            self.note(MistakeKind::SecondValue, second);
        }
    }

    /// True if the text starts with a member, without an object around it: `"a": 1, "b": 2`.
    fn brackets_missing(&self) -> bool {
        let quote = Quote::at(self.text, self.at);
        quote.is_some_and(|quote| self.name_follows(self.at, quote) == Some(true))
    }

    /// Returns the value of JSON that was escaped as a whole, once or several times too often: `[[\"a\", 1]]`.
    ///
    /// The unescaped text must be valid JSON. The tolerant parser handles all other text, and unescapes each string
    /// on its own.
    fn unescaped(&mut self) -> Option<Value> {
        /// The maximum number of rounds of escaping that are undone. Each round halves the backslashes.
        const MOST_ROUNDS: usize = 3;
        let first = self.first_quote_is_escaped()?;
        let mut text = Cow::Borrowed(&self.text[self.at..]);
        for _ in 0..MOST_ROUNDS {
            text = Cow::Owned(escape::decode_once(&text)?);
            let inner = text.trim_end_matches(['"', '\'', ' ', '\n']);
            if let Ok(document) = crate::read(inner.as_bytes(), self.limits)
                && document.findings.is_empty()
            {
                self.note(MistakeKind::EscapedQuotes, first);
                return Some(document.value);
            }
        }
        None
    }

    /// Returns the offset of the backslash before the first quote, if only brackets and numbers come before it.
    fn first_quote_is_escaped(&self) -> Option<usize> {
        let rest = &self.text[self.at..self.end];
        let first = rest.find(['\\', '"', '\''])?;
        let is_structure =
            |byte: u8| byte.is_ascii_whitespace() || b"[{,:-+.0123456789eE".contains(&byte);
        let before = &rest.as_bytes()[..first];
        (rest.starts_with(['{', '['])
            && rest.as_bytes()[first] == b'\\'
            && before.iter().copied().all(is_structure))
        .then_some(self.at + first)
    }
}
