//! Writes the hint for one finding: "did you mean" for closed sets, the rule for open values. A hint never
//! invents a value, because the model would copy it.

use std::fmt::Write;

use answerback_findings::neutral::push_name;
use answerback_findings::{Preview, TRUNCATED, ValidationError};
use serde_json::Value;

use super::CallFailure;
use super::entry::permitted_values;
use super::repair::nearest_value;
use super::schema::{SchemaPart, keyword, owner};
use super::suggest::nearest;

/// The longest name shown, in characters.
pub(super) const NAME: usize = 128;

/// The standard hint for a finding.
pub(super) fn standard(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    if finding.facts.is_omittable {
        let is_null = finding.actual_value.as_deref() == Some("null");
        let and_no_null = if is_null { "; do not send null" } else { "" };
        return Some(format!("Omit the field if you have no value for it{and_no_null}."));
    }
    if finding.facts.is_contradiction {
        return None;
    }
    match finding.error_code.as_ref() {
        "VAL-002" => type_mismatch(failure, finding),
        "VAL-005" => unknown_field(failure, finding),
        "VAL-006" => match keyword(finding).as_deref() {
            Some("minItems" | "contains" | "minContains") => {
                Some("Add items only if you have the data; otherwise ask.".to_owned())
            }
            Some("uniqueItems") => Some("Send each item once.".to_owned()),
            _ => None,
        },
        "VAL-007" => example(failure, finding),
        "VAL-008" => {
            let near = nearest_options(failure, finding);
            (!near.is_empty()).then(|| format!("Did you mean {}?", alternatives(&near)))
        }
        "VAL-009" if keyword(finding).as_deref() == Some("minLength") => {
            Some("Send the real value only if you have it; otherwise ask.".to_owned())
        }
        "VAL-010" => example(failure, finding).or_else(|| format_example(failure, finding)),
        _ => None,
    }
}

fn type_mismatch(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    let actual = finding.actual_value.as_deref()?;
    let expected = expected_types(failure, finding);
    let wants = |name: &str| expected.iter().any(|expected| expected == name);
    if actual == "null" {
        return None;
    }
    let text =
        read_preview(actual).and_then(|value| value.as_str().map(|text| text.trim().to_owned()));
    let text = text.unwrap_or_default();
    let stringified = (wants("integer") || wants("number")) && text.parse::<f64>().is_ok()
        || wants("boolean") && matches!(text.to_ascii_lowercase().as_str(), "true" | "false")
        || wants("array") && text.starts_with('[')
        || wants("object") && text.starts_with('{');
    if stringified {
        return Some("Send it as JSON, not as a string: without the quotes around it.".to_owned());
    }
    if expected != ["array"] {
        return None;
    }
    let hint = if text.contains(',') {
        "Send a JSON list with one element for each part, not one string."
    } else {
        "Send a JSON list, even for a single value."
    };
    Some(hint.to_owned())
}

/// A previewed value, as far as it is there.
fn read_preview(actual: &str) -> Option<Value> {
    serde_json::from_str(actual.strip_suffix(TRUNCATED).unwrap_or(actual)).ok()
}

/// The types that the schema asks for, or the first word of what the finding expects. Null is among them
/// only where nothing else is.
pub(super) fn expected_types(failure: &CallFailure<'_>, finding: &ValidationError) -> Vec<String> {
    let all = all_expected_types(failure, finding);
    let others: Vec<String> = all.iter().filter(|name| *name != "null").cloned().collect();
    if others.is_empty() { all } else { others }
}

