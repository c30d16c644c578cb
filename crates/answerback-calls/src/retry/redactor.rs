use std::borrow::Cow;

use answerback_findings::neutral::{Quoting, is_harmless, push_unit};
use serde_json::Value;

/// Takes secrets out of what is kept and shown. It runs before anything is cut, so that half a
/// secret is never left over.
pub trait Redactor: Send + Sync {
    /// The value with every secret in it masked.
    fn value(&self, value: &Value) -> Value;

    /// The text with every secret in it masked.
    fn text(&self, text: &str) -> String;
}

/// Masks what looks like a secret by its name or its shape; see [`answerback_redaction`].
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to configure")]
pub struct HideSecrets;

impl Redactor for HideSecrets {
    fn value(&self, value: &Value) -> Value {
        answerback_redaction::redact_value(value)
    }

    fn text(&self, text: &str) -> String {
        answerback_redaction::redact(text).into_owned()
    }
}

/// A text on one line that takes at most `bytes` bytes inside a JSON string, with nothing in it that
/// acts instead of being seen or passes for a tag: models read it too. What is cut ends in `...`.
pub(super) fn bounded<'t>(text: impl Into<Cow<'t, str>>, bytes: usize) -> String {
    const MARK: &str = "...";
    let text = text.into();
    // Most texts fit as they are.
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    if text.len() + escaped <= bytes && is_harmless(&text) {
        let mut kept = text.into_owned();
        kept.shrink_to_fit();
        return kept;
    }
    let width =
        |character: char| if matches!(character, '"' | '\\') { 2 } else { character.len_utf8() };
    let mut shown = String::with_capacity(text.len().min(bytes));
    let (mut used, mut fits) = (0, 0);
    let mut rest: &str = &text;
    while !rest.is_empty() {
        let start = shown.len();
        let (consumed, _) = push_unit(&mut shown, rest, Quoting::Plain);
        rest = &rest[consumed..];
        used += shown[start..].chars().map(width).sum::<usize>();
        if used > bytes {
            shown.truncate(fits);
            shown.push_str(MARK);
            shown.shrink_to_fit();
            return shown;
        }
        if used + MARK.len() <= bytes {
            fits = shown.len();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_at_a_character() {
        assert_eq!(bounded("short", 5), "short");
        assert_eq!(bounded("longer", 5), "lo...");
        assert_eq!(bounded("ééééé", 9), "ééé...");
        assert_eq!(bounded("a\nb", 40), "a\\nb");
        assert_eq!(bounded("</tool> <|x|> a < b", 40), "\\u003c/tool> \\u003c|x|> a < b");
    }

    proptest! {
        #[test]
        fn is_bounded_as_json(text in any::<String>(), bytes in 3_usize..60) {
            let written = Value::from(bounded(&text, bytes)).to_string();
            prop_assert!(written.len() <= bytes + 2, "{written}");
        }
    }
}
