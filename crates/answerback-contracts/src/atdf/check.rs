use answerback_findings::{Profile, Rule, ValidationError};
use answerback_json::ValuePath;
use answerback_redaction::is_blank;
use serde_json::{Map, Value};

use crate::ContractFindings;
use crate::form::{is_code, is_rfc3339};

/// Defines the rules of the ATDF enriched response, each with its code.
pub mod rule {
    answerback_findings::rules! {
        NOT_AN_OBJECT = "ATDF-001", Error,
            "The response is a JSON object",
            "All information for a caller is a member of it.",
            "Write {\"status\": ..., \"data\": ..., \"meta\": ...}.";
        MEMBER_MISSING = "ATDF-002", Error,
            "status, data and meta.timestamp are present, and data has the members for the status",
            "A success has data.message; an error has data.code, data.message and data.details with field, received, expected and solution.",
            "Add the member. The builder writes all of them.";
        STATUS_WRONG = "ATDF-003", Error,
            "status is success or error",
            "Callers branch on it.",
            "Write success, or error if the tool failed.";
        DATA_WRONG = "ATDF-004", Error,
            "data is an object",
            "It holds the result by name, or the error with its details.",
            "Give the result a name: {\"message\": ..., \"items\": [...]}.";
        META_WRONG = "ATDF-005", Error,
            "meta is an object",
            "It holds the timestamp.",
            "Write {\"timestamp\": ...}.";
        TIMESTAMP_WRONG = "ATDF-006", Error,
            "meta.timestamp is an RFC 3339 date and time",
            "Responses are sorted by it. A time without an offset is ambiguous.",
            "Write it with Z or an offset, such as 2023-10-27T10:35:00Z.";
        MESSAGE_WRONG = "ATDF-007", Error,
            "data.message is a string",
            "People read it first.",
            "Say in a sentence what happened.";
        TEXT_BLANK = "ATDF-008", Warning,
            "message, field and solution are not blank",
            "A blank text helps neither a person nor a model.",
            "Describe the error, the field, and what to do next.";
        CODE_WRONG = "ATDF-009", Error,
            "data.code is written in capitals and underscores",
            "Codes are compared, not read.",
            "Write a code such as INVALID_DATE_RANGE.";
        CODE_HAS_DIGITS = "ATDF-010", Error / Warning,
            "data.code has no digits",
            "The published schema allows capitals and underscores only; readers that enforce it refuse the response.",
            "Spell the digits out, or remove them.";
        DETAILS_WRONG = "ATDF-011", Error,
            "data.details is an object",
            "It holds the received value, the expected value, and the solution.",
            "Write field, received, expected and solution.";
        FIELD_WRONG = "ATDF-012", Error,
            "details.field is a string",
            "It names the value that has to change.",
            "Write the name of the field, or of the whole input.";
        RECEIVED_WRONG = "ATDF-013", Error,
            "details.received is an object",
            "Received values are looked up by name.",
            "Write {\"name\": value}, or {} if no value may be shown.";
        EXPECTED_WRONG = "ATDF-014", Error,
            "details.expected is an object",
            "It holds the conditions, the format, the constraints and the examples.",
            "Write {\"conditions\": [...]}.";
        CONDITIONS_MISSING = "ATDF-015", Error / Warning,
            "expected.conditions is present",
            "It is the one member of expected that every reader can count on.",
            "List every rule the input has to meet, each in words.";
        CONDITIONS_WRONG = "ATDF-016", Error,
            "expected.conditions is an array of strings",
            "Each is shown as one line.",
            "Write each condition as a sentence.";
        CONDITIONS_EMPTY = "ATDF-017", Warning,
            "expected.conditions lists at least one condition",
            "A caller cannot correct an error without conditions.",
            "List the conditions that the input has to meet.";
        FORMAT_WRONG = "ATDF-018", Error,
            "expected.format is a string",
            "It describes the format in words.",
            "Write the format in words, or leave it out.";
        CONSTRAINTS_WRONG = "ATDF-019", Error,
            "expected.constraints is an object",
            "Constraints are looked up by name.",
            "Write {\"max_value\": ...}, or leave it out.";
        EXAMPLES_IS_ARRAY = "ATDF-020", Error / Warning,
            "expected.examples is an object, not an array",
            "A bare list does not distinguish valid from invalid values.",
            "Write {\"valid\": [...]}. The lenient profile reads it so.";
        EXAMPLES_WRONG = "ATDF-021", Error,
            "expected.examples is an object",
            "Valid and invalid examples are distinguished by name.",
            "Write {\"valid\": [...], \"invalid\": [...]}, or leave it out.";
        VALID_EXAMPLES_WRONG = "ATDF-022", Error,
            "examples.valid is an array of strings, or an object",
            "Readers show texts as they are, and other values by the name of their field.",
            "Write texts as a list, and other values as {\"field\": value}.";
        INVALID_EXAMPLES_WRONG = "ATDF-023", Error,
            "examples.invalid is an array",
            "Each entry is one invalid value.",
            "Write a list of {\"value\": ..., \"reason\": ...}.";
        INVALID_EXAMPLE_IS_STRING = "ATDF-024", Error / Warning,
            "An invalid example is an object, not a string",
            "A caller cannot learn from an invalid value without a reason.",
            "Write {\"value\": ..., \"reason\": ...}.";
        INVALID_EXAMPLE_WRONG = "ATDF-025", Error,
            "An invalid example has a value and a reason",
            "A caller cannot learn from an invalid value without a reason.",
            "Write {\"value\": ..., \"reason\": ...}, the reason in words.";
        NO_VALID_EXAMPLE = "ATDF-026", Error / Warning,
            "Where there are examples, one of them is valid",
            "Models imitate examples, so they would imitate the invalid values.",
            "Add a value that would be accepted, or leave the examples out.";
        RESULTS_WRONG = "ATDF-027", Error,
            "details.validation_results is an object",
            "Results are looked up by the name of the check.",
            "Write {\"name_of_check\": true}, or leave it out.";
        RESULT_WRONG = "ATDF-028", Error,
            "A validation result is a boolean or a description",
            "Callers count the checks that hold.",
            "Write true, false, or a sentence.";
        SOLUTION_WRONG = "ATDF-029", Error,
            "details.solution is a string",
            "It is the next step for the caller.",
            "Describe the steps that correct the call.";
        SECRET_ECHOED = "ATDF-030", Warning,
            "details.received shows no password or token",
            "Responses are logged and shown to models.",
            "Show the length or nothing at all.";
        MEMBER_UNKNOWN = "ATDF-031", Warning,
            "The response has no other members",
            "Readers ignore them. Conversions preserve them.",
            "Put the value into data, or into meta if it is not the tool's output.";
        SLOT_WRONG = "ATDF-032", Error,
            "meta.answerback is an object",
            "It is the slot for extensions, which are found by name.",
            "Give the extension a name, or leave meta.answerback out.";
        INVALID_EXAMPLE_VALUE = "ATDF-033", Error / Warning,
            "The value of an invalid example is a string",
            "Readers show it as it is, and the schema of the contract has it so.",
            "Write a text as it is, and any other value as compact JSON in a string.";
    }
}
pub use rule::RULES;

