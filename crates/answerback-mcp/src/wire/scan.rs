//! Finds the places of the values in a JSON text.
//!
//! A message is read several times, and most of it is often one long string. So the scanner only checks that a
//! text is JSON and finds its parts. It skips long strings many bytes at a time.

use std::borrow::Cow;

/// The number of bytes of a string that are checked one by one, before the faster search begins.
const SHORT: usize = 16;

/// Holds a text and the position of the next byte to read.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

/// Calls `each` for every member of an object, with the member's name and value as JSON text. Returns true if the
/// text is one object and nothing else. Returns false as soon as `each` returns false.
pub(super) fn members<'t>(text: &'t str, mut each: impl FnMut(&'t str, &'t str) -> bool) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.members(&mut each).is_some() && scanner.is_at_end()
}

/// Returns true if the text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.pass_space();
    scanner.value().is_some() && scanner.is_at_end()
}

/// Returns the next value of a list and the position after it, or `None` if there is no further value. The search
/// starts at `at`, which is 0 for the first value.
pub(super) fn next_in_list(text: &str, at: usize) -> Option<(&str, usize)> {
    let mut scanner = Scanner { text, at };
    scanner.pass_space();
    scanner.pass(if at == 0 { b'[' } else { b',' })?;
    scanner.pass_space();
    let value = scanner.value()?;
    Some((value, scanner.at))
}

/// Returns the content of a JSON string that the scanner has accepted. Returns `None` if its escapes are not
/// valid text.
pub(super) fn unquoted(written: &str) -> Option<Cow<'_, str>> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    let has_escapes = if inner.len() <= SHORT {
        inner.bytes().any(|byte| byte == b'\\')
    } else {
        memchr::memchr(b'\\', inner.as_bytes()).is_some()
    };
    if !has_escapes {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(written).ok().map(Cow::Owned)
}

