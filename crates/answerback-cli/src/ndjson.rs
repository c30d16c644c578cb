//! One JSON value a line, for readers that know more line ends than JSON does.

use serde::Serialize;

/// Appends a value and a line feed. U+0085, U+2028 and U+2029 are legal in JSON strings, yet end a line
/// for many a reader of text, so they are written as escapes.
pub(crate) fn push_line(lines: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    let start = lines.len();
    serde_json::to_writer(&mut *lines, value)?;
    let ends_a_line = |text: &str| text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    if let Ok(line) = std::str::from_utf8(&lines[start..])
        && ends_a_line(line)
    {
        let line = line
            .replace('\u{85}', "\\u0085")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
        lines.truncate(start);
        lines.extend_from_slice(line.as_bytes());
    }
    lines.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_on_one_line() {
        let mut lines = Vec::new();
        push_line(&mut lines, &"a\u{2028}b\u{85}c\nd").unwrap();
        assert_eq!(String::from_utf8(lines).unwrap(), "\"a\\u2028b\\u0085c\\nd\"\n");
    }
}
