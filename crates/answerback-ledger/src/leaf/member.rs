//! Defines which members a leaf may contain, in one table for writing and for reading.

use answerback::time::{Timestamp, Zone};
use serde_json::{Map, Value};

use super::{LeafId, LeafKind};
use crate::{LeafToken, VerifierKey};

/// The exclusive upper limit for numbers in a leaf: 2^53. Larger values are written as text.
pub const LARGEST_NUMBER: u64 = 1 << 53;

/// The form of a member's value.
#[derive(Clone, Copy)]
enum Form {
    Version,
    Kind,
    Time,
    Parts,
    Id,
    /// A whole number as text, since it may exceed 2^53.
    Decimal,
    Token,
    Hex,
    Claimed,
    Verdict,
    Number,
    Codes,
    OneOf(&'static [&'static str]),
    VerifierKey,
}

const ANY: &[LeafKind] = LeafKind::ALL;
const ANSWERS: &[LeafKind] = &[LeafKind::Response, LeafKind::Rejected];
const CALLS: &[LeafKind] = &[LeafKind::Request, LeafKind::Response, LeafKind::Rejected];
const ATTEMPTS: &[LeafKind] = &[LeafKind::Validation, LeafKind::Escalation];
const CASES: &[LeafKind] = &[LeafKind::Decision, LeafKind::Escalation];

const SUBJECTS: &[&str] =
    &["start", "stop", "catalogue", "policy", "manifest", "lock", "key", "clock", "migrate"];
const BASES: &[&str] = &["request", "retention", "legal", "secret"];
const RESULTS: &[&str] = &["accepted", "refused", "unverified"];
const FLAGS: [&str; 4] =
    ["boundaries_respected", "constraints_followed", "quality_standards_met", "within_scope"];

/// Lists every member: its name, its form, the kinds that allow it and the kinds that require it.
const MEMBERS: &[(&str, Form, &[LeafKind], &[LeafKind])] = &[
    ("v", Form::Version, ANY, ANY),
    ("kind", Form::Kind, ANY, ANY),
    ("ts", Form::Time, ANY, ANY),
    ("claimed_ts", Form::Time, ANY, &[]),
    ("parts", Form::Parts, ANY, &[]),
    ("reply_id", Form::Id, ANY, &[]),
    ("correlation_id", Form::Id, ANY, &[]),
    ("request_id", Form::Id, ANY, &[]),
    ("response_id", Form::Id, ANY, &[]),
    ("case_id", Form::Id, ANY, &[]),
    ("request_index", Form::Decimal, ANSWERS, &[]),
    ("agent_id", Form::Token, CALLS, &[]),
    ("agent_type", Form::Token, CALLS, &[]),
    ("agent_version", Form::Token, CALLS, &[]),
    ("prompt_sha256", Form::Hex, ANSWERS, &[]),
    ("manifest_sha256", Form::Hex, ANSWERS, &[]),
    ("lock_sha256", Form::Hex, ANSWERS, &[]),
    ("claimed", Form::Claimed, ANSWERS, &[]),
    ("verdict", Form::Verdict, ANSWERS, &[]),
    ("status", Form::Token, ANY, &[]),
    ("outcome", Form::Token, ANY, &[]),
    ("contract", Form::Token, ANY, &[]),
    ("upstream", Form::Token, ANY, &[]),
    ("principal", Form::Token, ANY, &[]),
    ("tool", Form::Token, ANY, &[]),
    ("tool_sha256", Form::Hex, ANY, &[]),
    ("attempt", Form::Number, ATTEMPTS, &[]),
    ("max_attempts", Form::Number, ATTEMPTS, &[]),
    ("codes", Form::Codes, &[LeafKind::Validation, LeafKind::Escalation, LeafKind::Rejected], &[]),
    ("subject", Form::OneOf(SUBJECTS), &[LeafKind::Config], &[LeafKind::Config]),
    ("sha256", Form::Hex, &[LeafKind::Config], &[]),
    ("vkey", Form::VerifierKey, &[LeafKind::Config], &[]),
    ("decision", Form::Token, CASES, &[]),
    ("digest", Form::Hex, CASES, &[]),
    ("revision", Form::Number, CASES, &[]),
    ("target_index", Form::Decimal, &[LeafKind::Erasure], &[LeafKind::Erasure]),
    ("target_part", Form::Token, &[LeafKind::Erasure], &[LeafKind::Erasure]),
    ("basis", Form::OneOf(BASES), &[LeafKind::Erasure], &[LeafKind::Erasure]),
    ("below", Form::Decimal, &[LeafKind::Prune], &[LeafKind::Prune]),
    ("root", Form::Hex, &[LeafKind::Prune], &[LeafKind::Prune]),
];

/// Explains why bytes or members are not a valid leaf.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LeafError {
    /// The bytes are not JSON, or not an object.
    #[error("a leaf is one JSON object")]
    NotAnObject,
    /// The bytes are not in the canonical form of RFC 8785.
    #[error("a leaf is written in the form of RFC 8785")]
    NotCanonical,
    /// The leaf is too long.
    #[error("a leaf has at most 8192 bytes, not {0}")]
    TooLong(usize),
    /// The kind does not allow a member.
    #[error("an entry of kind {kind} has no member {member:?}")]
    Unlisted {
        /// The entry's kind.
        kind: LeafKind,
        /// The name of the member.
        member: String,
    },
    /// The kind requires a member that is missing.
    #[error("an entry of kind {kind} needs the member {member:?}")]
    Missing {
        /// The entry's kind.
        kind: LeafKind,
        /// The name of the member.
        member: &'static str,
    },
    /// The value of a member does not have the member's form.
    #[error("the value of {0:?} has not the form of that member")]
    Form(String),
}