impl<'t> Scanner<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the position of the next byte to read.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    fn members(&mut self, each: &mut impl FnMut(&'t str, &'t str) -> bool) -> Option<()> {
        self.pass_space();
        self.pass(b'{')?;
        self.pass_space();
        if self.pass(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.name()?;
            let value = self.value()?;
            if !each(name, value) {
                return None;
            }
            self.pass_space();
            match self.next()? {
                b',' => self.pass_space(),
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads the value that begins at the current position.
    pub(super) fn value(&mut self) -> Option<&'t str> {
        let start = self.at;
        // Holds the closing bytes of the open objects and lists. A list instead of recursion allows any depth.
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.next()? {
                b'"' => self.pass_string()?,
                b'{' => {
                    self.pass_space();
                    if self.pass(b'}').is_none() {
                        self.name()?;
                        open.push(b'}');
                        continue;
                    }
                }
                b'[' => {
                    self.pass_space();
                    if self.pass(b']').is_none() {
                        open.push(b']');
                        continue;
                    }
                }
                b't' => self.pass_word("rue")?,
                b'f' => self.pass_word("alse")?,
                b'n' => self.pass_word("ull")?,
                b'-' => {
                    let digit = self.next()?;
                    self.pass_number(digit)?;
                }
                digit => self.pass_number(digit)?,
            }
            // A value ended here.
            loop {
                let Some(closing) = open.last().copied() else {
                    return Some(&self.text[start..self.at]);
                };
                self.pass_space();
                match self.next()? {
                    b',' => {
                        self.pass_space();
                        if closing == b'}' {
                            self.name()?;
                        }
                        break;
                    }
                    byte if byte == closing => {
                        open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Reads a member's name and the colon after it.
    pub(super) fn name(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.pass(b'"')?;
        self.pass_string()?;
        let name = &self.text[start..self.at];
        self.pass_space();
        self.pass(b':')?;
        self.pass_space();
        Some(name)
    }

    /// Skips the rest of a string after its opening quote.
    fn pass_string(&mut self) -> Option<()> {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let stop = first_stop(rest)?;
            self.at += stop + 1;
            match rest[stop] {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Skips the rest of a number after its first digit.
    fn pass_number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.pass_digits(),
            _ => return None,
        }
        if self.pass(b'.').is_some() {
            self.next().filter(u8::is_ascii_digit)?;
            self.pass_digits();
        }
        if self.pass(b'e').or_else(|| self.pass(b'E')).is_some() {
            let _ = self.pass(b'+').or_else(|| self.pass(b'-'));
            self.next().filter(u8::is_ascii_digit)?;
            self.pass_digits();
        }
        Some(())
    }

    fn pass_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn pass_word(&mut self, rest: &str) -> Option<()> {
        let is_it = self.text.as_bytes()[self.at..].starts_with(rest.as_bytes());
        self.at += rest.len();
        is_it.then_some(())
    }

    pub(super) fn pass_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    pub(super) fn pass(&mut self, byte: u8) -> Option<()> {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it.then_some(())
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn is_at_end(&mut self) -> bool {
        self.pass_space();
        self.at == self.text.len()
    }
}

/// Returns the position of the first byte that is not a plain character: a quote, a backslash or a control
/// character.
fn first_stop(bytes: &[u8]) -> Option<usize> {
    // Names and most values end before the faster search would pay off.
    let (short, long) = bytes.split_at(bytes.len().min(SHORT));
    let is_stop = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    if let Some(stop) = short.iter().position(is_stop) {
        return Some(stop);
    }
    let stop = memchr::memchr2(b'"', b'\\', long);
    let before = &long[..stop.unwrap_or(long.len())];
    // Taking the minimum needs no branches, so the compiler can vectorize it. Control characters are rare, so
    // their position is seldom needed.
    let stop = if before.iter().copied().fold(u8::MAX, u8::min) < 0x20 {
        before.iter().position(|byte| *byte < 0x20)
    } else {
        stop
    };
    stop.map(|stop| short.len() + stop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_json_to_others(text: &str) -> bool {
        serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        let long = "x".repeat(100);
        for text in [
            "",
            " ",
            "{}",
            "[]",
            " { } ",
            "[ ]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\":1 \"b\":2}",
            "{a:1}",
            "{\"a\":[{\"b\":[]}],\"c\":{}}",
            "[[]",
            "[]]",
            "[}",
            "{]",
            "{\"a\":1]",
            "[1}",
            "1",
            "-1",
            "-",
            "+1",
            "01",
            "-01",
            "0",
            "-0",
            "1.",
            "1.0",
            ".5",
            "1e5",
            "1E+5",
            "1e-",
            "1e400",
            "1.5e",
            "0x1",
            "true",
            "tru",
            "truex",
            "false",
            "null",
            "nul",
            "NaN",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\\"\"",
            "\"\\u00e9\"",
            "\"\\u00g9\"",
            "\"\\u00\"",
            "\"\\x\"",
            "\"\\",
            "\"\\ud800\"",
            "\"\n\"",
            "\"\u{7f}\u{e9}\u{1f600}\"",
            "1 1",
            "{} {}",
            "\u{feff}{}",
        ] {
            assert_eq!(is_json(text), is_json_to_others(text), "{text:?}");
        }
        for end in ["\"", "", "\u{1}\"", "\\n\"", "\\q\"", "é\"", "\"x"] {
            for length in 0..70 {
                let text = format!("\"{}{end}", &long[..length]);
                assert_eq!(is_json(&text), is_json_to_others(&text), "{text:?}");
            }
        }
        assert!(is_json(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))));
    }

    proptest! {
        #[test]
        fn others_read_the_same(
            text in r#"[\[\]{},:" \\a-fu0-9.eE+\-tn]{0,24}"#,
            value in "[a-z\"\\\\\u{0}-\u{1f}é]{0,80}",
        ) {
            prop_assert_eq!(is_json(&text), is_json_to_others(&text), "{}", text);
            let near = format!("{{\"a\":[\"{value}\",{text}]}}");
            prop_assert_eq!(is_json(&near), is_json_to_others(&near), "{}", near);
        }

        #[test]
        fn members_are_those_that_others_find(
            members in proptest::collection::vec(("[a-c\"\\\\é]{0,3}", "[a-c\"\\\\é]{0,40}"), 0..4),
        ) {
            let quoted = |text: &str| serde_json::to_string(text).unwrap();
            let text: Vec<String> =
                members.iter().map(|(name, value)| format!("{} : [{}]", quoted(name), quoted(value))).collect();
            let text = format!(" {{{}}} ", text.join(" , "));
            let mut found = Vec::new();
            let is_object = super::members(&text, |name, value| {
                found.push((name.to_owned(), value.to_owned()));
                true
            });
            prop_assert!(is_object);
            let expected: Vec<_> =
                members.iter().map(|(name, value)| (quoted(name), format!("[{}]", quoted(value)))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
