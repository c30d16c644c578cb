//! The tolerant parser for objects and arrays.
//!
//! It passes through the text once. Where it must look ahead (does this quote close the string?), the distance is
//! limited. So the work stays linear in the length of the text.

use answerback_json::{Limits, MAX_OUTPUT_DEPTH};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::mistake::MistakeKind;
use super::quoted::Quote;
use super::read::FEW_MEMBERS;

/// The result of tolerant parsing: the value, if any, and each kind of mistake with its first offset.
pub(super) struct TolerantDocument {
    pub(super) value: Option<Value>,
    pub(super) notes: Vec<(MistakeKind, usize)>,
}

/// Parses any text as the JSON that it was probably meant to be.
pub(super) fn read_tolerantly(text: &str, limits: Limits) -> TolerantDocument {
    let mut reader = Reader::new(text, limits);
    let value = reader.document().unwrap_or_default();
    TolerantDocument { value, notes: reader.notes }
}

/// The error for a parser that stops because of a limit or an unusable number.
pub(super) struct Stop;

pub(super) type Step<T> = Result<T, Stop>;

/// The role of a string or a word. It determines the text that may follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TokenRole {
    /// The name of a member.
    Name,
    /// The value of a member.
    Member,
    /// An element of an array.
    Element,
    /// The whole text.
    Root,
}

