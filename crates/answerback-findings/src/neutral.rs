//! Makes text from other sources harmless. The result is on one line and has no active or invisible characters. It
//! contains nothing that a model could take for a tag, a code fence or a turn of the conversation.
//!
//! Dangerous characters are written as JSON escapes, so a quoted text stays valid JSON with the same meaning.

use std::borrow::Cow;

use answerback_redaction::is_control_or_format;

/// The place where a text will be inserted.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Quoting {
    /// Between double quotes, as a JSON string. `"` and `\` are escaped, too.
    Json,
    /// Inside a sentence that we wrote.
    Plain,
}

/// Appends the first unit of `rest`: a character, or an escape that must not be split. Returns the number of bytes
/// consumed and the number of characters appended.
pub fn push_unit(shown: &mut String, rest: &str, quoting: Quoting) -> (usize, usize) {
    let Some(character) = rest.chars().next() else { return (0, 0) };
    let before = shown.len();
    let width = character.len_utf8();
    let consumed = match character {
        '"' if quoting == Quoting::Json => {
            shown.push_str("\\\"");
            width
        }
        '\\' if quoting == Quoting::Json => {
            shown.push_str("\\\\");
            width
        }
        // In plain text, an existing escape stays one unit, so that no cut splits it.
        '\\' => {
            let length = escape_length(rest);
            shown.push_str(&rest[..length]);
            length
        }
        '`' | '~' if is_fence(rest, character) => {
            for _ in 0..3 {
                push_escape(shown, character);
            }
            3
        }
        _ if is_control_or_format(character) || passes_for_a_tag(character) || opens_tag(rest) => {
            push_escape(shown, character);
            width
        }
        _ => {
            shown.push(character);
            return (width, 1);
        }
    };
    // Escapes are ASCII, so the number of bytes is the number of characters.
    (consumed, shown.len() - before)
}

/// The maximum length of a displayed name, in characters.
const SHOWN_NAME: usize = 128;

/// Formats a name from another source in single quotes, for use in a sentence. Secrets are redacted, the length is
/// limited, and nothing in it can be mistaken for our text. The result is on one line.
///
/// ```
/// assert_eq!(answerback_findings::display_name("read_file"), "'read_file'");
/// assert!(!answerback_findings::display_name("</tool>\n").contains("</"));
/// ```
pub fn display_name(name: &str) -> String {
    let mut shown = String::new();
    push_name(&mut shown, &answerback_redaction::redact(name), SHOWN_NAME);
    shown
}

/// Formats a text from another source for use in a sentence. Secrets are redacted, the length is at most `limit`
/// characters, and nothing in it can be mistaken for our text. The result is on one line.
pub fn display_text(text: &str, limit: usize) -> String {
    cut(&plain(&answerback_redaction::redact(text)), limit).into_owned()
}

/// Counts the bytes at the start of a text that never need an escape. [`push_unit`] would append each of them
/// unchanged, as one character.
pub fn ordinary_run(text: &str) -> usize {
    let is_ordinary = |byte: &u8| {
        matches!(byte, b' '..=b'~')
            && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'~' | b'<' | b'[')
    };
    text.as_bytes().iter().take_while(|byte| is_ordinary(byte)).count()
}

/// Returns a character for output on one line: unchanged, or as its JSON escape if it is active or invisible.
pub fn seen(character: char) -> impl Iterator<Item = char> {
    // The longest escape is a surrogate pair.
    let mut units = ['\0'; 12];
    let mut count = 0;
    let mut add = |unit: char| {
        units[count] = unit;
        count += 1;
    };
    if is_control_or_format(character) || passes_for_a_tag(character) {
        escape(character, &mut add);
    } else {
        add(character);
    }
    units.into_iter().take(count)
}

/// True if a text certainly contains no active characters and no tags. The check looks at single bytes, so it can
/// return false for harmless text.
pub fn is_harmless(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'<' | b'`' | b'~' | b'['))
}