fn all_expected_types(failure: &CallFailure<'_>, finding: &ValidationError) -> Vec<String> {
    if !finding.facts.types.is_empty() {
        return finding.facts.types.iter().map(|name| (*name).to_owned()).collect();
    }
    if let Some(part) = failure.part(finding) {
        match part.holder.get("type") {
            Some(Value::String(name)) => return vec![name.clone()],
            Some(Value::Array(names)) => {
                return names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            _ => {}
        }
    }
    let text = finding.expected_value.as_deref().unwrap_or_default();
    let word = text
        .split(|character: char| !character.is_ascii_alphabetic())
        .find(|word| !matches!(*word, "a" | "an" | ""));
    let is_type = |word: &&str| {
        ["integer", "number", "string", "boolean", "array", "object", "null"].contains(word)
    };
    word.filter(is_type).map(str::to_owned).into_iter().collect()
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn alternatives(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The field that was probably meant by an unknown one, if any.
pub(super) fn intended_field(
    failure: &CallFailure<'_>,
    finding: &ValidationError,
) -> Option<String> {
    let find = || find_intended_field(failure, finding);
    match failure.cached(finding) {
        Some(known) => known.intended_field.get_or_init(find).clone(),
        None => find(),
    }
}

fn find_intended_field(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    let (parent, name) = finding.field_path.split_last()?;
    let siblings = |code: &'static str| {
        let parent = &parent;
        failure.findings.iter().filter(move |other| other.error_code == code).filter_map(
            move |other| {
                let (other_parent, other_name) = other.field_path.split_last()?;
                (other_parent == *parent).then(|| (other, other_name.into_owned()))
            },
        )
    };
    let missing: Vec<_> = siblings("VAL-001").filter(|(_, missing)| *missing != name).collect();
    // A field that is missing is a likelier meaning than one that may well be there.
    if let Some(near) = nearest(&name, missing.iter().map(|(_, name)| name.as_str())).first() {
        return Some(near.candidate.to_owned());
    }
    if let Some(fields) = object_part(failure, finding).and_then(|part| part.fields())
        && let Some(near) = nearest(&name, fields.keys().map(String::as_str)).first()
    {
        return Some(near.candidate.to_owned());
    }
    let [(only, only_name)] = missing.as_slice() else { return None };
    let unknown = siblings("VAL-005").count();
    (unknown == 1 && may_be_same(failure, finding, only)).then(|| only_name.clone())
}

/// Returns the type that a field asks for, if the unknown field that was meant to be it has another type.
pub(super) fn other_type(
    failure: &CallFailure<'_>,
    unknown: &ValidationError,
    meant: &str,
) -> Option<String> {
    let part = object_part(failure, unknown)?;
    let wanted = part.field(meant)?.get("type")?.as_str()?;
    let actual = type_of_preview(unknown.actual_value.as_deref()?)?;
    let is_same = actual == wanted || (actual, wanted) == ("integer", "number");
    (!is_same).then(|| wanted.to_owned())
}

/// Returns the name of a JSON type with its indefinite article.
pub(super) fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        _ if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// Returns the JSON type of a value by its preview, or `None` if the preview does not show it.
fn type_of_preview(preview: &str) -> Option<&'static str> {
    const REDACTED: &str = "[redacted";
    match preview.as_bytes().first()? {
        _ if preview.trim_start_matches('"').starts_with(REDACTED) => None,
        b'"' => Some("string"),
        b'[' => Some("array"),
        b'{' => Some("object"),
        b't' | b'f' => Some("boolean"),
        b'n' => Some("null"),
        b'-' | b'0'..=b'9' if preview.parse::<i64>().is_ok() => Some("integer"),
        // 1.0 is an integer to JSON Schema, so the type of a fraction is left open.
        _ => None,
    }
}

/// Returns true if the value of an unknown field may have the type that a missing field requires.
fn may_be_same(
    failure: &CallFailure<'_>,
    unknown: &ValidationError,
    missing: &ValidationError,
) -> bool {
    let Some(actual) = unknown.actual_value.as_deref() else { return true };
    let wanted = missing_type(failure, missing).unwrap_or_default();
    match wanted.as_str() {
        "string" => actual.starts_with('"'),
        "array" => actual.starts_with('['),
        "object" => actual.starts_with('{'),
        "boolean" => matches!(actual, "true" | "false"),
        "integer" | "number" => actual.parse::<f64>().is_ok(),
        _ => true,
    }
}

fn missing_type(failure: &CallFailure<'_>, missing: &ValidationError) -> Option<String> {
    let (_, name) = missing.field_path.split_last()?;
    let declared = object_part(failure, missing)
        .and_then(|part| part.field(&name)?.get("type")?.as_str().map(str::to_owned));
    declared.or_else(|| {
        let text = missing.expected_value.as_deref()?;
        Some(text.split(|character: char| !character.is_ascii_alphabetic()).next()?.to_owned())
    })
}

/// The schema of the object that a missing or unknown field belongs to.
fn object_part<'s>(failure: &CallFailure<'s>, finding: &ValidationError) -> Option<SchemaPart<'s>> {
    failure
        .part(finding)
        .filter(|part| part.fields().is_some())
        .or_else(|| owner(finding, failure.schema))
}

fn unknown_field(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    const SHOWN: usize = 8;
    if let Some(meant) = intended_field(failure, finding) {
        let mut hint = String::from("Did you mean ");
        push_name(&mut hint, &meant, NAME);
        hint.push('?');
        if let Some(wanted) = other_type(failure, finding, &meant) {
            let _ = write!(hint, " It takes {}.", with_article(&wanted));
        }
        return Some(hint);
    }
    let fields = object_part(failure, finding)?.fields()?;
    if fields.is_empty() {
        return Some("This object takes no fields.".to_owned());
    }
    let mut hint = String::from("Its fields are ");
    for (index, name) in fields.keys().take(SHOWN).enumerate() {
        hint.push_str(if index > 0 { ", " } else { "" });
        push_name(&mut hint, name, 32);
    }
    if fields.len() > SHOWN {
        let _ = write!(hint, " ({} more)", fields.len() - SHOWN);
    }
    hint.push('.');
    Some(hint)
}

