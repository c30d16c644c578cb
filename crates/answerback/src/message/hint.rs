//! How to mend one finding: "did you mean" for closed sets, the rule for open values. Never a value
//! made up for the model to copy.

use std::fmt::Write;

use serde_json::Value;

use super::Failure;
use super::schema::{Part, keyword, owner};
use super::suggest::nearest;
use crate::finding::neutral::push_name;
use crate::finding::{Preview, ValidationError};

/// The longest name shown, in characters.
pub(super) const NAME: usize = 128;

/// The standard hint for a finding.
pub(super) fn standard(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
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
        "VAL-008" => nearest_option(failure, finding).map(|near| format!("Did you mean {near}?")),
        "VAL-009" if keyword(finding).as_deref() == Some("minLength") => {
            Some("Send the real value only if you have it; otherwise ask.".to_owned())
        }
        "VAL-010" => example(failure, finding).or_else(|| format_example(failure, finding)),
        _ => None,
    }
}

fn type_mismatch(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    let actual = finding.actual_value.as_deref()?;
    let expected = expected_type(failure, finding).unwrap_or_default();
    if actual == "null" {
        let (_, name) = finding.field_path.split_last()?;
        let is_required = owner(finding, failure.schema).is_some_and(|owner| owner.requires(&name));
        return (!is_required && name.parse::<usize>().is_err())
            .then(|| "Omit the field if you have no value for it; do not send null.".to_owned());
    }
    if !actual.trim_start().starts_with('"') {
        return None;
    }
    let inside: Value =
        serde_json::from_str::<String>(actual.strip_suffix(" (truncated)").unwrap_or(actual))
            .map(|text| Value::String(text.trim().to_owned()))
            .ok()?;
    let text = inside.as_str()?;
    let stringified = match expected.as_str() {
        "integer" | "number" => text.parse::<f64>().is_ok(),
        "boolean" => matches!(text.to_ascii_lowercase().as_str(), "true" | "false"),
        "array" => text.starts_with('['),
        "object" => text.starts_with('{'),
        _ => false,
    };
    match expected.as_str() {
        _ if stringified => {
            Some("Send it as JSON, not as a string: without the quotes around it.".to_owned())
        }
        "array" if text.contains(',') => {
            Some("Send a JSON list with one element for each part, not one string.".to_owned())
        }
        _ => None,
    }
}

/// The type that the schema asks for, or the first word of what the finding expects.
pub(super) fn expected_type(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    if let Some(part) = failure.part(finding) {
        match part.holder.get("type") {
            Some(Value::String(name)) => return Some(name.clone()),
            Some(Value::Array(names)) => {
                return names
                    .iter()
                    .filter_map(Value::as_str)
                    .find(|name| *name != "null")
                    .map(str::to_owned);
            }
            _ => {}
        }
    }
    let text = finding.expected_value.as_deref()?;
    let word = text
        .split(|character: char| !character.is_ascii_alphabetic())
        .find(|word| !matches!(*word, "a" | "an" | ""))?;
    ["integer", "number", "string", "boolean", "array", "object", "null"]
        .contains(&word)
        .then(|| word.to_owned())
}

/// The field that was probably meant by an unknown one, if any.
pub(super) fn meant_field(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    let find = || find_meant_field(failure, finding);
    match failure.known(finding) {
        Some(known) => known.meant_field.get_or_init(find).clone(),
        None => find(),
    }
}

fn find_meant_field(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    let (parent, name) = finding.field_path.split_last()?;
    let siblings = |code: &'static str| {
        failure.findings.iter().filter(move |other| other.error_code == code).filter_map(|other| {
            let (other_parent, other_name) = other.field_path.split_last()?;
            (other_parent == parent).then(|| (other, other_name.into_owned()))
        })
    };
    let missing: Vec<_> = siblings("VAL-001").collect();
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

