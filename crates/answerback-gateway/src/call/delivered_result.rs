//! Assembles the result that is returned, and describes how it differs from the received one.

use answerback::json::canonical;
use answerback_mcp::wire::Object;
use serde_json::Value;

use crate::marker::Marker;
use crate::reply_meta;

/// Holds a result as it is returned: its text, and its `_meta` with our members.
pub(super) struct DeliveredResult<'t> {
    received: &'t str,
    text: &'t str,
    /// The parsed result, or `None` if nothing can be added to it.
    object: Option<Object<'t>>,
    meta: Option<String>,
    /// True if something is added even without a receipt.
    has_more: bool,
}

impl<'t> DeliveredResult<'t> {
    pub(super) fn new(received: &'t str, text: &'t str, added: &[(&str, String)]) -> Self {
        let object = Object::read_repeating(text).ok();
        let meta = object.as_ref().map(|object| object.get("_meta").unwrap_or("{}"));
        let meta = meta.and_then(|meta| reply_meta::with_members(meta, added));
        Self { received, text, object, meta, has_more: !added.is_empty() }
    }

    /// Returns the part of the entry that describes the returned result. In most results only `_meta` differs
    /// from the received one.
    pub(super) fn description(&self) -> String {
        let mut changed: Vec<(&str, &str)> = Vec::new();
        changed.extend(self.meta.as_deref().map(|meta| ("_meta", meta)));
        let is_same = std::ptr::eq(self.received, self.text);
        let received = (!is_same).then(|| Object::read_repeating(self.received).ok()).flatten();
        if let (Some(received), Some(returned)) = (&received, &self.object) {
            for name in ["content", "structuredContent", "task", "taskId"] {
                if received.get(name) != returned.get(name) {
                    changed.push((name, returned.get(name).unwrap_or("null")));
                }
            }
        }
        changes_from_received(&changed)
    }

    /// Returns the response with this result, or `None` if it is unchanged.
    pub(super) fn into_text(self, message: &Object<'_>, receipt: Option<&Value>) -> Option<String> {
        // A result without additions stays unchanged and gets no empty `_meta`.
        let is_added_to = self.has_more || receipt.is_some();
        let meta = match (self.meta, receipt) {
            (Some(meta), Some(receipt)) => {
                reply_meta::with_members(&meta, &[(reply_meta::RECEIPT, receipt.to_string())])
            }
            (meta, _) => meta,
        };
        match self.object.zip(meta).filter(|_| is_added_to) {
            Some((object, meta)) => Some(message.with("result", &object.with("_meta", &meta))),
            None if std::ptr::eq(self.received, self.text) => None,
            None => Some(message.with("result", self.text)),
        }
    }
}

/// Adds the notes for the model to a result, as a text block at its end.
pub(super) fn with_notes(result: &str, notes: &[String], marker: &Marker) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let object = Object::read_repeating(result).ok()?;
    let content = object.get("content")?;
    let blocks: Vec<&serde_json::value::RawValue> = serde_json::from_str(content).ok()?;
    let end = content.rfind(']')?;
    let block = marker.block(&notes.join("\n"));
    let comma = if blocks.is_empty() { "" } else { "," };
    Some(object.with("content", &format!("{}{comma}{block}]", &content[..end])))
}

/// Sets the envelope as the structured content of a result. The text stays the tool's own, for clients that show
/// only text. Repeating the envelope as text would duplicate everything.
pub(super) fn with_structured_content(result: &str, envelope: &Value) -> Option<String> {
    Some(Object::read_repeating(result).ok()?.with("structuredContent", &canonical(envelope)))
}

/// Describes a returned result whose received form is also recorded. It lists the members that were changed, or
/// `null` for those that were removed. The receipt is omitted, because it refers to the entry.
pub(super) fn changes_from_received(changed: &[(&str, &str)]) -> String {
    if changed.is_empty() {
        return r#"{"same_as":"received"}"#.to_owned();
    }
    let capacity = changed.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    let mut text = String::with_capacity(capacity + 32);
    text.push_str(r#"{"same_as":"received","but":{"#);
    for (position, (name, value)) in changed.iter().enumerate() {
        text.push_str(if position == 0 { "\"" } else { ",\"" });
        // The names are our own and need no escaping.
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value);
    }
    text.push_str("}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_added_as_the_last_block() {
        let (notes, marker) = (["n".to_owned()], Marker::of_text("m"));
        let with_notes = |result, notes: &[String]| with_notes(result, notes, &marker);
        for (result, expected) in [
            (r#"{"content":[]}"#, r#"{"content":[{"type":"text","text":"[answerback m] n"}]}"#),
            (
                r#"{"content":[ {"x":1.0} ],"y":2}"#,
                r#"{"content":[ {"x":1.0} ,{"type":"text","text":"[answerback m] n"}],"y":2}"#,
            ),
        ] {
            assert_eq!(with_notes(result, &notes).as_deref(), Some(expected));
        }
        assert_eq!(with_notes(r#"{"content":[]}"#, &[]), None);
        assert_eq!(with_notes(r#"{"content":3}"#, &notes), None);
    }

    #[test]
    fn only_changed_members_are_listed() {
        assert_eq!(changes_from_received(&[]), r#"{"same_as":"received"}"#);
        assert_eq!(
            changes_from_received(&[
                ("_meta", "{}"),
                ("content", "[1]"),
                ("structuredContent", "null")
            ]),
            r#"{"same_as":"received","but":{"_meta":{},"content":[1],"structuredContent":null}}"#
        );
    }
}
