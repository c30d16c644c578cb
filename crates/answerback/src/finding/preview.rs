use serde_json::Value;

/// The longest preview of a value, in characters.
const LONGEST: usize = 100;

/// A value on one line of at most 100 characters, with nothing in it that a terminal or a model
/// could take for ours: control, format and bidirectional characters are escaped.
pub fn preview(value: &Value) -> String {
    let text = value.to_string();
    let mut shown = String::new();
    for (count, character) in text.chars().flat_map(neutral).enumerate() {
        if count == LONGEST {
            shown.truncate(shown.char_indices().nth(LONGEST - 3).map_or(0, |(at, _)| at));
            shown.push_str("...");
            return shown;
        }
        shown.push(character);
    }
    shown
}

/// A character, or its `\u{…}` form when it would act instead of being seen.
pub(crate) fn neutral(character: char) -> impl Iterator<Item = char> {
    let acts = character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let escaped = acts.then(|| character.escape_unicode());
    let plain = (!acts).then_some(character);
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_short_and_quiet() {
        assert_eq!(preview(&serde_json::json!({"a": [1, "x"]})), r#"{"a":[1,"x"]}"#);
        assert_eq!(preview(&serde_json::json!("a\u{202e}b")), "\"a\\u{202e}b\"");
        let long = preview(&Value::String("é".repeat(500)));
        assert_eq!(long.chars().count(), 100);
        assert!(long.ends_with("..."));
    }
}