type Members = Map<String, Value>;

/// Checks an ATDF enriched response and returns every finding.
///
/// ```
/// use answerback_findings::Profile;
/// use answerback_contracts::atdf;
///
/// let findings = atdf::check(&serde_json::json!({"status": "success", "data": {}}), Profile::Strict);
/// let places: Vec<&str> = findings.iter().map(|finding| finding.field_path.as_str()).collect();
/// assert_eq!(places, ["/data/message", "/meta"]);
/// ```
pub fn check(document: &Value, profile: Profile) -> Vec<ValidationError> {
    let mut report = ContractFindings::new(profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        check_response(&mut report, members);
    }
    report.into_findings()
}

fn check_response(report: &mut ContractFindings, members: &Members) {
    let root = ValuePath::Root;
    let form = "success or error";
    let status =
        report.required(&rule::MEMBER_MISSING, &root, members, "status", form).and_then(|status| {
            let words = &["success", "error"];
            report.one_of(&rule::STATUS_WRONG, &root.key("status"), status, words)
        });
    let place = root.key("data");
    if let Some(data) = object(report, &rule::DATA_WRONG, &root, members, "data") {
        // Without a status, the members that `data` must have are unknown.
        match status {
            Some("success") => {
                text(report, &rule::MESSAGE_WRONG, &place, data, "message");
            }
            Some("error") => check_error(report, &place, data),
            _ => {}
        }
    }
    if let Some(meta) = object(report, &rule::META_WRONG, &root, members, "meta") {
        check_meta(report, &root.key("meta"), meta);
    }
    report.unknown_members(&rule::MEMBER_UNKNOWN, &root, members, &["status", "data", "meta"]);
}

fn check_meta(report: &mut ContractFindings, place: &ValuePath<'_>, meta: &Members) {
    let form = "an RFC 3339 time such as 2023-10-27T10:35:00Z";
    if let Some(time) = report.required(&rule::MEMBER_MISSING, place, meta, "timestamp", form)
        && !time.as_str().is_some_and(is_rfc3339)
    {
        report.wrong(&rule::TIMESTAMP_WRONG, &place.key("timestamp"), time, form);
    }
    if let Some(slot) = meta.get("answerback") {
        report.object(&rule::SLOT_WRONG, &place.key("answerback"), slot);
    }
}

