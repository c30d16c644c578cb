//! Finds secret values that are assigned to a name.

use super::super::SecretKind;
use super::super::name::{Hint, ends_a_phrase, hint_of_name};
use super::super::value::{
    is_code, is_key_like, is_stand_in, is_variable, reads_like_a_password, reads_like_a_secret,
};
use super::{LONGEST_VALUE, SecretScanner, count_of, end_of_quoted, is_blank};

/// A name with the start of its value and the form of the assignment.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the forms of an assignment are independent of each other"
)]
pub(super) struct Assignment {
    pub(super) name: usize,
    pub(super) value: usize,
    pub(super) sign: Option<u8>,
    pub(super) kind: SecretKind,
    /// True if the value is a secret only if it looks like a key.
    pub(super) is_weak: bool,
    pub(super) is_tag: bool,
    pub(super) is_option: bool,
    pub(super) is_quoted: bool,
    /// True if there is no space between the name and the sign.
    pub(super) is_tight: bool,
}

impl<'t> SecretScanner<'t> {
    /// Marks the value in `password=…`, `"api_key": "…"`, `--token …` and similar forms.
    pub(super) fn assignment(&mut self, start: usize, end: usize) -> bool {
        let word = &self.text[start..end];
        if end == self.bytes.len() {
            return false;
        }
        let rest = &self.bytes[end..];
        let near = &rest[..rest.len().min(12)];
        let quotes = count_of(near, |byte| matches!(byte, b'"' | b'\'' | b'\\')).min(4);
        let brackets = usize::from(near.get(quotes) == Some(&b']') && quotes > 0);
        let spaces = count_of(&near[quotes + brackets..], is_blank).min(4);
        let sign_at = quotes + brackets + spaces;
        let sign = near.get(sign_at).copied().filter(|byte| matches!(byte, b':' | b'='));
        let is_tag =
            near.first() == Some(&b'>') && self.bytes.get(start.wrapping_sub(1)) == Some(&b'<');
        let is_option = sign.is_none() && word.starts_with("--") && quotes == 0 && spaces > 0;
        if sign.is_none() && !is_option && !is_tag
            || sign == Some(b':') && start < self.public_until
        {
            return false;
        }
        let sign_length = match (sign, near.get(sign_at + 1)) {
            // A comparison is not an assignment.
            (Some(b'='), Some(b'=' | b'~')) => return false,
            (Some(b'='), Some(b'>')) | (Some(b':'), Some(b'=')) => 2,
            (Some(_), _) => 1,
            (None, _) => usize::from(is_tag),
        };
        let (kind, is_weak) = match self.hint_before(start, end) {
            Hint::Secret(kind) => (kind, false),
            Hint::Weak(kind) => (kind, true),
            Hint::None => return false,
        };
        let assignment = Assignment {
            name: start,
            value: end + if is_tag { 1 } else { sign_at + sign_length },
            sign,
            kind,
            is_weak,
            is_tag,
            is_option,
            is_quoted: quotes > 0,
            is_tight: spaces == 0 && sign.is_some(),
        };
        self.value(&assignment)
    }

    /// Returns the hint of the name that ends here: the word after the last dot or slash, alone or with the words
    /// before it.
    pub(super) fn hint_before(&mut self, start: usize, end: usize) -> Hint {
        let word = &self.text[start..end];
        let name = &word[word.rfind(['/', '.']).map_or(0, |at| at + 1)..];
        let is_number = || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match hint_of_name(name) {
            Hint::None if ends_a_phrase(name) || name.len() <= 2 && is_number() => {
                let phrase = self.phrase(start, end);
                match hint_of_name(phrase) {
                    Hint::Secret(kind) => Hint::Secret(kind),
                    _ => Hint::None,
                }
            }
            // `key` alone is vague, but `API key` is clear.
            Hint::Weak(kind) => match hint_of_name(self.phrase(start, end)) {
                Hint::Secret(kind) => Hint::Secret(kind),
                _ => Hint::Weak(kind),
            },
            // The signature in a URL grants access to the resource.
            Hint::None
                if matches!(self.bytes.get(start.wrapping_sub(1)), Some(b'?' | b'&'))
                    && name.to_ascii_lowercase().ends_with("signature") =>
            {
                Hint::Weak(SecretKind::Secret)
            }
            hint => hint,
        }
    }

