//! Members that only Answerback may write: those whose names begin with [`RESERVED_PREFIX`].
//!
//! Clients trust them as the gateway's own word about a result. A server could write them too, so they are removed
//! from its messages where the messages enter, before anything acts on them. Every other byte stays.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Message;
use super::json_scanner::{JsonEvent, JsonScanner};
use super::splice::range_of;

/// The prefix of the member names that only Answerback may write.
pub const RESERVED_PREFIX: &str = "dev.answerback/";

/// The part of the prefix that has no character with a short escape: JSON may spell the slash as `\/`.
static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("answerback"));
/// Finds the start of an escaped ASCII character.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));

impl Message {
    /// Returns the message without the members that only Answerback may write, and true if there were any.
    ///
    /// They are removed from every `_meta` object and from the `data` of an error, where clients look for them.
    /// `structuredContent` is the tool's own document and stays as it is. A quick search finds the messages that
    /// have no such member, which are most.
    #[must_use]
    pub fn without_reserved(self) -> (Self, bool) {
        if !self.may_contain_reserved() {
            return (self, false);
        }
        match without_reserved(self.text()) {
            Some(text) => (self.with_text(text), true),
            None => (self, false),
        }
    }

    /// Returns false if our name, however it is escaped, is nowhere in the message. It does not read the message, so it
    /// may return true for one that only has similar escapes.
    pub fn may_contain_reserved(&self) -> bool {
        may_contain_reserved(self.text().as_bytes())
    }
}

fn may_contain_reserved(bytes: &[u8]) -> bool {
    if WORD.find(bytes).is_some() {
        return true;
    }
    // Any of its characters may be escaped instead.
    ESCAPE.find_iter(bytes).any(|place| {
        let digits = bytes.get(place + ESCAPE.needle().len()..).and_then(|rest| rest.get(..2));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        escaped.is_some_and(|escaped| RESERVED_PREFIX.as_bytes().contains(&escaped))
    })
}

/// Classifies a value by its place in a message, which decides if members of the value can be reserved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ReservedScope {
    /// The message itself, or a message of a batch.
    Message,
    /// The error of a response.
    Error,
    /// A `_meta` object or the data of an error, whose members have namespaces.
    Namespaced,
    /// The tool's own document.
    Document,
    /// Anything else.
    Other,
}

impl ReservedScope {
    /// Returns the scope of a member's value, by the member's name as it is written.
    fn of_member(self, name: &str) -> Self {
        match self {
            Self::Document => Self::Document,
            _ if spells(name, "_meta") => Self::Namespaced,
            _ if spells(name, "structuredContent") => Self::Document,
            Self::Message if spells(name, "error") => Self::Error,
            Self::Error if spells(name, "data") => Self::Namespaced,
            _ => Self::Other,
        }
    }

    /// Returns the scope of an element of an array.
    const fn of_element(self, is_outermost: bool) -> Self {
        match self {
            Self::Document => Self::Document,
            Self::Message if is_outermost => Self::Message,
            _ => Self::Other,
        }
    }
}

/// Tracks an object or array whose end has not been reached.
struct OpenValue {
    scope: ReservedScope,
    is_array: bool,
    /// The position after the opening bracket.
    start: usize,
    /// The end of the last member that stays, if there is one so far.
    last_kept: Option<usize>,
}

/// Returns the text without the reserved members, or `None` if it has none or is not JSON.
fn without_reserved(text: &str) -> Option<String> {
    let cuts = reserved_ranges(text)?;
    if cuts.is_empty() {
        return None;
    }
    let mut left = String::with_capacity(text.len());
    let mut end = 0;
    for cut in cuts {
        left.push_str(&text[end..cut.start]);
        end = cut.end;
    }
    left.push_str(&text[end..]);
    Some(left)
}

