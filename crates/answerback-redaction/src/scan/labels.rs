//! Finds secrets next to a label without an assignment: in sentences, pairs and SQL.

use super::super::SecretKind;
use super::super::SecretSpan;
use super::super::name::Hint;
use super::super::value::{is_stand_in, reads_like_a_password, reads_like_a_secret};
use super::assignments::Assignment;
use super::{AHEAD, LONGEST_LINE, SecretScanner, count_of, end_of_quoted, is_blank};

impl SecretScanner<'_> {
    /// Marks the secret after a label without an assignment: in a sentence, in a pair, in a table, in SQL.
    pub(super) fn label(&mut self, start: usize, end: usize) {
        let Hint::Secret(kind) = self.hint_before(start, end) else { return };
        if start >= self.table_until && (self.table(start, end) || self.columns(start, end)) {
            return;
        }
        match self.bytes.get(end) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => {
                let _ = self.login_file(start, end, kind)
                    || self.sentence(start, end, kind)
                    || self.labeled_pair(start, end, kind);
            }
            Some(b'"' | b'\'' | b'\\' | b'<' | b']') => {
                let _ = self.tuple(start, end, kind) || self.labeled_pair(start, end, kind);
            }
            _ => {}
        }
    }

    /// Marks the secret in a sentence: `the API key is …`, `database token …`, `PASSWORD '…'`.
    pub(super) fn sentence(&mut self, start: usize, end: usize, kind: SecretKind) -> bool {
        const FILLERS: [&str; 8] = ["is", "was", "to", "be", "as", "with", "value", "named"];
        let near = self.text.floor_char_boundary(end + AHEAD);
        let line = count_of(&self.bytes[end..near], |byte| byte != b'\n' && byte != b'\r');
        self.steps.take(line);
        let mut rest = &self.text[end..end + line];
        let mut fillers = 0;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ':', '=']);
            let first = rest.split([' ', ':']).next().unwrap_or_default();
            if fillers == 3 || !FILLERS.contains(&first.to_ascii_lowercase().as_str()) {
                break;
            }
            fillers += 1;
            rest = &rest[first.len()..];
        }
        let from = end + line - rest.len();
        let quote = rest.chars().next().filter(|character| matches!(character, '"' | '\'' | '`'));
        let from = from + usize::from(quote.is_some());
        let value = match quote {
            Some(quote) => {
                let inner = &rest[1..];
                let Some(length) = inner.find(quote) else { return false };
                &inner[..length]
            }
            None => {
                let run = self.end_of_run(from);
                if run > from + LONGEST_LINE {
                    return false;
                }
                self.text[from..run].trim_end_matches([',', '.', ';', ')', '!', '?'])
            }
        };
        let is_sql = quote == Some('\'') && fillers == 0 && {
            let before = self.before(start).trim_end().to_ascii_lowercase();
            &self.text[start..end] == "PASSWORD"
                || ["with", "encrypted", "login", "set"].iter().any(|word| before.ends_with(word))
        };
        let is_secret = if is_sql {
            !value.is_empty() && !is_stand_in(value, kind)
        } else {
            match kind {
                SecretKind::Password => reads_like_a_secret(value) && value.len() >= 6,
                SecretKind::Pin | SecretKind::Cookie | SecretKind::Authorization => false,
                _ => reads_like_a_secret(value) && value.len() >= 16,
            }
        };
        if is_secret {
            self.mark(from, from + value.len(), kind);
        }
        is_secret
    }

    /// Marks the password in a line of `.netrc`: `login ada password …`.
    pub(super) fn login_file(&mut self, start: usize, end: usize, kind: SecretKind) -> bool {
        if kind != SecretKind::Password {
            return false;
        }
        let before = self.before(start);
        let mut words = before.split_ascii_whitespace().rev();
        let is_login = words.next().is_some() && words.next() == Some("login");
        let blanks = count_of(&self.bytes[end..self.bytes.len().min(end + 8)], |byte| {
            byte.is_ascii_whitespace()
        });
        let from = end + blanks;
        let to = self.end_of_run(from);
        if is_login && from < to {
            self.mark(from, to, kind);
        }
        is_login
    }

    /// Marks the password in SQL's `IDENTIFIED BY '…'`.
    pub(super) fn identified_by(&mut self, start: usize, end: usize) {
        let before = self.before(start).to_ascii_lowercase();
        if !before.contains("identified") {
            return;
        }
        if let Some((from, to)) = self.argument(end)
            && matches!(self.bytes[from - 1], b'\'' | b'"')
        {
            self.mark(from, to, SecretKind::Password);
        }
    }

    /// Marks the second value of a pair: `("Authorization", "…")` and `define('DB_PASSWORD', '…')`.
    pub(super) fn tuple(&mut self, start: usize, end: usize, kind: SecretKind) -> bool {
        let near = &self.bytes[end..self.bytes.len().min(end + 16)];
        let quotes = count_of(near, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
        let blanks = count_of(&near[quotes..], is_blank);
        if quotes == 0 || near.get(quotes + blanks) != Some(&b',') {
            return false;
        }
        let comma = quotes + blanks + 1;
        let more = count_of(&near[comma..], is_blank);
        let backslashes = count_of(&near[comma + more..], |byte| byte == b'\\');
        let Some(quote @ (b'"' | b'\'')) = near.get(comma + more + backslashes).copied() else {
            return false;
        };
        let from = end + comma + more + backslashes + 1;
        let before = self.before(start).trim_end_matches(['"', '\'', '\\']).trim_end();
        let is_option = self.text[start..end].starts_with("--");
        let before = match before.strip_suffix(['(', '[']) {
            Some(before) => before,
            None if is_option => "",
            None => return false,
        };
        let name_of_function =
            before.rsplit(|character: char| !character.is_ascii_alphanumeric()).next();
        let sets = name_of_function.is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            ["define", "set", "add", "put", "header", "append"]
                .iter()
                .any(|verb| name.contains(verb))
                && !name.is_empty()
        });
        let near = &self.bytes[from..self.bytes.len().min(from + LONGEST_LINE)];
        self.steps.take(near.len().min(AHEAD));
        let Some(length) = end_of_quoted(near, backslashes, quote) else { return false };
        let value = &self.text[from..from + length];
        let is_secret =
            !is_stand_in(value, kind) && (sets || is_option || reads_like_a_password(value));
        if is_secret {
            self.mark(from, from + length, kind);
        }
        is_secret
    }

    /// Marks the value near a quoted name: `"name": "DB_PASSWORD", "value": "…"`, and similar forms in YAML, XML and
    /// HCL.
    pub(super) fn labeled_pair(&mut self, start: usize, end: usize, kind: SecretKind) -> bool {
        const LABELS: [&str; 12] = [
            "name",
            "key",
            "field",
            "label",
            "header",
            "selector",
            "element",
            "variable",
            "var",
            "id",
            "parameter",
            "param",
        ];
        const VALUES: [&str; 6] = ["value", "text", "default", "content", "val", "string"];
        let before = self.before(start).to_ascii_lowercase();
        let trimmed = before.trim_end_matches(|character: char| {
            "\"'\\#.[]=: >(".contains(character) || character == ' '
        });
        let is_labeled = LABELS.iter().any(|label| {
            trimmed.strip_suffix(label).is_some_and(|rest| {
                !rest.ends_with(|character: char| character.is_ascii_alphanumeric())
            })
        });
        if !is_labeled || trimmed.len() == before.len() {
            return false;
        }
        let near = &self.text[end..self.text.floor_char_boundary(end + AHEAD)];
        self.steps.take(near.len());
        let lower = near.to_ascii_lowercase();
        let is_edge = |byte: Option<&u8>| {
            byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'/')
        };
        let find = |text: &str| {
            let bytes = text.as_bytes();
            let found = VALUES.iter().filter_map(|name| {
                let mut matches = text.match_indices(name).map(|(at, _)| (at, at + name.len()));
                matches.find(|(at, end)| {
                    is_edge(bytes.get(at.wrapping_sub(1))) && is_edge(bytes.get(*end))
                })
            });
            found.min_by_key(|(at, _)| *at)
        };
        let is_another = |text: &str| {
            LABELS.iter().any(|label| {
                let mut matches = text.match_indices(label);
                matches.any(|(at, _)| {
                    text[..at].ends_with(['"', '\''])
                        && text[at + label.len()..].starts_with(['"', '\'', '\\'])
                })
            })
        };
        let Some((at, name_end)) = find(&lower).filter(|(at, _)| !is_another(&lower[..*at])) else {
            return self.value_before(start, kind);
        };
        let (name_start, name_end) = (end + at, end + name_end);
        let rest = &self.bytes[name_end..self.bytes.len().min(name_end + 12)];
        let quotes = count_of(rest, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
        let blanks = count_of(&rest[quotes..], is_blank);
        let sign = rest.get(quotes + blanks).copied();
        let is_tag = sign == Some(b'>');
        if !matches!(sign, Some(b':' | b'=' | b'>')) {
            return false;
        }
        self.value(&Assignment {
            name: name_start,
            value: name_end + quotes + blanks + 1,
            sign: sign.filter(|sign| *sign != b'>'),
            kind,
            is_weak: false,
            is_tag,
            is_option: false,
            is_quoted: quotes > 0,
            is_tight: blanks == 0,
        })
    }

    /// Marks the value before its name: `"value": "…", "name": "DB_PASSWORD"`.
    pub(super) fn value_before(&mut self, start: usize, kind: SecretKind) -> bool {
        let from = self.text.ceil_char_boundary(start.saturating_sub(AHEAD));
        self.steps.take(start - from);
        let before = &self.text[from..start];
        let open = before.rfind('{').map_or(0, |at| at + 1);
        let Some(at) = before[open..].find("\"value") else { return false };
        let rest = before[open + at + "\"value".len()..].trim_start_matches(['"', '\\', ' ', ':']);
        let Some(length) = rest.find(['"', '\\']).filter(|length| *length > 0) else {
            return false;
        };
        let value = start - rest.len();
        if is_stand_in(&rest[..length], kind) {
            return false;
        }
        self.ahead.push(SecretSpan { range: value..value + length, kind });
        true
    }
}
