//! Reads a JSON text as a sequence of events, without parsing its values.
//!
//! A message is read several times, and most of it is often one long string. So the scanner only checks that a
//! text is JSON and finds its parts. It skips long strings many bytes at a time.

use std::borrow::Cow;

/// The number of bytes of a string that are checked one by one, before the faster search begins.
const SHORT: usize = 16;

/// Reports what the scanner has read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum JsonEvent<'t> {
    /// The opening bracket of an object.
    ObjectStart,
    /// The opening bracket of an array.
    ArrayStart,
    /// The closing bracket of the innermost object or array.
    End,
    /// The name of a member as it is written, with its quotes. The member's value follows.
    Name(&'t str),
    /// A string, a number, a boolean or null.
    Scalar(&'t str),
}

/// Reads the events of one JSON value.
///
/// Every other function that searches a JSON text in this crate uses this scanner. It does not recurse, so it
/// accepts any depth.
pub(super) struct JsonScanner<'t> {
    text: &'t str,
    position: usize,
    next: NextToken,
    open: OpenContainers,
}

/// Selects the tokens that may follow.
#[derive(Clone, Copy)]
enum NextToken {
    /// A value.
    Value,
    /// The first name of an object, or the object's end.
    FirstName,
    /// The first element of an array, or the array's end.
    FirstElement,
    /// A comma or the end of the innermost container. Nothing may follow the outermost value.
    Separator,
}

/// Calls `each` for every member of an object, with the member's name and value as JSON text. Returns true if the
/// text is one object and nothing else. Returns false as soon as `each` returns false.
pub(super) fn for_each_member<'t>(
    text: &'t str,
    mut each: impl FnMut(&'t str, &'t str) -> bool,
) -> bool {
    let mut scanner = JsonScanner::new(text);
    let mut read_members = || {
        if scanner.next_event()? != JsonEvent::ObjectStart {
            return None;
        }
        while let JsonEvent::Name(name) = scanner.next_event()? {
            let value = scanner.skip_value()?;
            if !each(name, value) {
                return None;
            }
        }
        Some(())
    };
    read_members().is_some() && scanner.is_at_end()
}

/// Returns true if the text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    let mut scanner = JsonScanner::new(text);
    scanner.skip_value().is_some() && scanner.is_at_end()
}

/// Returns the next element of an array and the position after it, or `None` if there is no further element. The
/// search starts at `position`, which is 0 for the first element.
pub(super) fn next_element(text: &str, position: usize) -> Option<(&str, usize)> {
    let mut scanner = JsonScanner::new(text);
    if scanner.next_event()? != JsonEvent::ArrayStart {
        return None;
    }
    if position > 0 {
        (scanner.position, scanner.next) = (position, NextToken::Separator);
    }
    let element = scanner.skip_value()?;
    Some((element, scanner.position))
}

/// Returns the content of a JSON string that the scanner has accepted. Returns `None` if its escapes are not
/// valid text.
pub(super) fn string_content(written: &str) -> Option<Cow<'_, str>> {
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

