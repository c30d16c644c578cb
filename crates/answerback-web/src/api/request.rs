//! Parses bodies and query parameters, and limits what a caller holds open.

use std::fmt::Display;

use answerback::Timestamp;
use answerback::contract::atdf::ErrorBuilder;
use answerback::json::{Limits, read};
use answerback_http::{PerCallerLimit, PerCallerPermit, Principal, Problem, ProblemKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::problem::invalid_parameter;

const SEND_JSON: &str = "Send the JSON that GET /api/openapi.json describes for this route";

/// Returns the surface that a decision's record names: `console` for a person in a browser, `api` for a token.
pub(super) fn decision_surface(principal: &Principal) -> &'static str {
    if principal.is_person() { "console" } else { "api" }
}

/// Takes one place of the caller's allowance, or returns a problem if none is free.
pub(super) fn reserve_slot(
    allowance: &PerCallerLimit,
    principal: &Principal,
    what: &str,
) -> Result<PerCallerPermit, Problem> {
    allowance.acquire(&principal.id()).ok_or_else(|| {
        let most = allowance.limit();
        let error = ErrorBuilder::new(
            "TOO_MANY_OPEN",
            format!("This token already has {most} {what} open"),
            "request",
        )
        .condition(format!("A token has at most {most} {what} open at a time"))
        .solution("Close one of them, or share one between several readers");
        Problem::from_error(ProblemKind::TooManyRequests, error).with_retry_after(1)
    })
}

/// Parses a body that is one JSON document. Rejects duplicate member names, because parsers disagree about which value
/// counts.
pub(super) fn parse_document(bytes: &[u8], solution: &str) -> Result<Value, Problem> {
    let not_json = |error: &dyn Display| {
        invalid_parameter("body", format!("the body is not JSON: {error}"), solution)
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value = serde_json::from_slice(bytes).map_err(|error| not_json(&error))?;
    let document = read(bytes, Limits::default()).map_err(|error| not_json(&error))?;
    match document.repeated() {
        Some(place) => {
            Err(invalid_parameter("body", format!("{place} occurs twice"), "Remove one of the two"))
        }
        None => Ok(value),
    }
}

/// Parses a body that is a JSON object. The members named in `whole` are whole numbers.
///
/// The body must be an object, because serde also accepts a list for a struct, member by member. JSON has one type of
/// number, so 5.0 is valid for 5, but serde accepts only the latter.
pub(super) fn parse_body<T: DeserializeOwned>(bytes: &[u8], whole: &[&str]) -> Result<T, Problem> {
    typed(parse_document(bytes, SEND_JSON)?, whole)
}

fn typed<T: DeserializeOwned>(mut document: Value, whole: &[&str]) -> Result<T, Problem> {
    let Some(members) = document.as_object_mut() else {
        return Err(invalid_parameter("body", "the body is not a JSON object", SEND_JSON));
    };
    for name in whole {
        if let Some(value) = members.get_mut(*name)
            && let Some(number) = whole_number(value)
        {
            *value = number.into();
        }
    }
    serde_json::from_value(document).map_err(|error| invalid_parameter("body", error, SEND_JSON))
}

/// Parses a body that is an object of the variant that the member `tag` names. The tag must be a string: serde would
/// also accept the variant's number, and that number may change.
pub(super) fn parse_tagged_body<T: DeserializeOwned>(
    bytes: &[u8],
    tag: &str,
    whole: &[&str],
) -> Result<T, Problem> {
    let document = parse_document(bytes, SEND_JSON)?;
    if document.get(tag).is_some_and(|name| !name.is_string()) {
        return Err(invalid_parameter("body", format!("{tag} is not a string"), SEND_JSON));
    }
    typed(document, whole)
}

/// Returns the whole number for a value that is written with a zero fraction.
fn whole_number(value: &Value) -> Option<u64> {
    /// The smallest number that is larger than every `u64`.
    const END: f64 = 18_446_744_073_709_551_616.0;
    let number = value.as_f64().filter(|_| value.is_f64())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and within the range"
    )]
    let whole = number as u64;
    (number.fract() == 0.0 && (0.0..END).contains(&number)).then_some(whole)
}

/// Parses a time of a query.
pub(super) fn parse_micros(field: &str, text: Option<&String>) -> Result<Option<i64>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let (time, _) = Timestamp::parse(text).map_err(|error| {
        invalid_parameter(field, error, "Write a time such as 2026-03-04T05:06:07Z")
    })?;
    Ok(Some(time.unix_millis().saturating_mul(1000)))
}

/// Returns the page size: the requested one or the default, between 1 and `max`.
pub(super) fn page_size(requested: Option<usize>, default: usize, max: usize) -> usize {
    requested.unwrap_or(default).clamp(1, max)
}

/// Returns the text unless it is empty.
pub(super) fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[expect(dead_code, reason = "the test only checks that the member is parsed")]
        name: Value,
    }

    #[test]
    fn a_body_is_one_object_without_a_repeated_name() {
        assert!(parse_body::<Body>(br#"{"name": 1}"#, &[]).is_ok());
        assert!(parse_body::<Body>("\u{feff}{\"name\": {\"a\": 1}}".as_bytes(), &[]).is_ok());
        let refused: [&[u8]; 11] = [
            b"",
            b"null",
            b"7",
            b"\"name\"",
            b"[1]",
            b"{",
            b"{\"name\": 1} {}",
            b"{\"name\": 1, \"name\": 2}",
            b"{\"name\": [{\"a\": 1, \"a\": 2}]}",
            b"{\"name\": \"\xff\"}",
            b"{}",
        ];
        for text in refused {
            let problem = parse_body::<Body>(text, &[]).unwrap_err();
            assert_eq!(
                (problem.kind(), problem.code()),
                (ProblemKind::BadRequest, "INVALID_PARAMETER"),
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
        let read = |text: &str| parse_body::<BTreeMap<String, u64>>(text.as_bytes(), &["n"]);
        for (text, number) in
            [("5", 5), ("5.0", 5), ("-0.0", 0), ("1e3", 1000), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(read(&format!("{{\"n\": {text}}}")).unwrap()["n"], number, "{text}");
        }
        for text in ["5.5", "-1.0", "1e20", "18446744073709551616", "\"5\"", "null"] {
            assert!(read(&format!("{{\"n\": {text}}}")).is_err(), "{text}");
        }
        assert!(read(r#"{"other": 5.0}"#).is_err());
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Tagged {
        First,
        Second { n: u64 },
    }

    #[test]
    fn a_variant_is_named_by_a_text() {
        let read = |text: &str| parse_tagged_body::<Tagged>(text.as_bytes(), "kind", &["n"]);
        assert_eq!(read(r#"{"kind": "first"}"#).unwrap(), Tagged::First);
        assert_eq!(read(r#"{"kind": "second", "n": 2.0}"#).unwrap(), Tagged::Second { n: 2 });
        for text in [r#"{"kind": 0}"#, r#"{"kind": null}"#, r#"{"kind": ["first"]}"#, "{}", "[]"] {
            assert_eq!(read(text).unwrap_err().kind(), ProblemKind::BadRequest, "{text}");
        }
    }
}