/// Checks all members against the table and returns the kind of the leaf.
pub(super) fn check(members: &Map<String, Value>) -> Result<LeafKind, LeafError> {
    let kind = members.get("kind").and_then(Value::as_str).and_then(|word| word.parse().ok());
    let kind: LeafKind = kind.ok_or_else(|| LeafError::Form("kind".to_owned()))?;
    for (name, value) in members {
        let row =
            MEMBERS.iter().find(|(listed, _, kinds, _)| listed == name && kinds.contains(&kind));
        let Some((_, form, _, _)) = row else {
            return Err(LeafError::Unlisted { kind, member: name.chars().take(64).collect() });
        };
        if !holds(*form, value) {
            return Err(LeafError::Form(name.clone()));
        }
    }
    for (name, _, _, needed) in MEMBERS {
        if needed.contains(&kind) && !members.contains_key(*name) {
            return Err(LeafError::Missing { kind, member: name });
        }
    }
    // A verifier can trust a new signing key only if an entry names it.
    let subject = members.get("subject").and_then(Value::as_str);
    if matches!(subject, Some("start" | "key")) && !members.contains_key("vkey") {
        return Err(LeafError::Missing { kind, member: "vkey" });
    }
    if members.contains_key("tool") && members.contains_key("tool_sha256") {
        return Err(LeafError::Unlisted { kind, member: "tool_sha256".to_owned() });
    }
    Ok(kind)
}

fn holds(form: Form, value: &Value) -> bool {
    let text = value.as_str();
    match form {
        Form::Version => value.as_u64() == Some(1),
        Form::Kind => text.is_some_and(|text| text.parse::<LeafKind>().is_ok()),
        Form::Time => text.is_some_and(|text| micros_of(text).is_some()),
        Form::Id => text.is_some_and(|text| {
            LeafId::parse(text).is_ok() && !text.bytes().any(|byte| byte.is_ascii_uppercase())
        }),
        Form::Decimal => text.is_some_and(|text| decimal(text).is_some()),
        Form::Token => text.is_some_and(LeafToken::is_valid),
        Form::Hex => text.is_some_and(is_hex),
        Form::Number => value.as_u64().is_some_and(|number| number < LARGEST_NUMBER),
        Form::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        Form::VerifierKey => text.is_some_and(|text| VerifierKey::parse(text).is_ok()),
        Form::Codes => is_sorted_tokens(value),
        Form::Claimed => value.as_object().is_some_and(|flags| {
            flags.len() == FLAGS.len()
                && FLAGS.iter().all(|name| flags.get(*name).is_some_and(Value::is_boolean))
        }),
        Form::Verdict => value.as_object().is_some_and(|verdict| {
            let result = verdict.get("result").and_then(Value::as_str);
            verdict.len() == 2
                && result.is_some_and(|result| RESULTS.contains(&result))
                && verdict.get("failed").is_some_and(is_sorted_tokens)
        }),
        Form::Parts => value.as_array().is_some_and(|parts| {
            let names: Option<Vec<_>> = parts.iter().map(part_name).collect();
            names.is_some_and(|names| {
                !names.is_empty() && names.is_sorted_by(|one, next| one < next)
            })
        }),
    }
}

/// Returns the name in one element of `parts`, if the element is well formed.
fn part_name(part: &Value) -> Option<&str> {
    let members = part.as_object().filter(|members| members.len() == 4)?;
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let sound = text("alg") == Some("hmac-sha256")
        && text("commit").is_some_and(is_hex)
        && members.get("len")?.as_u64()? < LARGEST_NUMBER;
    text("name").filter(|name| sound && LeafToken::is_valid(name))
}

fn is_sorted_tokens(value: &Value) -> bool {
    let codes: Option<Vec<_>> = value.as_array().and_then(|codes| {
        codes.iter().map(|code| code.as_str().filter(|code| LeafToken::is_valid(code))).collect()
    });
    codes.is_some_and(|codes| codes.is_sorted_by(|one, next| one < next))
}

fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Parses a whole number. It accepts only the canonical decimal form.
pub(super) fn decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

/// Parses a time in the form of a leaf and returns its microseconds since 1970.
pub(super) fn micros_of(text: &str) -> Option<i64> {
    // The form is `2026-11-15T18:24:44.727091Z`.
    let in_form = text.len() == 27 && text.as_bytes()[19] == b'.' && text.as_bytes()[10] == b'T';
    let (time, zone) = Timestamp::parse(text).ok().filter(|_| in_form)?;
    let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
    let micros = i64::try_from(micros).ok().filter(|_| zone == Zone::Z)?;
    (time_of(micros) == text).then_some(micros)
}

/// Formats a time as a leaf writes it, from microseconds since 1970.
pub fn time_of(micros: i64) -> String {
    let mut text = Timestamp::from_unix_micros(micros).to_offset_micros();
    text.truncate(text.len() - "+00:00".len());
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        let micros = 1_794_767_084_727_091;
        assert_eq!(time_of(micros), "2026-11-15T18:24:44.727091Z");
        assert_eq!(micros_of(&time_of(micros)), Some(micros));
        for text in [
            "2026-11-15T18:24:44Z",
            "2026-11-15T18:24:44.727Z",
            "2026-11-15t17:04:44.727091Z",
            "2026-11-15T18:24:44.727091z",
            "2026-11-15T18:24:60.727091Z",
            "2026-11-15T18:24:44.72709+00:00",
        ] {
            assert_eq!(micros_of(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_have_one_form() {
        assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
        for text in ["", "+1", "01", "-1", "1.0", "18446744073709551616"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
