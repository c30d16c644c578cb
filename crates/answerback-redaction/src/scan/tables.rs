//! Finds secrets in the columns of tables.

use super::super::name::{Hint, hint_of_name};
use super::super::value::{is_code, is_stand_in};
use super::super::{SecretKind, SecretSpan};
use super::{AHEAD, LONGEST_LINE, SecretScanner, count_of, end_of_quoted};

impl SecretScanner<'_> {
    /// Marks the last field of a line of `.pgpass`: `host:port:database:user:password`. The word `start..end` is the
    /// fourth field.
    pub(super) fn password_file(&mut self, start: usize, end: usize) {
        if self.bytes.get(start.wrapping_sub(1)) != Some(&b':')
            || matches!(self.bytes.get(end + 1), None | Some(b':' | b' ' | b'/'))
        {
            return;
        }
        let from = self.text.ceil_char_boundary(start.saturating_sub(AHEAD));
        self.steps.take(start - from);
        let before = &self.text[from..start - 1];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let mut fields = line.split(':');
        let (Some(host), Some(port), Some(database), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return;
        };
        let is_port =
            port == "*" || port.len() >= 3 && port.bytes().all(|byte| byte.is_ascii_digit());
        let is_host = host == "*"
            || host.bytes().any(|byte| byte.is_ascii_alphabetic()) && !host.contains([' ', '/']);
        if !is_port || !is_host || database.is_empty() || database.contains([' ', '/']) {
            return;
        }
        let to = self.end_of_run(end + 1);
        if matches!(self.bytes.get(to), None | Some(b'\n' | b'\r')) {
            self.mark(end + 1, to, SecretKind::Password);
        }
    }

    /// Marks the values below a header cell with the name of a secret. Cells are separated by commas, semicolons,
    /// tabs or bars.
    pub(super) fn table(&mut self, start: usize, end: usize) -> bool {
        let after = self.bytes[end..self.bytes.len().min(end + 4)]
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'"'))
            .copied();
        let line_end = self.end_of_line(end);
        if line_end == self.bytes.len() {
            return false;
        }
        let from = self.text.ceil_char_boundary(start.saturating_sub(LONGEST_LINE));
        let line_start = self.bytes[from..start]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(from, |at| from + at + 1);
        self.steps.take(start - line_start);
        let preceding =
            self.text[line_start..start].trim_end_matches([' ', '"']).bytes().next_back();
        let Some(delimiter) = [after, preceding]
            .into_iter()
            .flatten()
            .find(|byte| matches!(byte, b',' | b';' | b'\t' | b'|'))
        else {
            return false;
        };
        let is_cell = |byte: Option<u8>| {
            byte.is_none_or(|byte| byte == delimiter || byte == b'\n' || byte == b'\r')
        };
        if !is_cell(after) || !is_cell(preceding) || line_end - line_start > LONGEST_LINE {
            return false;
        }
        let header = &self.text[line_start..line_end];
        self.steps.take(header.len());
        let cells: Vec<Hint> = header
            .split(char::from(delimiter))
            .map(|cell| {
                let cell = cell.trim().trim_matches(['"', '\'']);
                // A sentence is not a header.
                if cell.len() > 40 || cell.contains(['.', ':', '=', '{', '(']) {
                    Hint::None
                } else {
                    hint_of_name(cell)
                }
            })
            .collect();
        let mut at = line_end;
        let mut rows = 0;
        while at < self.bytes.len() {
            let row_start = at + count_of(&self.bytes[at..], |byte| matches!(byte, b'\n' | b'\r'));
            let row_end = self.end_of_line(row_start);
            let row = &self.text[row_start..row_end];
            self.steps.take(row.len());
            if row.is_empty() || row.split(char::from(delimiter)).count() != cells.len() {
                break;
            }
            let mut offset = row_start;
            for (cell, hint) in row.split(char::from(delimiter)).zip(&cells) {
                let inner = cell.trim().trim_matches(['"', '\'']);
                if let Hint::Secret(kind) = hint
                    && !inner.is_empty()
                    && !is_stand_in(inner, *kind)
                    && !inner.bytes().all(|byte| matches!(byte, b'-' | b':'))
                {
                    let lead = cell.find(inner).unwrap_or_default();
                    let from = offset + lead;
                    self.ahead.push(SecretSpan { range: from..from + inner.len(), kind: *kind });
                }
                offset += cell.len() + 1;
            }
            rows += 1;
            at = row_end;
        }
        self.table_until = at;
        rows > 0
    }

    /// Marks the values of SQL columns with the name of a secret: `(name, password) VALUES ('ada', '…')`.
    pub(super) fn columns(&mut self, start: usize, end: usize) -> bool {
        if !matches!(self.bytes.get(end), Some(b',' | b')' | b'`' | b'"' | b' ')) {
            return false;
        }
        let close = count_of(&self.bytes[end..self.bytes.len().min(end + LONGEST_LINE)], |byte| {
            !matches!(byte, b')' | b'(' | b'\'')
        });
        self.steps.take(close);
        if self.bytes.get(end + close) != Some(&b')') {
            return false;
        }
        let after = self.text[end + close + 1..].trim_ascii_start();
        if !after.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("values")) {
            self.table_until = self.table_until.max(end + close);
            return false;
        }
        let from = self.text.ceil_char_boundary(start.saturating_sub(LONGEST_LINE));
        self.steps.take(start - from);
        let Some(open) = self.text[from..start].rfind('(') else { return false };
        let hints: Vec<Hint> = self.text[from + open + 1..end + close]
            .split(',')
            .map(|name| hint_of_name(name.trim().trim_matches(['`', '"', '[', ']'])))
            .collect();
        let mut at = self.bytes.len() - after.len() + 6;
        loop {
            at += count_of(&self.bytes[at..], |byte| byte.is_ascii_whitespace() || byte == b',');
            if self.bytes.get(at) != Some(&b'(') {
                break;
            }
            at += 1;
            for index in 0.. {
                let blanks = count_of(&self.bytes[at..], |byte| byte.is_ascii_whitespace());
                at += blanks;
                let quote = self.bytes.get(at).copied().filter(|byte| matches!(byte, b'\'' | b'"'));
                let from = at + usize::from(quote.is_some());
                let length = match quote {
                    Some(quote) => end_of_quoted(&self.bytes[from..], 0, quote)
                        .unwrap_or(self.bytes.len() - from),
                    None => {
                        count_of(&self.bytes[from..], |byte| !matches!(byte, b',' | b')' | b'\n'))
                    }
                };
                self.steps.take(length + blanks);
                let value = &self.text[from..from + length];
                if let Some(Hint::Secret(kind)) = hints.get(index)
                    && !is_stand_in(value, *kind)
                    && (quote.is_some() || !is_code(value))
                {
                    self.ahead.push(SecretSpan { range: from..from + length, kind: *kind });
                }
                at = (from + length + usize::from(quote.is_some())).min(self.bytes.len());
                at += count_of(&self.bytes[at..], |byte| byte.is_ascii_whitespace());
                match self.bytes.get(at) {
                    Some(b',') => at += 1,
                    _ => break,
                }
            }
            if self.bytes.get(at) != Some(&b')') {
                break;
            }
            at += 1;
        }
        self.table_until = at;
        true
    }
}
