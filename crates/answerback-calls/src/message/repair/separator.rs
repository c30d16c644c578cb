//! The separator that a field's description asks for between several values.

use serde_json::Value;

/// The words that say what a separator is for, in small letters.
const VERBS: [&str; 10] = [
    "separat",
    "delimit",
    "joined",
    "join ",
    "split",
    "concatenat",
    "分割",
    "分隔",
    "隔开",
    "区切",
];
/// The names of separators. A longer name comes before one that it holds.
const NAMES: [(&str, &str); 9] = [
    ("semicolon", ";"),
    ("semi-colon", ";"),
    ("comma", ","),
    ("pipe", "|"),
    ("vertical bar", "|"),
    ("newline", "\n"),
    ("line break", "\n"),
    ("逗号", ","),
    ("分号", ";"),
];
/// The largest distance between the verb and its separator, in characters.
const NEAR: usize = 32;
/// The part of a description that is searched, in characters.
const READ: usize = 4096;

/// Joins a list to one text, if the description of the field says how the parts are separated.
///
/// No part may hold the separator, or the text could not be taken apart again.
pub(super) fn joined(field: &Value, elements: &[Value]) -> Option<String> {
    let separator = separator_in(field.get("description")?.as_str()?)?;
    let parts: Option<Vec<String>> = elements
        .iter()
        .map(|element| match element {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let is_part = |part: &String| !part.is_empty() && !part.contains(separator);
    parts.iter().all(is_part).then(|| parts.join(separator))
}

/// Returns the one separator that a description names, or `None` if it names none or several.
fn separator_in(description: &str) -> Option<&'static str> {
    let text: Vec<char> =
        description.chars().take(READ).map(|letter| letter.to_ascii_lowercase()).collect();
    let mut found = None;
    for verb in VERBS {
        let verb: Vec<char> = verb.chars().collect();
        for at in 0..text.len().saturating_sub(verb.len() - 1) {
            if !text[at..].starts_with(&verb) {
                continue;
            }
            let (start, end) = (at + verb.len(), (at + verb.len() + NEAR).min(text.len()));
            let sides = [&text[at.saturating_sub(NEAR)..at], &text[start..end]];
            for separator in sides.into_iter().flat_map(separators) {
                if found.is_some_and(|other| other != separator) {
                    return None;
                }
                found = Some(separator);
            }
        }
    }
    found
}

/// Returns the separators in a piece of a description, written as a word or as a character.
fn separators(piece: &[char]) -> Vec<&'static str> {
    let text: String = piece.iter().collect();
    let mut rest = text;
    let mut found = Vec::new();
    for (name, separator) in NAMES {
        // Not `comma` in `command`.
        let ends = |rest: &str| {
            let rest = rest.strip_prefix('s').unwrap_or(rest);
            !rest.starts_with(|next: char| next.is_ascii_alphanumeric())
        };
        if rest.match_indices(name).any(|(at, _)| ends(&rest[at + name.len()..])) {
            found.push(separator);
            rest = rest.replace(name, "");
        }
    }
    // Commas and semicolons stand in any sentence. In quotes, or next to a verb without spaces, they are meant.
    let is_quote =
        |letter: char| matches!(letter, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '「' | '」');
    for (at, letter) in piece.iter().enumerate() {
        let separator = match letter {
            '|' => "|",
            ',' => ",",
            ';' => ";",
            _ => continue,
        };
        let before = at.checked_sub(1).and_then(|before| piece.get(before));
        let after = piece.get(at + 1);
        let is_quoted = before.is_some_and(|letter| is_quote(*letter))
            && after.is_some_and(|letter| is_quote(*letter));
        let is_alone = before.is_none_or(|letter| letter.is_whitespace())
            && after.is_none_or(|letter| letter.is_whitespace());
        let follows_a_word_for_by = before.is_some_and(|letter| matches!(letter, '用' | '以'));
        if *letter == '|' || is_quoted || is_alone || follows_a_word_for_by {
            found.push(separator);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_names_the_separator() {
        for (description, expected) in [
            ("Comma-separated list of tickers", Some(",")),
            ("Tickers, separated by commas.", Some(",")),
            ("Names (semicolon separated)", Some(";")),
            ("One or several names, joined with |", Some("|")),
            ("One or several names, joined with '|'.", Some("|")),
            ("若要查询多个站点，请用|分割，比如\"北京南|上海虹桥\"。", Some("|")),
            ("多个城市用逗号分隔", Some(",")),
            ("Ids delimited by ',', such as 1,2", Some(",")),
            ("One URL per item, newline-delimited", Some("\n")),
            ("The city, and the state if it is known", None),
            ("Separated by commas or semicolons", None),
            ("Either separator works: 'public/images', or 'assets'", None),
            ("Splits the text, then returns it", None),
            ("Command to split the pipeline with", None),
            ("", None),
        ] {
            assert_eq!(separator_in(description), expected, "{description}");
        }
    }

    #[test]
    fn parts_are_joined_only_if_they_can_be_taken_apart_again() {
        let field = json!({"type": "string", "description": "Comma-separated names"});
        for (elements, expected) in [
            (json!(["a", "b"]), Some("a,b")),
            (json!([1, " b "]), Some("1,b")),
            (json!(["a,b", "c"]), None),
            (json!(["a", ""]), None),
            (json!(["a", null]), None),
            (json!([["a"], "b"]), None),
        ] {
            let joined = joined(&field, elements.as_array().unwrap());
            assert_eq!(joined.as_deref(), expected, "{elements}");
        }
        assert_eq!(joined(&json!({"type": "string"}), &[json!("a"), json!("b")]), None);
    }
}