fn check_error(report: &mut ContractFindings, place: &ValuePath<'_>, data: &Members) {
    let form = "a code such as INVALID_DATE_RANGE";
    if let Some(code) = report.required(&rule::MEMBER_MISSING, place, data, "code", form) {
        let here = place.key("code");
        match code.as_str() {
            Some(text) if is_plain_code(text) => {}
            Some(text) if is_code(text) => {
                report.wrong(&rule::CODE_HAS_DIGITS, &here, code, "a code without digits");
            }
            _ => report.wrong(&rule::CODE_WRONG, &here, code, form),
        }
    }
    text(report, &rule::MESSAGE_WRONG, place, data, "message");
    let Some(details) = object(report, &rule::DETAILS_WRONG, place, data, "details") else {
        return;
    };
    let place = place.key("details");
    text(report, &rule::FIELD_WRONG, &place, details, "field");
    if let Some(received) = object(report, &rule::RECEIVED_WRONG, &place, details, "received") {
        check_received(report, &place.key("received"), received);
    }
    if let Some(expected) = object(report, &rule::EXPECTED_WRONG, &place, details, "expected") {
        check_expected(report, &place.key("expected"), expected);
    }
    if let Some(results) = details.get("validation_results") {
        let here = place.key("validation_results");
        let results = report.object(&rule::RESULTS_WRONG, &here, results);
        for (name, result) in results.into_iter().flatten() {
            if !(result.is_boolean() || result.is_string()) {
                let form = "true, false or a description";
                report.wrong(&rule::RESULT_WRONG, &here.key(name), result, form);
            }
        }
    }
    text(report, &rule::SOLUTION_WRONG, &place, details, "solution");
}

fn check_received(report: &mut ContractFindings, place: &ValuePath<'_>, received: &Members) {
    for (name, value) in received {
        if is_secret_name(name) && value.as_str().is_some_and(|text| !is_mask(text)) {
            // The finding must not repeat the secret.
            report.add(
                &rule::SECRET_ECHOED,
                &place.key(name),
                "a secret is shown in what was received",
            );
        }
    }
}

fn check_expected(report: &mut ContractFindings, place: &ValuePath<'_>, expected: &Members) {
    let form = "an array of strings";
    if let Some(conditions) =
        report.required(&rule::CONDITIONS_MISSING, place, expected, "conditions", form)
    {
        let here = place.key("conditions");
        if let Some(conditions) = strings(report, &rule::CONDITIONS_WRONG, &here, conditions)
            && conditions.is_empty()
        {
            report.add(&rule::CONDITIONS_EMPTY, &here, "no condition is listed");
        }
    }
    if let Some(format) = expected.get("format") {
        report.string(&rule::FORMAT_WRONG, &place.key("format"), format);
    }
    if let Some(constraints) = expected.get("constraints") {
        report.object(&rule::CONSTRAINTS_WRONG, &place.key("constraints"), constraints);
    }
    let here = place.key("examples");
    match expected.get("examples") {
        None => {}
        Some(Value::Object(examples)) => check_examples(report, &here, examples),
        Some(list @ Value::Array(_)) => {
            report.wrong(&rule::EXAMPLES_IS_ARRAY, &here, list, "an object with valid and invalid");
            strings(report, &rule::VALID_EXAMPLES_WRONG, &here, list);
        }
        Some(other) => {
            report.wrong(&rule::EXAMPLES_WRONG, &here, other, "an object with valid and invalid");
        }
    }
}

fn check_examples(report: &mut ContractFindings, place: &ValuePath<'_>, examples: &Members) {
    let here = place.key("valid");
    match examples.get("valid") {
        None | Some(Value::Object(_)) => {}
        Some(list @ Value::Array(_)) => {
            strings(report, &rule::VALID_EXAMPLES_WRONG, &here, list);
        }
        Some(other) => {
            let form = "an array of strings, or an object";
            report.wrong(&rule::VALID_EXAMPLES_WRONG, &here, other, form);
        }
    }
    if !examples.iter().any(|(name, value)| is_valid_example(name, value)) {
        report.add(&rule::NO_VALID_EXAMPLE, &here, "no valid example is given");
    }
    let Some(invalid) = examples.get("invalid") else { return };
    let place = place.key("invalid");
    let entries = report.array(&rule::INVALID_EXAMPLES_WRONG, &place, invalid).unwrap_or_default();
    for (index, entry) in entries.iter().enumerate() {
        let here = place.index(index);
        let form = "an object with value and reason";
        match entry {
            Value::Object(members) => {
                let rule = &rule::INVALID_EXAMPLE_WRONG;
                if let Some(value) =
                    report.required(rule, &here, members, "value", "the value that would not do")
                {
                    report.string(&rule::INVALID_EXAMPLE_VALUE, &here.key("value"), value);
                }
                if let Some(reason) =
                    report.required(rule, &here, members, "reason", "why, in words")
                {
                    report.string(rule, &here.key("reason"), reason);
                }
            }
            Value::String(_) => {
                report.wrong(&rule::INVALID_EXAMPLE_IS_STRING, &here, entry, form);
            }
            _ => report.wrong(&rule::INVALID_EXAMPLE_WRONG, &here, entry, form),
        }
    }
}