    /// Returns a word with up to two words before it.
    pub(super) fn phrase(&mut self, start: usize, end: usize) -> &'t str {
        let before = self.before(start);
        let mut from = before.len();
        for _ in 0..2 {
            let Some(rest) = before[..from].strip_suffix(' ') else { break };
            let word = rest.len()
                - rest
                    .bytes()
                    .rev()
                    .take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'-')
                    .count();
            if word == rest.len() {
                break;
            }
            from = word;
        }
        &self.text[start - (before.len() - from)..end]
    }

    /// Marks the value of an assignment, unless it is a placeholder, code or a word of a sentence.
    pub(super) fn value(&mut self, assignment: &Assignment) -> bool {
        let &Assignment { name, sign, kind, is_weak, is_tag, is_option, .. } = assignment;
        let mut value = assignment.value;
        let space_after = count_of(&self.bytes[value..self.bytes.len().min(value + 4)], is_blank);
        value += space_after;
        let is_member = sign == Some(b':') && self.is_in_member_position(name);
        let may_hold = is_member || sign == Some(b':') && assignment.is_quoted;
        if may_hold
            && !is_weak
            && let Some(stop) = self.end_of_collection(value)
        {
            self.mark(value, stop, kind);
            return true;
        }
        let backslashes = count_of(&self.bytes[value..], |byte| byte == b'\\');
        self.steps.take(backslashes);
        value += backslashes;
        let quote = self.bytes.get(value).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        // In `'Password: '`, the quote ends the text.
        if quote.is_some()
            && !assignment.is_quoted
            && self.bytes.get(name.wrapping_sub(1)) == quote.as_ref()
        {
            return false;
        }
        value += usize::from(quote.is_some());
        let is_header = matches!(kind, SecretKind::Authorization | SecretKind::Cookie);
        let stop = if let Some(quote) = quote {
            let length = end_of_quoted(&self.bytes[value..], backslashes, quote);
            let length = length.unwrap_or(self.bytes.len() - value);
            self.steps.take(length);
            value + length
        } else if is_tag {
            self.next_tag.after(self.bytes, value, &mut self.steps, |byte| byte == b'<')
        } else if is_member {
            self.next_member_end.after(self.bytes, value, &mut self.steps, |byte| {
                matches!(byte, b',' | b'}' | b']' | b'"' | b'\'' | b'\n' | b'\r')
            })
        } else if is_header && !self.is_in_quotes(name) {
            self.end_of_line(value)
        } else if is_header {
            self.next_header_end.after(self.bytes, value, &mut self.steps, |byte| {
                matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\')
            })
        } else if sign == Some(b'=') && self.bytes.get(value) == Some(&b'{') {
            // ODBC encloses values in braces.
            value += 1;
            self.next_member_end.after(self.bytes, value, &mut self.steps, |byte| {
                matches!(byte, b',' | b'}' | b']' | b'"' | b'\'' | b'\n' | b'\r')
            })
        } else {
            self.end_of_value(value, assignment)
        };
        let content = self.text[value..stop.max(value)].trim_end();
        // The beginning of the value shows if it is code or prose. Text that is not marked is searched again, word by
        // word.
        let seen =
            &content[..self.text[value..].floor_char_boundary(LONGEST_VALUE).min(content.len())];
        if is_weak {
            self.steps.take(seen.len());
            if !is_key_like(content) {
                return false;
            }
        } else {
            if is_stand_in(content, kind) {
                return false;
            }
            self.steps.take(seen.len());
            if quote.is_none() {
                if is_code(seen) {
                    return false;
                }
                let is_tight = assignment.is_tight
                    && space_after == 0
                    && (sign == Some(b'=') || kind == SecretKind::Password);
                let is_certain = is_tight
                    || is_option
                    || is_member
                    || is_tag
                    || is_header && reads_like_a_secret(seen);
                if !is_certain
                    && !reads_like_a_password(seen)
                    && (is_variable(seen) || !self.is_whole_line(name, stop))
                {
                    return false;
                }
            }
        }
        self.mark(value, value + content.len(), kind);
        true
    }

    /// Returns the end of a value without quotes. A value that fills the rest of its line ends with the line.
    pub(super) fn end_of_value(&mut self, value: usize, assignment: &Assignment) -> usize {
        let stop = self.next_value_end.after(self.bytes, value, &mut self.steps, |byte| {
            byte.is_ascii_whitespace() || b",;&)}]\"'`<>\\|".contains(&byte)
        });
        let run = self.end_of_run(value);
        if stop < run
            && !matches!(self.bytes[stop], b'\\' | b'&' | b'<' | b'>' | b'|' | b')' | b'}' | b']')
            && assignment.is_tight
            && matches!(self.bytes.get(run), None | Some(b'\n' | b'\r'))
            && self.is_at_start_of_line(assignment.name)
            && !matches!(self.bytes[run - 1], b',' | b';' | b')')
        {
            return run;
        }
        stop
    }

    /// True if a name begins its line and its value ends it, as in a configuration file.
    pub(super) fn is_whole_line(&mut self, name: usize, stop: usize) -> bool {
        let rest = &self.bytes[stop..self.bytes.len().min(stop + 4)];
        let blanks = count_of(rest, is_blank);
        matches!(rest.get(blanks), None | Some(b'\n' | b'\r')) && self.is_at_start_of_line(name)
    }

    /// True if a line begins with a name, apart from the prefix of a list item or a variable.
    pub(super) fn is_at_start_of_line(&mut self, name: usize) -> bool {
        let before = self.before(name);
        let line = before.rfind(['\n', '\r']).map(|at| &before[at + 1..]);
        let line = match line {
            Some(line) => line,
            None if before.len() == name => before,
            None => return false,
        };
        let line = line.trim_start_matches([' ', '\t', '-', '#', ':', '"', '\'']);
        matches!(line.trim_end(), "" | "export" | "set" | "env" | "ENV" | "ARG" | "declare -x")
    }

    /// True if a quote is directly before a name, so that a quote also ends the value.
    pub(super) fn is_in_quotes(&self, name: usize) -> bool {
        matches!(self.bytes.get(name.wrapping_sub(1)), Some(b'"' | b'\''))
    }

    /// True if a name is in the position of an object member: after `{`, or after a comma with an earlier `{`. This
    /// is needed for broken JSON, and for JSON inside another text.
    pub(super) fn is_in_member_position(&mut self, name: usize) -> bool {
        let before = self.before(name).trim_end_matches(['"', '\'', '\\']).trim_end();
        if before.ends_with('{') {
            return true;
        }
        let (bytes, steps) = (self.bytes, &mut self.steps);
        let first_brace = *self.first_brace.get_or_insert_with(|| {
            let first = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
            steps.take(first);
            first
        });
        before.ends_with(',') && first_brace < name
    }

    /// Returns the end of the list or object that begins here: after its last bracket, or at the end of the text.
    /// Returns `None` for an empty one, which holds no secret.
    pub(super) fn end_of_collection(&mut self, start: usize) -> Option<usize> {
        let (mut at, mut depth, mut is_empty) = (start, 0_usize, true);
        if !matches!(self.bytes.get(start), Some(b'[' | b'{')) {
            return None;
        }
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                byte => is_empty &= byte.is_ascii_whitespace(),
            }
            let backslashes = count_of(&self.bytes[at..], |byte| byte == b'\\');
            at += backslashes;
            match self.bytes.get(at) {
                Some(quote @ (b'"' | b'\'')) => {
                    let inner = &self.bytes[at + 1..];
                    let length = end_of_quoted(inner, backslashes, *quote);
                    at += length.map_or(inner.len(), |length| length + backslashes + 1) + 1;
                }
                _ => at += usize::from(backslashes == 0),
            }
            if depth == 0 {
                break;
            }
        }
        self.steps.take(at.saturating_sub(start));
        (!is_empty).then_some(at.min(self.bytes.len()))
    }
}