/// Returns the ranges of the text to remove, in order. The open values are stored in a list instead of on the call
/// stack, so a deep message is not rejected.
fn reserved_ranges(text: &str) -> Option<Vec<Range<usize>>> {
    let mut scanner = JsonScanner::new(text);
    let mut open: Vec<OpenValue> = Vec::new();
    let mut cuts = Vec::new();
    // The scope of the next value, if it is the value of a member or the whole text.
    let mut member_scope = ReservedScope::Message;
    loop {
        let event = scanner.next_event()?;
        match event {
            JsonEvent::ObjectStart | JsonEvent::ArrayStart => {
                let scope = match open.last() {
                    Some(parent) if parent.is_array => parent.scope.of_element(open.len() == 1),
                    _ => member_scope,
                };
                let is_array = event == JsonEvent::ArrayStart;
                open.push(OpenValue {
                    scope,
                    is_array,
                    start: scanner.position(),
                    last_kept: None,
                });
                continue;
            }
            JsonEvent::Name(name) => {
                let parent = open.last()?;
                if parent.scope == ReservedScope::Namespaced && begins(name, RESERVED_PREFIX) {
                    scanner.skip_value()?;
                    let start = range_of(text, name).start;
                    add_cut(&mut cuts, reserved_range(&mut scanner, parent, start)?);
                } else {
                    member_scope = parent.scope.of_member(name);
                }
                continue;
            }
            JsonEvent::End => drop(open.pop()),
            JsonEvent::Scalar(_) => {}
        }
        match open.last_mut() {
            Some(parent) => parent.last_kept = Some(scanner.position()),
            None => return Some(cuts),
        }
    }
}

/// Returns the range to remove for a reserved member that begins at `start` and was just read. The comma before the
/// member is removed with it. If no member before it stays, the comma after it is removed.
fn reserved_range(
    scanner: &mut JsonScanner<'_>,
    parent: &OpenValue,
    start: usize,
) -> Option<Range<usize>> {
    let end = scanner.position();
    if let Some(kept) = parent.last_kept {
        return Some(kept..end);
    }
    let (separator, position) = scanner.peek()?;
    Some(if separator == b',' { start..position + 1 } else { parent.start..end })
}

/// Adds a range, and merges it with the previous range if they touch.
fn add_cut(cuts: &mut Vec<Range<usize>>, cut: Range<usize>) {
    match cuts.last_mut() {
        Some(last) if cut.start <= last.end => {
            last.start = last.start.min(cut.start);
            last.end = cut.end;
        }
        _ => cuts.push(cut),
    }
}

/// Returns true if a name, as it is written with its quotes, is this ASCII text.
fn spells(written: &str, text: &str) -> bool {
    rest_after(written, text).is_some_and(|rest| rest == "\"")
}

/// Returns true if a name, as it is written with its quotes, begins with this ASCII text.
fn begins(written: &str, prefix: &str) -> bool {
    rest_after(written, prefix).is_some()
}

