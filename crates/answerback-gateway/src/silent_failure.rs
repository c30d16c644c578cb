//! Finds failures in results that are not marked as errors.

use serde_json::Value;

/// Classifies results that are marked as a success and look like a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SilentFailure {
    /// The result has no content.
    Empty,
    /// The text of the result is an error.
    Error,
}

/// The beginnings of error messages that programs print.
const BEGINNINGS: [&str; 7] = [
    "error:",
    "error calling",
    "error executing",
    "exception:",
    "fatal:",
    "failed to ",
    "traceback (most recent call last)",
];

/// Checks a result that is not marked as an error. A text counts as an error only if it begins like one, because
/// a document may mention errors.
pub(crate) fn detect(result: &Value) -> Option<SilentFailure> {
    if result["isError"] == true || result.get("structuredContent").is_some_and(|it| !it.is_null())
    {
        return None;
    }
    let content = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let is_blank = |block: &Value| {
        block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
    };
    if content.iter().all(is_blank) {
        return Some(SilentFailure::Empty);
    }
    match content {
        [block] => {
            block["text"].as_str().filter(|text| is_error(text)).map(|_| SilentFailure::Error)
        }
        _ => None,
    }
}

fn is_error(text: &str) -> bool {
    let text = text.trim_start();
    let begins = |beginning: &str| {
        text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    };
    if BEGINNINGS.into_iter().any(begins) {
        return true;
    }
    // `{"error": …}` counts alone or with the usual members of an error.
    let Ok(Value::Object(members)) = serde_json::from_str(text) else { return false };
    let is_told = members.get("error").is_some_and(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
    let company = ["error", "message", "code", "status", "details", "success", "ok", "type"];
    is_told && members.keys().all(|name| company.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_results_that_look_like_failures_are_detected() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        for (result, expected) in [
            (json!({"content": []}), Some(SilentFailure::Empty)),
            (json!({}), Some(SilentFailure::Empty)),
            (text(" \n"), Some(SilentFailure::Empty)),
            (text("Error: no such file"), Some(SilentFailure::Error)),
            (text("Traceback (most recent call last):\n…"), Some(SilentFailure::Error)),
            (text(r#"{"error": "not found", "code": 404}"#), Some(SilentFailure::Error)),
            (text(r#"{"error": null, "code": 0}"#), None),
            (text(r#"{"error": "x", "rows": []}"#), None),
            (text("The log has 3 errors."), None),
            (text("errors"), None),
            (json!({"content": [], "isError": true}), None),
            (json!({"content": [], "structuredContent": {"n": 0}}), None),
            (json!({"content": [{"type": "image", "data": ""}]}), None),
        ] {
            assert_eq!(detect(&result), expected, "{result}");
        }
    }
}
