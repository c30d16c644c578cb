use serde_json::Value;

use super::{ConfigError, written};

/// Parses the text of a YAML file. An empty file configures nothing.
pub(super) fn parse(file: &str, text: &str) -> Result<Value, ConfigError> {
    let parsed = serde_saphyr::from_str::<Option<Value>>(text).map_err(|error| ConfigError {
        file: file.to_owned(),
        // The rest of the parser's message quotes the file, which may hold secrets.
        problems: vec![format!("not YAML that we read: {}", first_line(&error.to_string()))],
    })?;
    let mut parsed = parsed.unwrap_or_default();
    written::keep_texts(&mut parsed, text);
    Ok(parsed)
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    // The parser's advice is for programmers.
    let line = line.split_once(", set DuplicateKeyPolicy").map_or(line, |(said, _)| said);
    let nameless = line.split_once("cannot deserialize null into string");
    let line = &nameless
        .map_or(line.to_owned(), |(place, _)| format!("{place}a name is missing before the colon"));
    answerback_redaction::redact(line.trim_start_matches("error: ")).into_owned()
}
