//! Truncates results that are too long for a model, and names the place of the rest.

use answerback_mcp::wire::Object;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::RecordCommands;
use crate::marker::Marker;

/// Holds a truncated result.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TruncatedResult {
    /// The result for the model.
    pub(crate) result: String,
    /// The full and the shown size, for programs.
    pub(crate) facts: Value,
}

/// Truncates the text of a result to `limit` bytes. Structured content is removed, because clients show it instead
/// of the text, and half of it is not valid. Other content stays. Returns `None` if the result is short enough.
pub(crate) fn truncate(
    result: &str,
    limit: usize,
    request_id: &str,
    (marker, commands): (&Marker, &RecordCommands),
    console: Option<&str>,
) -> Option<TruncatedResult> {
    let object = Object::read(result).ok()?;
    let blocks: Vec<&RawValue> = serde_json::from_str(object.get("content")?).ok()?;
    let texts: Vec<Option<String>> = blocks.iter().map(|block| text_of(block.get())).collect();
    let structured = object.get("structuredContent").map_or(0, str::len);
    let bytes = texts.iter().flatten().map(String::len).sum::<usize>().max(structured);
    if bytes <= limit {
        return None;
    }
    let mut remaining = limit;
    let mut blocks_for_model = Vec::new();
    for (block, text) in blocks.iter().zip(&texts) {
        let Some(text) = text else {
            blocks_for_model.push(block.get().to_owned());
            continue;
        };
        let shown = &text[..text.floor_char_boundary(remaining)];
        remaining -= shown.len();
        if shown.len() == text.len() {
            blocks_for_model.push(block.get().to_owned());
        } else if !shown.is_empty() {
            blocks_for_model.push(
                Object::read(block.get()).ok()?.with("text", &Value::from(shown).to_string()),
            );
        }
    }
    let shown = limit - remaining;
    let mut place = commands.command(&format!("ledger search --request {request_id}"));
    if let Some(console) = console {
        place = format!("{console}/r/{request_id}, or {place}");
    }
    let words = format!(
        "The result has {bytes} bytes of text, of which the first {shown} are shown. All of it is in the \
         record: {place}. Ask for less, or for the next part, if you need it."
    );
    blocks_for_model.push(marker.block(&words));
    let result = object.with("content", &format!("[{}]", blocks_for_model.join(",")));
    let result = Object::read(&result).ok()?.without("structuredContent");
    let facts = json!({"bytes": bytes, "shown": shown, "requestId": request_id});
    Some(TruncatedResult { result, facts })
}

fn text_of(block: &str) -> Option<String> {
    let block = Object::read(block).ok()?;
    (block.get("type")? == "\"text\"").then(|| serde_json::from_str(block.get("text")?).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truncate(result: &str, limit: usize) -> Option<TruncatedResult> {
        let (marker, commands) = (Marker::of_text("m"), RecordCommands::default());
        super::truncate(result, limit, "r", (&marker, &commands), None)
    }

    #[test]
    fn the_beginning_and_other_content_stay() {
        let result = r#"{"content":[{"type":"text","text":"éab","x":1.0},{"type":"image","data":"aaaa"},{"type":"text","text":"cdef"}],"structuredContent":{"a":1},"z":2}"#;
        assert_eq!(truncate(result, 8), None);
        let TruncatedResult { result, facts } = truncate(result, 5).unwrap();
        assert!(
            result.starts_with(r#"{"content":[{"type":"text","text":"éab","x":1.0},{"type":"image","data":"aaaa"},{"type":"text","text":"c"},{"type":"text","text":"[answerback m] The result"#),
            "{result}"
        );
        assert!(result.ends_with(r#"}],"z":2}"#), "{result}");
        assert_eq!(facts, json!({"bytes": 8, "shown": 5, "requestId": "r"}));
        // A character is never split.
        let short = truncate(r#"{"content":[{"type":"text","text":"éé"}]}"#, 3).unwrap();
        assert!(short.result.contains(r#""text":"é"}"#), "{}", short.result);
    }

    #[test]
    fn structured_content_counts_alone() {
        let result = r#"{"content":[],"structuredContent":{"a":"bbbbbbbb"}}"#;
        let short = truncate(result, 5).unwrap();
        assert!(!short.result.contains("bbb"), "{}", short.result);
    }
}