/// Whether the value of an unknown field has the type that a missing one asks for, as far as is known.
fn may_be_same(
    failure: &Failure<'_>,
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

fn missing_type(failure: &Failure<'_>, missing: &ValidationError) -> Option<String> {
    let (_, name) = missing.field_path.split_last()?;
    let declared = object_part(failure, missing)
        .and_then(|part| part.field(&name)?.get("type")?.as_str().map(str::to_owned));
    declared.or_else(|| {
        let text = missing.expected_value.as_deref()?;
        Some(text.split(|character: char| !character.is_ascii_alphabetic()).next()?.to_owned())
    })
}

/// The schema of the object that a missing or unknown field belongs to.
fn object_part<'s>(failure: &Failure<'s>, finding: &ValidationError) -> Option<Part<'s>> {
    failure
        .part(finding)
        .filter(|part| part.fields().is_some())
        .or_else(|| owner(finding, failure.schema))
}

fn unknown_field(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    const SHOWN: usize = 8;
    if let Some(meant) = meant_field(failure, finding) {
        let mut hint = String::from("Did you mean ");
        push_name(&mut hint, &meant, NAME);
        hint.push('?');
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

/// The permitted value nearest to the one that came, quoted.
pub(super) fn nearest_option(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
    let written: Value = serde_json::from_str(finding.actual_value.as_deref()?).ok()?;
    let show = |option: &Value| Preview::new().with_max_characters(60).show(option);
    if let Some(options) = failure.part(finding).and_then(|part| part.options()) {
        // "5" for 5 and the like: the same text in another type.
        let bare = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let retyped =
            || options.iter().find(|option| **option != written && bare(option) == bare(&written));
        let word = written.as_str()?;
        let near = nearest(word, options.iter().filter_map(Value::as_str));
        return near
            .first()
            .map(|near| show(&Value::from(near.candidate)))
            .or_else(|| retyped().map(show));
    }
    let expected = finding.expected_value.as_deref()?;
    let list = expected
        .strip_prefix("one of")
        .map_or(expected, |rest| rest.trim_start_matches([':', ' ']));
    let options: Vec<&str> =
        list.split(", ").map(|option| option.trim_matches(['"', '\''])).collect();
    if options.len() < 2 {
        return None;
    }
    nearest(written.as_str()?, options).first().map(|near| show(&Value::from(near.candidate)))
}

/// An example that the schema itself gives.
fn example(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
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

/// What values of a format look like. These are the rule, not a proposal.
fn format_example(failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
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

const FORMATS: &[(&str, &str)] = &[
    ("date-time", "A date-time is written as 2024-05-31T14:30:00Z, with a time zone."),
    ("date", "A date is written as 2024-05-31."),
    ("time", "A time is written as 14:30:00Z, with a time zone."),
    ("duration", "A duration is written as P3DT12H (3 days, 12 hours) or PT45M."),
    ("email", "An e-mail address is written as name@example.com."),
    ("idn-email", "An e-mail address is written as name@example.com."),
    ("hostname", "A hostname is written as www.example.com, without a scheme or a path."),
    ("idn-hostname", "A hostname is written as www.example.com, without a scheme or a path."),
    ("ipv4", "An IPv4 address is written as 192.0.2.1."),
    ("ipv6", "An IPv6 address is written as 2001:db8::1."),
    ("uri", "A URI is written in full, with its scheme: https://example.com/page."),
    ("iri", "An IRI is written in full, with its scheme: https://example.com/page."),
    ("uri-reference", "A URI reference is written as https://example.com/page or /page."),
    ("iri-reference", "An IRI reference is written as https://example.com/page or /page."),
    ("uri-template", "A URI template is written as https://example.com/{id}."),
    ("uuid", "A UUID is 32 hexadecimal digits in groups of 8-4-4-4-12; use one you were given."),
    ("json-pointer", "A JSON Pointer is written as /items/0/name."),
    ("relative-json-pointer", "A relative JSON Pointer is written as 1/name."),
    ("regex", "It has to be a valid ECMA-262 regular expression."),
];