impl<'t> JsonScanner<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, position: 0, next: NextToken::Value, open: OpenContainers::new() }
    }

    /// Returns the position after the last event.
    pub(super) const fn position(&self) -> usize {
        self.position
    }

    /// Reads the next event. Returns `None` after the text's first value, or if the text is not JSON.
    #[inline]
    pub(super) fn next_event(&mut self) -> Option<JsonEvent<'t>> {
        self.skip_space();
        match self.next {
            NextToken::Value => self.value(),
            NextToken::FirstName => {
                if self.take(b'}') {
                    return Some(self.end());
                }
                self.name()
            }
            NextToken::FirstElement => {
                if self.take(b']') {
                    return Some(self.end());
                }
                self.value()
            }
            NextToken::Separator => {
                let innermost = self.open.innermost()?;
                let byte = self.next_byte()?;
                if byte == b',' {
                    self.skip_space();
                    return match innermost {
                        Container::Object => self.name(),
                        Container::Array => self.value(),
                    };
                }
                (byte == innermost.closing_bracket()).then(|| self.end())
            }
        }
    }

    /// Skips the next value with everything inside it, and returns its text. Returns `None` if no value follows.
    ///
    /// This loop reports no events, because reporting and ignoring them takes 10 to 25 % more instructions.
    pub(super) fn skip_value(&mut self) -> Option<&'t str> {
        self.skip_space();
        match self.next {
            NextToken::Value | NextToken::FirstElement => {}
            NextToken::Separator if self.open.innermost() == Some(Container::Array) => {
                if self.next_byte()? != b',' {
                    return None;
                }
                self.skip_space();
            }
            NextToken::Separator | NextToken::FirstName => return None,
        }
        let (start, depth) = (self.position, self.open.depth);
        loop {
            match self.next_byte()? {
                b'{' => {
                    self.skip_space();
                    if !self.take(b'}') {
                        self.open.push(Container::Object);
                        self.skip_name()?;
                        continue;
                    }
                }
                b'[' => {
                    self.skip_space();
                    if !self.take(b']') {
                        self.open.push(Container::Array);
                        continue;
                    }
                }
                first => self.skip_scalar(first)?,
            }
            // A value ended here.
            loop {
                if self.open.depth == depth {
                    self.next = NextToken::Separator;
                    return Some(&self.text[start..self.position]);
                }
                self.skip_space();
                let innermost = self.open.innermost()?;
                let byte = self.next_byte()?;
                if byte == b',' {
                    self.skip_space();
                    if innermost == Container::Object {
                        self.skip_name()?;
                    }
                    break;
                }
                if byte != innermost.closing_bracket() {
                    return None;
                }
                self.open.pop();
            }
        }
    }

    /// Returns true if only spaces are left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.position == self.text.len()
    }

    /// Returns the next byte that is not a space, and its position, without reading it.
    pub(super) fn peek(&mut self) -> Option<(u8, usize)> {
        self.skip_space();
        Some((self.byte()?, self.position))
    }

    fn value(&mut self) -> Option<JsonEvent<'t>> {
        let start = self.position;
        match self.next_byte()? {
            b'{' => {
                self.open.push(Container::Object);
                self.next = NextToken::FirstName;
                Some(JsonEvent::ObjectStart)
            }
            b'[' => {
                self.open.push(Container::Array);
                self.next = NextToken::FirstElement;
                Some(JsonEvent::ArrayStart)
            }
            first => {
                self.skip_scalar(first)?;
                self.next = NextToken::Separator;
                Some(JsonEvent::Scalar(&self.text[start..self.position]))
            }
        }
    }

    fn name(&mut self) -> Option<JsonEvent<'t>> {
        let name = self.skip_name()?;
        self.next = NextToken::Value;
        Some(JsonEvent::Name(name))
    }

    /// Skips a member's name and the colon after it, and returns the name.
    #[inline]
    fn skip_name(&mut self) -> Option<&'t str> {
        let start = self.position;
        if !self.take(b'"') {
            return None;
        }
        self.skip_string()?;
        let name = &self.text[start..self.position];
        self.skip_space();
        if !self.take(b':') {
            return None;
        }
        self.skip_space();
        Some(name)
    }

    fn end(&mut self) -> JsonEvent<'t> {
        self.open.pop();
        self.next = NextToken::Separator;
        JsonEvent::End
    }

    /// Skips the rest of a value that is neither an object nor an array, after its first byte.
    #[inline]
    fn skip_scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.skip_string(),
            b't' => self.skip_word("rue"),
            b'f' => self.skip_word("alse"),
            b'n' => self.skip_word("ull"),
            b'-' => {
                let digit = self.next_byte()?;
                self.skip_number(digit)
            }
            digit => self.skip_number(digit),
        }
    }

    /// Skips the rest of a string after its opening quote.
    fn skip_string(&mut self) -> Option<()> {
        loop {
            let rest = &self.text.as_bytes()[self.position..];
            let stop = first_stop(rest)?;
            self.position += stop + 1;
            match rest[stop] {
                b'"' => return Some(()),
                b'\\' => match self.next_byte()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next_byte().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Skips the rest of a number after its first digit.
    fn skip_number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.skip_digits(),
            _ => return None,
        }
        if self.take(b'.') {
            self.next_byte().filter(u8::is_ascii_digit)?;
            self.skip_digits();
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.next_byte().filter(u8::is_ascii_digit)?;
            self.skip_digits();
        }
        Some(())
    }

    fn skip_digits(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }

    fn skip_word(&mut self, rest: &str) -> Option<()> {
        let is_match = self.text.as_bytes()[self.position..].starts_with(rest.as_bytes());
        self.position += rest.len();
        is_match.then_some(())
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.position += 1;
        }
    }

    /// Reads this byte. Returns false if another byte follows.
    fn take(&mut self, byte: u8) -> bool {
        let is_match = self.byte() == Some(byte);
        self.position += usize::from(is_match);
        is_match
    }

    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.byte()?;
        self.position += 1;
        Some(byte)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }
}

/// The kind of an object or array that is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Container {
    Object,
    Array,
}

impl Container {
    const fn closing_bracket(self) -> u8 {
        match self {
            Self::Object => b'}',
            Self::Array => b']',
        }
    }
}

/// Stores the kinds of the open containers, one bit each, so that usual messages need no allocation.
struct OpenContainers {
    depth: usize,
    /// The kinds of the innermost containers. The last bit belongs to the innermost one, and is 1 for an array.
    innermost: u64,
    /// The kinds of the other containers, in full words.
    outer: Vec<u64>,
}

impl OpenContainers {
    const WORD: usize = 64;

    const fn new() -> Self {
        Self { depth: 0, innermost: 0, outer: Vec::new() }
    }

    fn push(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(Self::WORD) {
            self.outer.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(container == Container::Array);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.innermost >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(Self::WORD) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    fn innermost(&self) -> Option<Container> {
        match (self.depth, self.innermost & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Object),
            _ => Some(Container::Array),
        }
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

    #[test]
    fn containers_close_in_reverse_order_at_any_depth() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 1000] {
            let open = "[{\"a\":".repeat(depth);
            let close = "}]".repeat(depth);
            assert!(is_json(&format!("{open}1{close}")), "{depth}");
            assert!(!is_json(&format!("{open}1{}", close.replacen("}]", "]}", 1))), "{depth}");
            assert!(!is_json(&format!("{open}1{close}]")), "{depth}");
            assert!(!is_json(&format!("{open}1{}", &close[1..])), "{depth}");
        }
    }

    #[test]
    fn events_of_a_value() {
        use JsonEvent::{ArrayStart, End, Name, ObjectStart, Scalar};

        let mut scanner = JsonScanner::new(r#" {"a" : [1, {}], "b":"x"} "#);
        let mut events = Vec::new();
        while let Some(event) = scanner.next_event() {
            events.push(event);
        }
        assert!(scanner.is_at_end());
        assert_eq!(
            events,
            [
                ObjectStart,
                Name("\"a\""),
                ArrayStart,
                Scalar("1"),
                ObjectStart,
                End,
                End,
                Name("\"b\""),
                Scalar("\"x\""),
                End
            ]
        );
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
            let is_object = for_each_member(&text, |name, value| {
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
