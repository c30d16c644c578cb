//! What leaves the program: every text from outside passes here before it reaches a terminal.

use std::borrow::Cow;
use std::fmt::Write;

use crate::show::{self, Charset};

/// A text of a document, a file name or an error, with nothing in it that acts on a terminal.
pub(crate) fn sanitise(text: &str) -> Cow<'_, str> {
    show::sanitise(text, Charset::Unicode)
}

/// One line for people, on standard error.
pub(crate) fn say(text: &str) {
    anstream::eprintln!("{}", sanitise(text));
}

/// JSON with every character that would act on a terminal escaped: the same document, quiet.
pub(crate) fn quiet_json(json: &str) -> Cow<'_, str> {
    let acts = |character| character != '\n' && show::acts(character);
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut quiet = String::with_capacity(json.len());
    for character in json.chars() {
        if acts(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(quiet, "\\u{unit:04x}");
            }
        } else {
            quiet.push(character);
        }
    }
    Cow::Owned(quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_json_is_the_same_document() {
        let value =
            serde_json::json!({"a\u{202e}": "\u{1b}[31m \u{9b} \u{e0041} é", "b": [1.5, null]});
        let text = value.to_string();
        let quiet = quiet_json(&text);
        assert_eq!(
            quiet,
            "{\"a\\u202e\":\"\\u001b[31m \\u009b \\udb40\\udc41 é\",\"b\":[1.5,null]}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&quiet).unwrap(), value);
    }
}
