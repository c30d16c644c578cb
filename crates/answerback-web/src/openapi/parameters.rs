//! The parameters of operations, with the values that each of them accepts.

use serde_json::{Value, json};

/// The values that a parameter accepts.
#[derive(Clone, Copy)]
pub(super) enum ParameterType {
    /// Any text.
    Text,
    /// Any text without the character NUL, which no full-text index can contain.
    TextWithoutNul,
    /// A whole number from 0.
    Number,
    /// A whole number from 1.
    Positive,
    /// A time in ISO 8601. An empty value counts as absent.
    Time,
    /// One of these words. An empty value counts as absent.
    Words(&'static [&'static str]),
    /// The name of a stream.
    StreamName,
}

/// A parameter in the query string.
pub(super) struct QueryParameter {
    pub(super) name: &'static str,
    pub(super) values: ParameterType,
    pub(super) about: &'static str,
    pub(super) is_required: bool,
}

/// Creates an optional parameter.
pub(super) const fn query(
    name: &'static str,
    values: ParameterType,
    about: &'static str,
) -> QueryParameter {
    QueryParameter { name, values, about, is_required: false }
}

impl QueryParameter {
    /// Makes the parameter required.
    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let mut parameter = json!({
            "name": self.name, "in": "query", "description": self.about, "schema": self.values.schema(),
        });
        if self.is_required {
            parameter["required"] = true.into();
        }
        parameter
    }
}

impl ParameterType {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::TextWithoutNul => json!({"type": "string", "pattern": "^[^\\u0000]*$"}),
            Self::Number => json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            Self::Positive => json!({"type": "integer", "minimum": 1, "maximum": u64::MAX}),
            Self::Time => {
                json!({"type": "string", "anyOf": [{"format": "date-time"}, {"maxLength": 0}]})
            }
            Self::Words(words) => {
                let words: Vec<&str> = words.iter().copied().chain([""]).collect();
                json!({"type": "string", "enum": words})
            }
            // The limit is 200 bytes. A character has up to four of them, and the schema counts characters.
            Self::StreamName => json!({
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "pattern": "^(?!answerback/)[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$",
            }),
        }
    }
}

/// Returns the type of a parameter in the path.
pub(super) fn path_parameter(method: &str, path: &str, name: &str) -> ParameterType {
    match name {
        "index" | "position" => ParameterType::Number,
        // The first event creates a stream, so only publishing requires a valid name. For other operations an invalid
        // name is just not found.
        "id" if method == "post" && path.starts_with("/api/streams/") => ParameterType::StreamName,
        _ => ParameterType::Text,
    }
}
