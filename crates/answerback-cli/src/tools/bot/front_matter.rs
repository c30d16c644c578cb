//! Parses the YAML front matter between two fences at the start of a file.

use serde_json::{Map, Value};

use crate::tools::issue::plain;

/// The longest reason in a message, in characters.
const LONGEST_REASON: usize = 200;

/// The front matter of a file.
#[derive(Debug, PartialEq)]
pub(crate) enum FrontMatter {
    /// The file does not begin with a fence.
    Missing,
    /// There is a fence, but no valid YAML mapping after it. Holds the reason.
    Unreadable(String),
    /// The parsed members.
    Read(Map<String, Value>),
}

impl FrontMatter {
    /// Parses the front matter of a text. Also returns the rest of the text.
    pub(crate) fn read(text: &str) -> (Self, &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(inside) = fence(text) else { return (Self::Missing, text) };
        let mut at = 0;
        for line in inside.split_inclusive('\n') {
            if line.trim_end() == FENCE {
                return (parsed(&inside[..at]), &inside[at + line.len()..]);
            }
            at += line.len();
        }
        (Self::Unreadable("the closing --- is missing".to_owned()), "")
    }
}

const FENCE: &str = "---";

/// Returns the text after the opening fence.
fn fence(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    (first.trim_end() == FENCE).then_some(rest)
}

fn parsed(yaml: &str) -> FrontMatter {
    match serde_saphyr::from_str::<Option<Value>>(yaml) {
        Ok(Some(Value::Object(members))) => FrontMatter::Read(members),
        Ok(None) => FrontMatter::Unreadable("it is empty".to_owned()),
        Ok(Some(_)) => FrontMatter::Unreadable("it is not a list of names and values".to_owned()),
        Err(error) => {
            // The first line has the problem and its position. The other lines show the source.
            let told = error.to_string();
            let first = told.lines().next().unwrap_or_default();
            // This part of the message is advice for developers who use the parser.
            let first =
                first.split_once(", set DuplicateKeyPolicy").map_or(first, |(said, _)| said);
            FrontMatter::Unreadable(plain(first, LONGEST_REASON))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_stands_between_the_fences() {
        let members = |value: Value| FrontMatter::Read(value.as_object().unwrap().clone());
        for (text, expected, rest) in [
            ("---\ntype: agent\n---\n# A\n", members(json!({"type": "agent"})), "# A\n"),
            ("---\r\na: [1, x]\r\n---\r\nrest", members(json!({"a": [1, "x"]})), "rest"),
            ("\u{feff}---\na: 1\n---", members(json!({"a": 1})), ""),
            ("# A\n---\na: 1\n---\n", FrontMatter::Missing, "# A\n---\na: 1\n---\n"),
            ("\n---\na: 1\n---\n", FrontMatter::Missing, "\n---\na: 1\n---\n"),
            ("----\na: 1\n", FrontMatter::Missing, "----\na: 1\n"),
            ("", FrontMatter::Missing, ""),
        ] {
            assert_eq!(FrontMatter::read(text), (expected, rest), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_mapping_is_told() {
        let bomb = format!("---\na: &a [x]\n{}---\n", "b: [*a, *a]\n".repeat(3));
        for text in [
            "---\ntype: agent\n",
            "---\n---\n",
            "---\n- a\n---\n",
            "---\na: [1\n---\n",
            "---\na: 1\na: 2\n---\n",
            "---\na: !!binary \"%\"\nb: *nowhere\n---\n",
            &bomb,
        ] {
            let (read, _) = FrontMatter::read(text);
            let FrontMatter::Unreadable(reason) = read else { panic!("{text:?}: {read:?}") };
            assert!(!reason.is_empty() && !reason.contains('\n'), "{text:?}: {reason}");
        }
    }
}
