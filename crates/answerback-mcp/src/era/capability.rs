//! Checks the capabilities that a client declared.

use serde_json::Value;

use super::terms::method;

/// Returns true if a client with these capabilities accepts this request.
pub(super) fn allows(capabilities: &Value, method: &str, params: &Value) -> bool {
    match method {
        method::ELICIT => {
            let Some(elicitation) = capabilities.get("elicitation").and_then(Value::as_object)
            else {
                return false;
            };
            match params.get("mode").and_then(Value::as_str).unwrap_or("form") {
                // An empty capability predates the modes, when there were only forms.
                "form" => elicitation.is_empty() || elicitation.contains_key("form"),
                mode => elicitation.contains_key(mode),
            }
        }
        method::SAMPLE => capabilities.get("sampling").is_some_and(Value::is_object),
        method::ROOTS => capabilities.get("roots").is_some_and(Value::is_object),
        _ => false,
    }
}

/// Returns true if this is a request that servers send to clients.
pub(super) fn is_question(method: &str) -> bool {
    matches!(method, method::ELICIT | method::SAMPLE | method::ROOTS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_asked_what_it_declared() {
        let url = json!({"mode": "url"});
        for (capabilities, method, params, expected) in [
            (json!({}), method::ELICIT, json!({}), false),
            (json!({"elicitation": {}}), method::ELICIT, json!({}), true),
            (json!({"elicitation": {}}), method::ELICIT, url.clone(), false),
            (json!({"elicitation": {"url": {}}}), method::ELICIT, url.clone(), true),
            (json!({"elicitation": {"url": {}}}), method::ELICIT, json!({}), false),
            (json!({"elicitation": {"form": {}}}), method::ELICIT, json!({"mode": "form"}), true),
            (json!({"sampling": {}}), method::SAMPLE, json!({}), true),
            (json!({"sampling": {}}), method::ROOTS, json!({}), false),
            (json!({"roots": {}}), method::ROOTS, Value::Null, true),
            (json!({"x": {}}), "x", json!({}), false),
        ] {
            let allowed = allows(&capabilities, method, &params);
            assert_eq!(allowed, expected, "{capabilities} {method} {params}");
        }
    }
}