/// True if a member of `examples` shows valid values. Documents also use names of their own, such as
/// `valid_range` or `strong`. Names of invalid examples start with `invalid`. An empty list or object does
/// not count.
fn is_valid_example(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    !name.starts_with("invalid") && !is_empty
}

/// Returns a required member as an object. Reports a member that is missing or has another type.
fn object<'d>(
    report: &mut ContractFindings,
    rule: &'static Rule,
    parent: &ValuePath<'_>,
    members: &'d Members,
    name: &str,
) -> Option<&'d Members> {
    let value = report.required(&rule::MEMBER_MISSING, parent, members, name, "an object")?;
    report.object(rule, &parent.key(name), value)
}

/// Checks that a required member is a string. A blank string is reported under a rule of its own.
fn text(
    report: &mut ContractFindings,
    rule: &'static Rule,
    parent: &ValuePath<'_>,
    members: &Members,
    name: &str,
) {
    let Some(value) = report.required(&rule::MEMBER_MISSING, parent, members, name, "a string")
    else {
        return;
    };
    let here = parent.key(name);
    if let Some(text) = report.string(rule, &here, value)
        && is_blank(text)
    {
        report.add(&rule::TEXT_BLANK, &here, format!("{name} is blank"));
    }
}

/// Returns the value as an array and reports every element that is not a string.
fn strings<'d>(
    report: &mut ContractFindings,
    rule: &'static Rule,
    place: &ValuePath<'_>,
    value: &'d Value,
) -> Option<&'d [Value]> {
    let elements = report.array(rule, place, value)?;
    for (index, element) in elements.iter().enumerate() {
        report.string(rule, &place.index(index), element);
    }
    Some(elements)
}

/// True if the text matches `^[A-Z_]+$`.
fn is_plain_code(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'_'))
}

/// True if a member of this name holds a secret that must not be shown, such as a password or a token.
pub fn is_secret_name(name: &str) -> bool {
    let whole = ["token", "auth", "authorization", "pin", "cvv", "otp", "cookie"];
    let ends = ["_token", "-token", "authtoken", "accesstoken", "refreshtoken"];
    let parts = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "api_key",
        "api-key",
        "accesskey",
        "access_key",
        "access-key",
        "privatekey",
        "private_key",
        "private-key",
        "credential",
    ];
    let ends_with = |end: &&str| {
        let start = name.len().checked_sub(end.len());
        start.and_then(|start| name.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    whole.iter().any(|word| name.eq_ignore_ascii_case(word))
        || ends.iter().any(ends_with)
        || parts.iter().any(|part| contains_ignoring_case(name, part))
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    let part = part.as_bytes();
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// True if the text stands for a secret without showing it: empty, only stars or dots, or a note in brackets.
fn is_mask(text: &str) -> bool {
    text.chars().all(|character| matches!(character, '*' | '•' | '…' | '.'))
        || (text.starts_with(['[', '(', '<']) && text.ends_with([']', ')', '>']))
}

/// Adds a rule to the JSON Schema that the Rust type cannot express: `conditions` is required. The type has a
/// default for it, because the lenient profile reads documents without conditions.
#[cfg(feature = "schema")]
pub(super) fn expected_rules(schema: &mut schemars::Schema) {
    schema.insert("required".to_owned(), serde_json::json!(["conditions"]));
}

/// Adds a rule to the JSON Schema that the Rust type cannot express: at least one example is not named
/// `invalid…`.
#[cfg(feature = "schema")]
pub(super) fn examples_rules(schema: &mut schemars::Schema) {
    schema.insert("not".to_owned(), serde_json::json!({"propertyNames": {"pattern": "^invalid"}}));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names() {
        for name in ["password", "userPassword", "API_KEY", "client-secret", "token", "auth_token"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["tokens", "max_tokens", "author", "pinned", "key", "hash"] {
            assert!(!is_secret_name(name), "{name}");
        }
        assert!(is_mask("") && is_mask("***") && is_mask("[redacted]") && is_mask("(not shown)"));
        assert!(!is_mask("hunter2") && !is_mask("a*"));
    }
}