/// The next part of an object.
enum ObjectStep {
    Name(String),
    /// The first name has no value: `{"a", "b"}`.
    Set(String),
    End,
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The end of the text to parse: its length, or the offset of a tag or a second object.
    pub(super) end: usize,
    /// The number of open objects; `arrays` holds the number of open arrays.
    pub(super) objects: usize,
    pub(super) arrays: usize,
    /// True if the text starts with a member, so that no bracket closes the outermost object.
    pub(super) is_bare: bool,
    /// The offset of the next triple quote of each kind, after the first search for it.
    pub(super) triple: [Option<usize>; 2],
    pub(super) limits: Limits,
    pub(super) notes: Vec<(MistakeKind, usize)>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, mut limits: Limits) -> Self {
        limits.max_depth = limits.max_depth.min(MAX_OUTPUT_DEPTH);
        Self {
            text,
            at: 0,
            end: text.len(),
            objects: 0,
            arrays: 0,
            is_bare: false,
            triple: [None; 2],
            limits,
            notes: Vec::new(),
        }
    }

    /// Parses the value at the current offset. Returns `None` if the text ends first or the characters form no value.
    pub(super) fn value(&mut self, role: TokenRole) -> Step<Option<Value>> {
        match self.peek() {
            None => Ok(None),
            Some(b'{') => {
                self.enter()?;
                Ok(Some(self.object(None)?))
            }
            Some(b'[') => {
                self.enter()?;
                Ok(Some(Value::Array(self.array(b']', Vec::new(), role)?)))
            }
            Some(b'(') => self.tuple().map(Some),
            Some(byte) => {
                if let Some(quote) = Quote::at(self.text, self.at) {
                    return self.string_value(quote, role);
                }
                if matches!(self.byte(self.at + 1), Some(b'"' | b'\''))
                    && let Some(kind) = string_prefix(byte)
                {
                    self.note(kind, self.at);
                    self.at += 1;
                    return self.value(role);
                }
                self.bare_value(role)
            }
        }
    }

    /// Steps over an opening bracket.
    fn enter(&mut self) -> Step<()> {
        self.deepen(self.at)?;
        self.at += 1;
        Ok(())
    }

    /// Stops if one more level would exceed the maximum depth.
    fn deepen(&mut self, at: usize) -> Step<()> {
        if self.objects + self.arrays >= self.limits.max_depth {
            return self.stop(MistakeKind::OverLimit, at);
        }
        Ok(())
    }

    /// Parses the members of an object up to its end. The caller may have parsed the first name already.
    pub(super) fn object(&mut self, first: Option<String>) -> Step<Value> {
        self.objects += 1;
        let mut members = Map::with_capacity(FEW_MEMBERS);
        let mut pending = first;
        let mut separated = true;
        loop {
            let start = self.at;
            let next = match pending.take() {
                Some(name) => ObjectStep::Name(name),
                None => self.next_name(members.is_empty(), separated)?,
            };
            let name = match next {
                ObjectStep::End => break,
                ObjectStep::Name(name) => name,
                ObjectStep::Set(first) => {
                    self.objects -= 1;
                    return Ok(Value::Array(self.array(
                        b'}',
                        vec![Value::String(first)],
                        TokenRole::Root,
                    )?));
                }
            };
            self.skip_space();
            match self.peek() {
                Some(b',' | b'}' | b']') => {
                    self.note(MistakeKind::MissingValue, self.at);
                }
                None => self.note(MistakeKind::Truncated("an object"), self.end),
                Some(_) => {
                    if let Some(value) = self.value(TokenRole::Member)? {
                        self.keep(&mut members, name, value, start);
                    }
                }
            }
            separated = self.separator();
        }
        self.objects -= 1;
        Ok(Value::Object(members))
    }

    /// Adds a member. A repeated name is reported as one kind of mistake if the values are equal, and as another if
    /// they differ.
    fn keep(&mut self, members: &mut Map<String, Value>, name: String, value: Value, start: usize) {
        match members.entry(name) {
            Entry::Vacant(free) => drop(free.insert(value)),
            Entry::Occupied(mut earlier) => {
                let is_same = *earlier.get() == value;
                let kind =
                    if is_same { MistakeKind::RepeatedName } else { MistakeKind::ConflictingName };
                self.note(kind, start);
                earlier.insert(value);
            }
        }
    }

    /// Parses up to the next member's value: its name and the colon, or the end of the object.
    fn next_name(&mut self, first: bool, mut separated: bool) -> Step<ObjectStep> {
        loop {
            self.skip_space();
            let start = self.at;
            let Some(byte) = self.peek() else {
                self.note_end("an object", separated && !first);
                return Ok(ObjectStep::End);
            };
            let quoted_name = match byte {
                b'}' => {
                    self.at += 1;
                    if self.objects + self.arrays == 1 && self.members_go_on() {
                        self.note(MistakeKind::MisplacedBracket, start);
                        separated |= self.separator();
                        continue;
                    }
                    return Ok(ObjectStep::End);
                }
                b',' => {
                    self.note(MistakeKind::ExtraComma, start);
                    self.at += 1;
                    continue;
                }
                b']' | b')' if self.arrays > 0 => {
                    self.note(MistakeKind::MissingBracket, start);
                    return Ok(ObjectStep::End);
                }
                b']' | b')' => {
                    self.note(MistakeKind::MisplacedBracket, start);
                    self.at += 1;
                    separated |= self.separator();
                    continue;
                }
                b'.' if self.skip_ellipsis() => continue,
                b'{' | b'<' | b'`' if self.cuts_off(separated) => {
                    self.note(MistakeKind::MissingBracket, start);
                    self.end = start;
                    return Ok(ObjectStep::End);
                }
                b'{' | b'[' | b'(' => {
                    self.note(MistakeKind::MissingName, start);
                    self.value(TokenRole::Member)?;
                    separated |= self.separator();
                    continue;
                }
                _ => Quote::at(self.text, start),
            };
            let name = if let Some(quote) = quoted_name {
                let Some(name) = self.string(quote, TokenRole::Name) else {
                    return Ok(ObjectStep::End);
                };
                self.skip_space();
                if first && matches!(self.peek(), Some(b',' | b'}')) {
                    self.note(MistakeKind::Set, start);
                    return Ok(ObjectStep::Set(name));
                }
                name
            } else if let Some(name) = self.bare_name() {
                name
            } else {
                let kind = match (byte, first) {
                    (b'0'..=b'9', _) => MistakeKind::ThousandsSeparator,
                    (_, true) => MistakeKind::MissingName,
                    (_, false) => MistakeKind::StrayText,
                };
                self.note(kind, start);
                self.skip_stray_word();
                separated |= self.separator();
                continue;
            };
            if name.len() > self.limits.max_key_bytes {
                return self.stop(MistakeKind::OverLimit, start);
            }
            if !separated {
                self.note(MistakeKind::MissingComma, start);
            }
            self.colon();
            return Ok(ObjectStep::Name(name));
        }
    }

    /// Skips the colon after a name, or the characters in its place.
    fn colon(&mut self) {
        self.skip_space();
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                while self.peek() == Some(b':') {
                    self.note(MistakeKind::StrayText, self.at);
                    self.at += 1;
                }
            }
            Some(b'=') => {
                self.note(MistakeKind::MissingColon, self.at);
                self.at += 1;
                self.at += usize::from(self.peek() == Some(b'>'));
            }
            None | Some(b',' | b'}' | b']') => {}
            Some(_) => self.note(MistakeKind::MissingColon, self.at),
        }
    }

    /// Skips the separator of two members or elements. Returns true if there was one.
    fn separator(&mut self) -> bool {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                if matches!(self.peek(), Some(b'}' | b']')) {
                    self.note(MistakeKind::ExtraComma, start);
                }
                true
            }
            Some(b';') => {
                self.note(MistakeKind::MissingComma, start);
                self.at += 1;
                true
            }
            _ => false,
        }
    }

    /// True if more members follow the bracket that should have ended the root: `}, "b": 2}`.
    fn members_go_on(&self) -> bool {
        let (next, comma) = self.peek_from(self.at);
        next == Some(b',') && {
            let (_, at) = self.peek_from(comma + 1);
            Quote::at(self.text, at).is_some_and(|quote| self.name_follows(at, quote) == Some(true))
        }
    }

    /// True if a bracket, tag or fence in place of a name can only come after the object.
    fn cuts_off(&self, separated: bool) -> bool {
        match self.peek() {
            Some(b'{') => !separated && self.opens_value(self.at),
            _ => self.end_marker(self.at),
        }
    }

    /// True if a tag or a fence that marks the end of a call starts here.
    pub(super) fn end_marker(&self, at: usize) -> bool {
        self.has(at, "```")
            || self.byte(at) == Some(b'<')
                && ["</", "<|", "<tool", "<function"].iter().any(|marker| self.has(at, marker))
    }

    /// Parses the elements of an array up to its end. The caller may have parsed some already.
    fn array(&mut self, closer: u8, mut elements: Vec<Value>, role: TokenRole) -> Step<Vec<Value>> {
        self.arrays += 1;
        let mut after_last = self.at;
        if !elements.is_empty() {
            self.separator();
        }
        let mut separated = true;
        loop {
            self.skip_space();
            let start = self.at;
            let Some(byte) = self.peek() else {
                // After the text ends, the number of missing elements is unknown.
                self.note_end("an array", !elements.is_empty());
                break;
            };
            match byte {
                _ if byte == closer => {
                    self.at += 1;
                    break;
                }
                b'}' if self.objects > 0 => {
                    self.note(MistakeKind::MissingBracket, start);
                    break;
                }
                b']' => {
                    self.note(MistakeKind::MisplacedBracket, start);
                    self.at += 1;
                    break;
                }
                b')' | b'}' => {
                    self.note(MistakeKind::MisplacedBracket, start);
                    self.at += 1;
                    continue;
                }
                b',' => {
                    self.note(MistakeKind::ExtraComma, start);
                    self.at += 1;
                    continue;
                }
                b'.' if self.skip_ellipsis() => {
                    separated = self.separator();
                    continue;
                }
                b'<' | b'`' if self.end_marker(start) => {
                    self.note(MistakeKind::MissingBracket, start);
                    self.end = start;
                    break;
                }
                _ => {}
            }
            if !separated {
                self.note(MistakeKind::MissingComma, start);
            }
            let Some(mut value) = self.value(TokenRole::Element)? else { continue };
            self.skip_space();
            if self.peek() == Some(b':') {
                if role == TokenRole::Member && !elements.is_empty() && value.is_string() {
                    // `"a": [1, "b": 2`: the array ended before this name.
                    self.note(MistakeKind::MissingBracket, after_last);
                    self.at = after_last;
                    break;
                }
                if let Value::String(name) = value {
                    self.deepen(start)?;
                    self.note(MistakeKind::MembersInArray, start);
                    self.at += 1;
                    value = self.object(Some(name))?;
                } else {
                    self.note(MistakeKind::MissingName, self.at);
                    self.at += 1;
                }
            }
            elements.push(value);
            after_last = self.at;
            separated = self.separator();
        }
        self.arrays -= 1;
        Ok(elements)
    }

    /// Parses a tuple, or a single value in parentheses.
    fn tuple(&mut self) -> Step<Value> {
        let start = self.at;
        self.enter()?;
        let mut elements = self.array(b')', Vec::new(), TokenRole::Root)?;
        self.note(MistakeKind::Tuple, start);
        let written = self.text[start..self.at].trim_end_matches(')').trim_end();
        if elements.len() == 1 && !written.ends_with(',') {
            return Ok(elements.remove(0));
        }
        Ok(Value::Array(elements))
    }

    /// Records a mistake. Each kind is recorded only at its first place.
    pub(super) fn note(&mut self, kind: MistakeKind, at: usize) {
        let same = |&(noted, _): &(MistakeKind, usize)| {
            std::mem::discriminant(&noted) == std::mem::discriminant(&kind)
        };
        if !self.notes.iter().any(same) {
            self.notes.push((kind, at));
        }
    }

    pub(super) fn stop<T>(&mut self, kind: MistakeKind, at: usize) -> Step<T> {
        self.note(kind, at);
        Err(Stop)
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(at).copied()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.byte(self.at)
    }

    /// True if the text at an offset starts with `piece`.
    pub(super) fn has(&self, at: usize, piece: &str) -> bool {
        self.text.as_bytes()[..self.end]
            .get(at..)
            .is_some_and(|rest| rest.starts_with(piece.as_bytes()))
    }

    /// Returns the next byte at or after an offset that is not white space, and its offset.
    pub(super) fn peek_from(&self, at: usize) -> (Option<u8>, usize) {
        let start = at.min(self.end);
        let rest = self.text.as_bytes()[start..self.end].iter();
        let space = rest.take_while(|&&byte| is_space(byte)).count();
        (self.byte(start + space), start + space)
    }

    /// Skips white space and comments.
    pub(super) fn skip_space(&mut self) {
        // This fast path covers most cases: a quote, a bracket or a separator follows directly.
        if matches!(self.peek(), Some(b'"' | b'\'' | b',' | b':' | b'[' | b']' | b'{' | b'}')) {
            return;
        }
        loop {
            let (next, at) = self.peek_from(self.at);
            self.at = at;
            match next {
                Some(b'/') => {
                    let rest = &self.text[at..self.end];
                    let length = if rest.starts_with("//") {
                        rest.find('\n')
                    } else if rest.starts_with("/*") {
                        rest.find("*/").map(|inside| inside + 2)
                    } else {
                        return;
                    };
                    self.note(MistakeKind::Comment, at);
                    self.at = length.map_or(self.end, |length| at + length);
                }
                Some(b'#') => {
                    self.note(MistakeKind::Comment, at);
                    self.at = self.text[at..self.end].find('\n').map_or(self.end, |line| at + line);
                }
                Some(0xc2 | 0xe2 | 0xe3 | 0xef) => {
                    // These bytes start non-ASCII spaces and the byte order mark.
                    match self.text[at..].chars().next() {
                        Some(space)
                            if space.is_whitespace()
                                || matches!(space, '\u{feff}' | '\u{200b}') =>
                        {
                            self.at += space.len_utf8();
                        }
                        _ => return,
                    }
                }
                _ => return,
            }
        }
    }

    /// Records that the text ended before a bracket was closed. `amid` is true if more parts had to follow.
    ///
    /// A single missing bracket is a slip. If several are missing, the text was probably truncated.
    fn note_end(&mut self, within: &'static str, amid: bool) {
        let truncated =
            |(kind, _): &(MistakeKind, usize)| matches!(kind, MistakeKind::Truncated(_));
        if self.end < self.text.len() {
            self.note(MistakeKind::MissingBracket, self.end);
        } else if amid || self.objects + self.arrays > 1 {
            self.note(MistakeKind::Truncated(within), self.end);
        } else if !self.notes.iter().any(truncated) {
            self.note(MistakeKind::Unclosed(within), self.end);
        }
    }

    fn skip_ellipsis(&mut self) -> bool {
        let dots = self.text[self.at..self.end].bytes().take_while(|&byte| byte == b'.').count();
        if dots < 3 {
            return false;
        }
        self.note(MistakeKind::Ellipsis, self.at);
        self.at += dots;
        true
    }
}

pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the mistake for a Python string prefix. Some prefixes do not change the content; others make the string
/// differ from its text.
const fn string_prefix(letter: u8) -> Option<MistakeKind> {
    match letter {
        b'u' | b'b' => Some(MistakeKind::PythonLiteral),
        b'r' | b'f' => Some(MistakeKind::Code),
        _ => None,
    }
}
