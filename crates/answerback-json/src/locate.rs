use super::Pointer;

/// A position in a text, as a line and a column.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a position in a text consists of these two numbers")]
pub struct TextPosition {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

/// Finds the position at which the value at `place` begins in a JSON text. For a missing value it returns the
/// position of the nearest existing value above it: a missing member is found at its object.
///
/// The caller has already parsed the text. For a text that is not JSON, the position has no meaning, but the function
/// still returns.
pub fn locate(text: &str, place: &Pointer) -> TextPosition {
    let mut walker = Walker { bytes: text.as_bytes(), at: 0 };
    if text.starts_with('\u{feff}') {
        walker.at += '\u{feff}'.len_utf8();
    }
    walker.skip_space();
    let mut found = walker.at;
    for token in place.tokens() {
        if !walker.enter(&token) {
            break;
        }
        found = walker.at;
    }
    let before = text.get(..found).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    TextPosition { line, column }
}

struct Walker<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Walker<'_> {
    /// Moves from the start of a container to the named member or element. Among repeated names it takes the last.
    /// Returns false if there is no such value.
    fn enter(&mut self, token: &str) -> bool {
        match self.peek() {
            Some(b'{') => self.enter_object(token),
            Some(b'[') => self.enter_array(token),
            _ => false,
        }
    }

    fn enter_object(&mut self, name: &str) -> bool {
        let mut found = None;
        self.at += 1;
        self.skip_space();
        while self.peek() == Some(b'"') {
            let start = self.at;
            self.skip_string();
            let here = serde_json::from_slice::<String>(
                self.bytes.get(start..self.at).unwrap_or_default(),
            );
            self.skip_space();
            self.at += 1; // Skips the colon.
            self.skip_space();
            if here.is_ok_and(|here| here == name) {
                found = Some(self.at);
            }
            self.skip_value();
            self.skip_comma();
        }
        found.inspect(|&at| self.at = at).is_some()
    }

    fn enter_array(&mut self, index: &str) -> bool {
        let Ok(mut left) = index.parse::<usize>() else { return false };
        self.at += 1;
        self.skip_space();
        while left > 0 && !matches!(self.peek(), None | Some(b']')) {
            self.skip_value();
            self.skip_comma();
            left -= 1;
        }
        left == 0 && !matches!(self.peek(), None | Some(b']'))
    }

    fn skip_comma(&mut self) {
        self.skip_space();
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        self.skip_space();
    }

    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            if byte == b'"' {
                return;
            }
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_and_what_is_above_missing_ones() {
        let text = "{\n  \"é\": [10, {\"x/y\": true}],\n  \"s\": \"a\\\"]}\",\n  \"last\": {}\n}";
        for (place, line, column) in [
            ("", 1, 1),
            ("/é", 2, 8),
            ("/é/0", 2, 9),
            ("/é/1/x~1y", 2, 21),
            ("/é/7", 2, 8),
            ("/s", 3, 8),
            ("/last", 4, 11),
            ("/last/missing", 4, 11),
            ("/missing/deeper", 1, 1),
        ] {
            let place = Pointer::try_from(place).unwrap();
            assert_eq!(locate(text, &place), TextPosition { line, column }, "{place}");
        }
    }

    #[test]
    fn survives_what_is_no_json() {
        let place = Pointer::try_from("/a/0/b").unwrap();
        for text in
            ["", "{", "{\"a\"", "{\"a\":", "{\"a\":[", "[[[", "\"", "{\"a\\", "{\"a\":[\"\\"]
        {
            locate(text, &place);
        }
    }
}