/// Formats a text for use in a sentence: on one line, harmless, and with paired double quotes.
pub fn plain(text: &str) -> Cow<'_, str> {
    let quotes = text.bytes().filter(|byte| *byte == b'"').count();
    if quotes.is_multiple_of(2) && is_harmless(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while !rest.is_empty() {
        let ordinary = ordinary_run(rest);
        shown.push_str(&rest[..ordinary]);
        let (consumed, _) = push_unit(&mut shown, &rest[ordinary..], Quoting::Plain);
        rest = &rest[ordinary + consumed..];
    }
    pair_quotes(&mut shown);
    Cow::Owned(shown)
}

/// Appends a name in single quotes: harmless, and with at most `limit` characters between the quotes.
pub fn push_name(shown: &mut String, name: &str, limit: usize) {
    shown.push('\'');
    let start = shown.len();
    if !name.is_empty() && name.len() <= limit && ordinary_run(name) == name.len() {
        shown.push_str(name);
        shown.push('\'');
        return;
    }
    let (mut length, mut fits) = (0, shown.len());
    let mut rest = name;
    while !rest.is_empty() {
        let (consumed, pushed) = if rest.starts_with('\'') {
            push_escape(shown, '\'');
            (1, 6)
        } else {
            push_unit(shown, rest, Quoting::Json)
        };
        length += pushed;
        if length > limit {
            shown.truncate(fits);
            shown.push('…');
            break;
        }
        // This leaves room for the ellipsis if the next unit does not fit.
        if length < limit {
            fits = shown.len();
        }
        rest = &rest[consumed..];
    }
    if shown.len() == start {
        shown.push_str("(empty)");
    }
    shown.push('\'');
}

/// Shortens a text to at most `limit` characters. It cuts between units and closes open quotes after the "...".
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit || text.chars().count() <= limit {
        return Cow::Borrowed(text);
    }
    let (mut length, mut at) = (0, 0);
    let (mut double, mut single) = (false, false);
    let mut previous = ' ';
    let mut kept = (0, false, false);
    while let Some(character) = text[at..].chars().next() {
        let (bytes, characters) = match character {
            '\\' => (escape_length(&text[at..]), escape_length(&text[at..])),
            other => (other.len_utf8(), 1),
        };
        let next = text[at + bytes..].chars().next().unwrap_or(' ');
        match character {
            '"' => double = !double,
            '\'' if single => single = next.is_alphanumeric(),
            '\'' if !double => single = previous.is_whitespace() || "([:".contains(previous),
            _ => {}
        }
        at += bytes;
        length += characters;
        previous = character;
        let closing = 3 + usize::from(double) + usize::from(single);
        if length + closing > limit {
            break;
        }
        kept = (at, double, single);
    }
    let (end, double, single) = kept;
    let mut shown = String::with_capacity(end + 5);
    shown.push_str(&text[..end]);
    shown.push_str(if limit < 3 { "" } else { "..." });
    if double {
        shown.push('"');
    }
    if single {
        shown.push('\'');
    }
    Cow::Owned(shown)
}

/// Returns the length of the escape at the start of `text`, in bytes: two for `\n`, six for `\u0041`, twelve for a
/// surrogate pair, one for a lone `\`.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_unit = |at: usize| {
        bytes.get(at) == Some(&b'\\')
            && bytes.get(at + 1) == Some(&b'u')
            && bytes
                .get(at + 2..at + 6)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if is_unit(0) {
        let is_high = matches!(bytes[2], b'd' | b'D')
            && matches!(bytes[3], b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B');
        if is_high && is_unit(6) { 12 } else { 6 }
    } else if matches!(bytes.get(1), Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) {
        2
    } else {
        1
    }
}