/// The permitted values nearest to the one that was sent, quoted: one that a repair would take, else those
/// that look like it.
pub(super) fn nearest_options(failure: &CallFailure<'_>, finding: &ValidationError) -> Vec<String> {
    let Some(written) = finding.actual_value.as_deref().and_then(read_preview) else {
        return Vec::new();
    };
    let show = |option: &Value| Preview::new().with_max_characters(60).show(option);
    if let Some(options) = permitted_values(finding, failure.part(finding).as_ref()) {
        if let Some((meant, _)) = nearest_value(&written, &options.iter().collect::<Vec<_>>()) {
            return vec![show(&meant)];
        }
        let Some(word) = written.as_str() else { return Vec::new() };
        let near = nearest(word, options.iter().filter_map(Value::as_str));
        // One that is near by its letters is likelier than those that only share a word.
        let best = near.first().map(|near| near.likeness);
        let alike = near.iter().take_while(|near| Some(near.likeness) == best);
        return alike.map(|near| show(&Value::from(near.candidate))).collect();
    }
    let expected = finding.expected_value.as_deref().unwrap_or_default();
    let list = expected
        .strip_prefix("one of")
        .map_or(expected, |rest| rest.trim_start_matches([':', ' ']));
    let options: Vec<&str> =
        list.split(", ").map(|option| option.trim_matches(['"', '\''])).collect();
    let Some(word) = written.as_str().filter(|_| options.len() >= 2) else { return Vec::new() };
    let near = nearest(word, options);
    near.first().map(|near| show(&Value::from(near.candidate))).into_iter().collect()
}

/// An example that the schema itself gives.
fn example(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    let part = failure.part(finding)?;
    let first =
        part.holder.get("examples").and_then(Value::as_array).and_then(|examples| examples.first());
    let example =
        first.or_else(|| part.holder.get("example")).filter(|example| example.is_string())?;
    Some(format!(
        "The schema's own example is {}.",
        Preview::new().with_max_characters(60).show(example)
    ))
}

/// Returns an example that shows the form of a format's values. It is the rule, not a proposal.
fn format_example(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    let declared = failure
        .part(finding)
        .and_then(|part| part.holder.get("format")?.as_str().map(str::to_owned));
    let expected = finding.expected_value.as_deref().unwrap_or_default();
    let formats = FORMATS.iter().filter(|(name, _)| match &declared {
        Some(declared) => declared == name,
        None => expected
            .split(|character: char| !character.is_ascii_alphanumeric() && character != '-')
            .any(|word| word == *name),
    });
    formats.max_by_key(|(name, _)| name.len()).map(|(_, look)| (*look).to_owned())
}

/// Only the model can know the time zone or a missing value, so no sentence suggests one.
const FORMATS: &[(&str, &str)] = &[
    (
        "date-time",
        "RFC 3339 writes a date-time with a date, a time and the offset of its time zone: 2024-05-31T14:30:00+02:00. Add an offset only if you know which one is meant.",
    ),
    ("date", "A date is written as 2024-05-31."),
    (
        "time",
        "RFC 3339 writes a time with seconds and the offset of its time zone: 14:30:00+02:00. Add an offset only if you know which one is meant.",
    ),
    ("duration", "A duration is written as P3DT12H (3 days, 12 hours) or PT45M."),
    ("email", "An e-mail address is written as name@example.com."),
    ("idn-email", "An e-mail address is written as name@example.com."),
    ("hostname", "A hostname is written as www.example.com, without a scheme or a path."),
    ("idn-hostname", "A hostname is written as www.example.com, without a scheme or a path."),
    ("ipv4", "An IPv4 address is written as 192.0.2.1."),
    ("ipv6", "An IPv6 address is written as 2001:db8::1."),
    (
        "uri",
        "A URI is written in full, with its scheme, and other characters percent-encoded: https://example.com/caf%C3%A9.",
    ),
    ("iri", "An IRI is written in full, with its scheme: https://example.com/page."),
    (
        "uri-reference",
        "A URI reference is written as https://example.com/page or /page, with other characters percent-encoded: /caf%C3%A9.",
    ),
    ("iri-reference", "An IRI reference is written as https://example.com/page or /page."),
    ("uri-template", "A URI template is written as https://example.com/{id}."),
    ("uuid", "A UUID is 32 hexadecimal digits in groups of 8-4-4-4-12; use one you were given."),
    ("json-pointer", "A JSON Pointer is written as /items/0/name."),
    ("relative-json-pointer", "A relative JSON Pointer is written as 1/name."),
    ("regex", "It has to be a valid ECMA-262 regular expression."),
];
