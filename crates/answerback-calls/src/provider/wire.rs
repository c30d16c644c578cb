use answerback_json::Pointer;
use answerback_redaction::is_blank;
use serde_json::{Map, Value};

use super::{ToolCall, ToolResult, ToolStatus};

/// Describes the places of values in a provider's messages, and writes results in its format.
pub(super) trait ProviderFormat {
    /// The places of the tools in a list, or nothing when it is no list of tools.
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>>;

    /// Returns true if a list certainly belongs to this provider.
    fn is_list(&self, list: &Value) -> bool;

    /// Returns true if a tool without arguments may omit its schema.
    fn schemas_are_optional(&self) -> bool {
        false
    }

    /// The JSON Schema that a declared schema means.
    fn schema(&self, declared: &Value) -> Value {
        declared.clone()
    }

    /// The places of the calls in a message, or nothing when it is no message.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>>;

    /// Returns true if arguments are sent as JSON text.
    fn sends_text(&self) -> bool {
        false
    }

    /// Returns true if a call may have no id.
    fn ids_are_optional(&self) -> bool {
        false
    }

    /// A name that the provider takes back, as near to this one as can be.
    fn legal_name(&self, name: &str) -> String {
        plain_name(name, 64, &['_', '-'])
    }

    /// One result.
    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value;

    /// All results of a turn, as what follows the model's message.
    fn turn(&self, results: Vec<Value>) -> Value {
        results.into()
    }
}

/// The places of a declared tool's parts in the list.
pub(super) struct ToolPlace {
    pub(super) name: Pointer,
    pub(super) description: Pointer,
    pub(super) schema: Pointer,
}

impl ToolPlace {
    /// A tool whose parts stand side by side, its schema under this name.
    pub(super) fn at(place: &Pointer, schema: &str) -> Self {
        let (name, description) = (place.join("name"), place.join("description"));
        Self { name, description, schema: place.join(schema) }
    }
}

/// The places of a call's parts in the message.
pub(super) struct CallPlace {
    pub(super) id: Pointer,
    pub(super) name: Pointer,
    pub(super) arguments: Pointer,
}

impl CallPlace {
    /// A call whose parts stand side by side, its id and arguments under these names.
    pub(super) fn at(place: &Pointer, id: &str, arguments: &str) -> Self {
        Self { id: place.join(id), name: place.join("name"), arguments: place.join(arguments) }
    }
}

/// The elements of the first array that stands at one of these places, with their own places.
pub(super) fn elements<'v>(value: &'v Value, places: &[&str]) -> Option<Vec<(Pointer, &'v Value)>> {
    places.iter().find_map(|place| {
        let place = Pointer::try_from(*place).ok()?;
        let elements = place.find(value)?.as_array()?.iter().enumerate();
        Some(elements.map(|(index, element)| (place.join(&index.to_string()), element)).collect())
    })
}

/// Arguments that a provider takes back: the object that was sent, also where it was written as a
/// text inside, or an empty one.
pub(super) fn legal_arguments(sent: Option<&Value>, as_text: bool) -> Value {
    let inner = sent.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let object = match (sent, inner) {
        // The very text that was sent is kept.
        (Some(text), Some(Value::Object(_))) if as_text => return text.clone(),
        (Some(Value::Object(members)), _) => members.clone(),
        (_, Some(Value::Object(members))) => members,
        _ => Map::new(),
    };
    if as_text { Value::Object(object).to_string().into() } else { Value::Object(object) }
}

/// A name of ASCII letters, digits and these marks, of at most so many characters.
pub(super) fn plain_name(name: &str, longest: usize, marks: &[char]) -> String {
    let is_legal =
        |character: char| character.is_ascii_alphanumeric() || marks.contains(&character);
    let plain = name.chars().take(longest);
    let plain: String =
        plain.map(|character| if is_legal(character) { character } else { '_' }).collect();
    if plain.is_empty() { "unknown_tool".to_owned() } else { plain }
}

/// The text of a result for providers that have no mark for errors: the text itself has to say so.
pub(super) fn telling_text(result: &ToolResult) -> String {
    const TELLING: [&str; 5] = ["failed", "error", "not executed", "stopped", "invalid"];
    if !result.is_error {
        return result.content.clone();
    }
    let first = result.content.lines().next().unwrap_or_default().to_lowercase();
    let spoken = spoken_text(result);
    let is_telling = result.status.is_some() || TELLING.iter().any(|word| first.contains(word));
    if is_telling { spoken } else { format!("Error: {spoken}") }
}

/// The text of a result for providers that refuse an empty one and have no place for a status.
pub(super) fn spoken_text(result: &ToolResult) -> String {
    const BLOCKED: &str = "Blocked: ";
    if result.status == Some(ToolStatus::Blocked) && !result.content.starts_with(BLOCKED) {
        return format!("{BLOCKED}{}", result.content);
    }
    match (is_blank(&result.content), result.is_error) {
        (false, _) => result.content.clone(),
        (true, true) => "The tool failed and gave no reason.".to_owned(),
        (true, false) => "(no output)".to_owned(),
    }
}

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_become_legal() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), r#"{"a":1}"#),
            (json!("{\"a\": 1}"), json!({"a": 1}), "{\"a\": 1}"),
            (json!("{'a': 1}"), json!({}), "{}"),
            (json!("[1]"), json!({}), "{}"),
            (json!([1]), json!({}), "{}"),
            (Value::Null, json!({}), "{}"),
        ];
        for (sent, object, text) in table {
            assert_eq!(legal_arguments(Some(&sent), false), object, "{sent}");
            assert_eq!(legal_arguments(Some(&sent), true), json!(text), "{sent}");
        }
        assert_eq!(legal_arguments(None, false), json!({}));
    }

    #[test]
    fn names_become_legal() {
        let table = [
            ("read_file", "read_file"),
            ("multi_tool_use.parallel", "multi_tool_use_parallel"),
            ("", "unknown_tool"),
            ("é b", "__b"),
        ];
        for (name, legal) in table {
            assert_eq!(plain_name(name, 64, &['_', '-']), legal);
        }
        assert_eq!(plain_name(&"x".repeat(100), 64, &[]).len(), 64);
    }

    #[test]
    fn a_text_says_that_it_failed() {
        let text = |content: &str| telling_text(&ToolResult::error("1", content));
        assert_eq!(text("Validation failed for tool 'x'"), "Validation failed for tool 'x'");
        assert_eq!(text("no such file"), "Error: no such file");
        assert_eq!(text(""), "Error: The tool failed and gave no reason.");
        assert_eq!(telling_text(&ToolResult::success("1", "fine")), "fine");
        let blocked = |content: &str| telling_text(&ToolResult::blocked("1", content));
        assert_eq!(blocked("A person stopped the calls"), "Blocked: A person stopped the calls");
        assert_eq!(blocked("Blocked: Tool 'x' failed"), "Blocked: Tool 'x' failed");
    }
}