/// Returns the rest of a name after this ASCII text, as it is written. Parsers disagree about names with invalid
/// escapes, so this decodes no more of the name than it must.
fn rest_after<'t>(written: &'t str, text: &str) -> Option<&'t str> {
    let mut rest = written.strip_prefix('"')?;
    for expected in text.bytes() {
        let (byte, left) = (*rest.as_bytes().first()?, rest.get(1..)?);
        let (byte, left) = match byte {
            b'\\' => {
                let kind = *left.as_bytes().first()?;
                match kind {
                    b'u' => {
                        let code = u16::from_str_radix(left.get(1..5)?, 16).ok()?;
                        (u8::try_from(code).ok()?, left.get(5..)?)
                    }
                    b'/' | b'\\' => (kind, left.get(1..)?),
                    _ => return None,
                }
            }
            b'"' => return None,
            byte => (byte, left),
        };
        if byte != expected {
            return None;
        }
        rest = left;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn cleaned(text: &str) -> String {
        let (message, _) = Message::read(text.to_owned()).unwrap().without_reserved();
        message.into_text()
    }

    #[test]
    fn reserved_members_go_and_every_other_byte_stays() {
        for (meta, expected) in [
            (r#"{"dev.answerback/retry":{"a":[1]}}"#, "{}"),
            (r#"{ "dev.answerback/retry" : 1 , "x" : 1.50 }"#, r#"{  "x" : 1.50 }"#),
            (r#"{"x":1.50 , "dev.answerback/retry":1}"#, r#"{"x":1.50}"#),
            (r#"{"x":1,"dev.answerback/a":1,"dev.answerback/b":2,"y":2}"#, r#"{"x":1,"y":2}"#),
            (r#"{"dev.answerback/a":1,"dev.answerback/b":2,"y":2}"#, r#"{"y":2}"#),
            (r#"{"dev.answerback/a":1,"y":2,"dev.answerback/b":2}"#, r#"{"y":2}"#),
            (r#"{"dev.answerback/a":1, "dev.answerback/b":2}"#, "{}"),
            (r#"{"dev.answerback\/a":1,"\u0064ev.\u0061nswerback\u002Fb":2}"#, "{}"),
            (r#"{"dev.answerback/\ud800":1}"#, "{}"),
            (r#"{"x":{"_meta":{"dev.answerback/a":1}}}"#, r#"{"x":{"_meta":{}}}"#),
        ] {
            let text =
                |meta: &str| format!(r#"{{"jsonrpc":"2.0", "id":1,"result":{{"_meta":{meta}}}}}"#);
            assert_eq!(cleaned(&text(meta)), text(expected));
        }
    }

    #[test]
    fn they_go_wherever_a_client_looks_for_them() {
        let forged = json!({"dev.answerback/retry": 1, "vendor/x": 1});
        let left = json!({"vendor/x": 1});
        for (message, path) in [
            (json!({"id": 1, "result": {"_meta": forged}}), "/result/_meta"),
            (json!({"id": 1, "result": {"_meta": forged}, "_meta": 1}), "/result/_meta"),
            (
                json!({"id": 1, "result": {"content": [{"type": "text", "_meta": forged}]}}),
                "/result/content/0/_meta",
            ),
            (json!({"id": 1, "result": {"tools": [{"_meta": forged}]}}), "/result/tools/0/_meta"),
            (
                json!({"id": 1, "result": {"messages": [{"content": {"resource": {"_meta": forged}}}]}}),
                "/result/messages/0/content/resource/_meta",
            ),
            (json!({"id": 1, "error": {"code": 1, "message": "", "data": forged}}), "/error/data"),
            (json!({"method": "notifications/x", "params": {"_meta": forged}}), "/params/_meta"),
            (json!({"id": 1, "method": "x/y", "params": {"_meta": forged}}), "/params/_meta"),
        ] {
            let cleaned: Value = serde_json::from_str(&cleaned(&message.to_string())).unwrap();
            assert_eq!(cleaned.pointer(path), Some(&left), "{cleaned}");
            assert!(!cleaned.to_string().contains("answerback"), "{cleaned}");
        }
    }

    #[test]
    fn what_is_written_twice_goes_twice() {
        let text = r#"{"id":1,"result":{"_meta":{"dev.answerback/a":1},"_meta":{"b":1,"dev.answerback/a":1}}}"#;
        assert_eq!(cleaned(text), r#"{"id":1,"result":{"_meta":{},"_meta":{"b":1}}}"#);
    }

    #[test]
    fn a_batch_is_read_message_by_message() {
        let text = r#"[ {"id":1,"error":{"data":{"dev.answerback/link":"unsent"}}},[{"error":{"data":{"dev.answerback/a":1}}}]]"#;
        let expected =
            r#"[ {"id":1,"error":{"data":{}}},[{"error":{"data":{"dev.answerback/a":1}}}]]"#;
        assert_eq!(cleaned(text), expected);
    }

    #[test]
    fn what_is_no_reserved_member_stays() {
        for text in [
            r#"{"id":1,"result":{"content":[{"type":"text","text":"dev.answerback/retry"}]}}"#,
            r#"{"id":1,"result":{"structuredContent":{"_meta":{"dev.answerback/retry":1}}}}"#,
            r#"{"id":1,"result":{"structuredContent":[{"_meta":{"dev.answerback/retry":1}}]}}"#,
            r#"{"id":1,"result":{"_meta":{"dev.answerbacker/x":1,"Dev.answerback/x":1}}}"#,
            r#"{"id":1,"result":{"_meta":["dev.answerback/x"]}}"#,
            r#"{"id":1,"result":{"meta":{"dev.answerback/x":1}}}"#,
        ] {
            let (message, is_changed) = Message::read(text.to_owned()).unwrap().without_reserved();
            assert!(!is_changed);
            assert_eq!(message.text(), text);
        }
    }

    #[test]
    fn depth_is_no_way_around_it() {
        let (open, close) = ("[{\"a\":".repeat(20_000), "}]".repeat(20_000));
        let text =
            |meta: &str| format!(r#"{{"id":1,"result":{{"x":{open}{{"_meta":{meta}}}{close}}}}}"#);
        assert_eq!(cleaned(&text(r#"{"dev.answerback/a":1}"#)), text("{}"));
    }

    /// Removes reserved members from a parsed tree. The result is compared with the text.
    fn expected(value: &Value, scope: ReservedScope, is_outermost: bool) -> Value {
        match value {
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| {
                    scope != ReservedScope::Namespaced || !name.starts_with(RESERVED_PREFIX)
                })
                .map(|(name, value)| {
                    let scope = scope.of_member(&json!(name).to_string());
                    (name.clone(), expected(value, scope, false))
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Array(elements) => {
                let scope = scope.of_element(is_outermost);
                elements.iter().map(|value| expected(value, scope, false)).collect()
            }
            other => other.clone(),
        }
    }

    fn tree() -> impl Strategy<Value = Value> {
        let name = prop_oneof![
            Just("_meta".to_owned()),
            Just("error".to_owned()),
            Just("data".to_owned()),
            Just("structuredContent".to_owned()),
            Just("dev.answerback/retry".to_owned()),
            "dev.answerback/[a-c\"é]{0,2}",
            "[a-b]{1}",
        ];
        let leaf =
            prop_oneof![Just(json!(1.5)), Just(json!("dev.answerback/ , }]")), Just(json!({}))];
        leaf.prop_recursive(6, 60, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(name.clone(), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_text_loses_what_the_tree_loses(tree in tree(), is_pretty in any::<bool>()) {
            let text = if is_pretty { serde_json::to_string_pretty(&tree) } else { serde_json::to_string(&tree) };
            let text = text.unwrap();
            let left = without_reserved(&text);
            let wanted = expected(&tree, ReservedScope::Message, true);
            prop_assert_eq!(left.is_some(), wanted != tree);
            let read: Value = serde_json::from_str(left.as_deref().unwrap_or(&text)).unwrap();
            prop_assert_eq!(read, wanted);
        }

        #[test]
        fn every_spelling_of_a_name_is_seen(escaped in proptest::collection::vec(0..3_u8, 15)) {
            let name: String = RESERVED_PREFIX
                .chars()
                .zip(escaped)
                .map(|(character, how)| match (how, character) {
                    (1, _) => format!("\\u{:04x}", u32::from(character)),
                    (2, '/') => "\\/".to_owned(),
                    (2, _) => format!("\\u{:04X}", u32::from(character)),
                    _ => character.to_string(),
                })
                .collect();
            let text = format!(r#"{{"id":1,"result":{{"_meta":{{"{name}x":1}}}}}}"#);
            prop_assert_eq!(cleaned(&text), r#"{"id":1,"result":{"_meta":{}}}"#);
        }
    }
}