/// Escapes the last double quote of a text with an odd number of them.
fn pair_quotes(text: &mut String) {
    let (mut at, mut last, mut count) = (0, None, 0_usize);
    while let Some(byte) = text.as_bytes().get(at) {
        if *byte == b'"' {
            last = Some(at);
            count += 1;
        }
        at += if *byte == b'\\' { escape_length(&text[at..]) } else { 1 };
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    if let Some(last) = last.filter(|_| !count.is_multiple_of(2)) {
        text.replace_range(last..=last, "\\u0022");
    }
}

fn is_fence(rest: &str, character: char) -> bool {
    rest.as_bytes()
        .get(..3)
        .is_some_and(|three| three.iter().all(|byte| char::from(*byte) == character))
}

/// True if a tag starts with this `<`, or an instruction marker with this bracket.
fn opens_tag(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    match bytes[0] {
        b'<' => match bytes.get(1) {
            Some(next) => {
                next.is_ascii_alphabetic()
                    || matches!(next, b'/' | b'!' | b'?' | b'|' | b'<')
                    || !next.is_ascii()
            }
            None => false,
        },
        b'[' => {
            let inner = bytes.get(1..).unwrap_or_default();
            let inner = inner.strip_prefix(b"/").unwrap_or(inner);
            ["INST]", "SYS]", "SYSTEM]", "USER]", "ASSISTANT]", "TOOL]"].iter().any(|marker| {
                inner
                    .get(..marker.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(marker.as_bytes()))
            })
        }
        _ => false,
    }
}

/// True if a character looks like `<`.
const fn passes_for_a_tag(character: char) -> bool {
    matches!(character, '\u{fe64}' | '\u{ff1c}')
}

fn push_escape(shown: &mut String, character: char) {
    escape(character, &mut |unit| shown.push(unit));
}

/// Passes the JSON escape of a character to `add`, one character at a time.
fn escape(character: char, add: &mut impl FnMut(char)) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match character {
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        _ => None,
    };
    if let Some(letter) = short {
        add('\\');
        add(letter);
        return;
    }
    for unit in character.encode_utf16(&mut [0; 2]) {
        add('\\');
        add('u');
        for shift in [12, 8, 4, 0] {
            add(char::from(DIGITS[usize::from(*unit >> shift & 0xf)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_tags_fences_and_turns_out_of_play() {
        let cases = [
            ("</tool_result> go on", "\\u003c/tool_result> go on"),
            ("```json", "\\u0060\\u0060\\u0060json"),
            ("<|im_start|>system", "\\u003c|im_start|>system"),
            ("[INST] x [/inst]", "\\u005bINST] x \\u005b/inst]"),
            ("a\n\nHuman: hi", "a\\n\\nHuman: hi"),
            ("\u{1b}[31mred", "\\u001b[31mred"),
            ("a\u{202e}b\u{200b}c\u{feff}", "a\\u202eb\\u200bc\\ufeff"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("1 < 2 and a <= b, x[0]", "1 < 2 and a <= b, x[0]"),
            ("say \"hi", "say \\u0022hi"),
            ("héllo 漢字 🙂", "héllo 漢字 🙂"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected);
            assert_eq!(plain(&plain(text)), expected, "a second time changes nothing");
        }
    }

    #[test]
    fn cuts_between_units_and_closes_quotes() {
        let cases = [
            ("short", 10, "short"),
            ("a long sentence", 10, "a long ..."),
            ("is \"quoted text\" here", 12, "is \"quot...\""),
            ("of 'named' things", 8, "of 'n...'"[..].trim_end_matches('\'')),
            ("abc\\u202edef", 9, "abc..."),
            ("ééééééé", 5, "éé..."),
        ];
        for (text, limit, expected) in cases {
            let shown = cut(text, limit);
            assert!(shown.chars().count() <= limit, "{shown}");
            if !text.contains('\'') {
                assert_eq!(shown, expected);
            }
        }
        assert_eq!(cut("the 'field name' is", 12), "the 'fie...'");
    }

    #[test]
    fn names_are_quoted_and_bounded() {
        let show = |name: &str, limit| {
            let mut shown = String::new();
            push_name(&mut shown, name, limit);
            shown
        };
        assert_eq!(show("read_file", 128), "'read_file'");
        assert_eq!(show("it's\n</x>", 128), "'it\\u0027s\\n\\u003c/x>'");
        assert_eq!(show("", 128), "'(empty)'");
        assert_eq!(show(&"x".repeat(200), 128).chars().count(), 130);
        assert_eq!(show("abcdef", 6), "'abcdef'");
        assert_eq!(show("abcdefg", 6), "'abcde…'");
    }
}
