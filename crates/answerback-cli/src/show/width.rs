//! Measures the width of text in columns, and cuts it.

use unicode_width::UnicodeWidthStr;

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { clusters(text).map(UnicodeWidthStr::width).sum() }
}

/// Returns the longest beginning of a text that fits, in bytes, and its width.
pub(crate) fn fit(text: &str, most: usize) -> (usize, usize) {
    if text.is_ascii() {
        let kept = text.len().min(most);
        return (kept, kept);
    }
    let (mut bytes, mut columns) = (0, 0);
    for cluster in clusters(text) {
        let wide = UnicodeWidthStr::width(cluster);
        if columns + wide > most {
            break;
        }
        bytes += cluster.len();
        columns += wide;
    }
    (bytes, columns)
}

/// Shortens a text to at most `most` columns, with `…` at the end if it was cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    // This examines only a little more than fits, because the text may have megabytes.
    if fit(text, most + 1).0 == text.len() && width(text) <= most {
        return text.to_owned();
    }
    let (bytes, _) = fit(text, most.saturating_sub(1));
    format!("{}…", &text[..bytes])
}

/// Returns at most `most` characters of a text, and the number of characters left out.
pub(crate) fn beginning(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        None => (text, 0),
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
    }
}

/// Splits a text into the units that a terminal draws as one: a character with its marks, or an emoji sequence.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut characters = rest.char_indices();
        characters.next()?;
        let mut joined = false;
        let end = characters
            .find(|&(_, character)| {
                let belongs = joined || continues(character);
                joined = character == '\u{200d}';
                !belongs
            })
            .map_or(rest.len(), |(at, _)| at);
        let (cluster, after) = rest.split_at(end);
        rest = after;
        Some(cluster)
    })
}

fn continues(character: char) -> bool {
    matches!(character, '\u{1f3fb}'..='\u{1f3ff}')
        || unicode_width::UnicodeWidthChar::width(character) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_what_a_terminal_shows() {
        let table =
            [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩\u{200d}💻!", 3), ("✔", 1)];
        for (text, columns) in table {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn cuts_never_split_what_belongs_together() {
        assert_eq!(shortened("日本語", 6), "日本語");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(shortened("abc", 1), "…");
        assert_eq!(fit("e\u{301}x", 1), (3, 1));
        assert_eq!(beginning("héllo", 2), ("hé", 3));
    }
}
